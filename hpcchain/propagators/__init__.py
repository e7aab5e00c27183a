"""Free motion of one molecule: one interface, one folder for each kind of propagator.

`catalogue` lists the solvers, variants and contact searches that an input may choose from.
"""
