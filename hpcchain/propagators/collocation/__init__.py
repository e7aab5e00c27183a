"""Gauss collocation: stages, their solvers and coefficients.

`collocation_molecule` is the interface's side; `collocation` and `collocation_newton` solve for the stages.
"""
