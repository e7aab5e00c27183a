"""Stepping propagators: RATTLE and the variational midpoint rule, with their Newton solvers."""
