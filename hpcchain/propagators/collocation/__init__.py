"""Gauss collocation: stages, their solvers and coefficients."""
