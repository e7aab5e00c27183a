"""Arithmetic that gives the same bits everywhere: exact sums, double-double numbers, portable functions.

Nothing here knows of beads.
"""
