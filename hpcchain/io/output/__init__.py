"""A run's results: parts while it runs, then trajectory, observables and events.

`parts` is written between checkpoints; `assemble` makes results of them; `recoverable_output` notices a loss.
"""
