"""Rigid bonds, rods and bodies in steps of RATTLE.

`molecules` goes through them kind by kind; the kernels take one step of one molecule.
"""
