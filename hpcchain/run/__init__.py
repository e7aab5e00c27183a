"""A run from start to finish: what is due when, and the engine, observables and files that it calls.

`controller` is the loop; the wing `starts` makes what it begins with, `guards` watch over it.
"""
