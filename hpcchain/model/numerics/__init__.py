"""Arithmetic that gives the same bits everywhere: exact sums, double-double numbers, portable functions."""
