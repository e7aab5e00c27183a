"""Taylor series of chains and of other bond graphs, to round-off.

`chain` has tridiagonal bonds, `graph` any, by sparse factors in the order of `model.molecules.bond_graph`.
"""
