"""Rigid bodies on a line: the exact rotor of dimers, rods, and rods in steps.

All three are closed forms, without iteration.
"""
