"""A run from start to finish: what is due when, and the engine, observables and files that it calls.

`controller` is the loop; `growth` and `start_from_file` make starts; `lock`, `signals`, `wall_limit` guard it.
"""
