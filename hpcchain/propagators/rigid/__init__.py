"""Rigid bodies: the exact rotor of dimers, rods, rods in steps, and bodies of any shape.

All but the last are closed forms, without iteration.
"""
