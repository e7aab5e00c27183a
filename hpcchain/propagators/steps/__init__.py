"""Stepping propagators: RATTLE and the variational midpoint rule, with their Newton solvers.

`step_molecule` is the interface's side; `rattle_and_variational` solves one step.
"""
