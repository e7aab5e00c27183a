"""Molecules: their bonds as graphs, rods, rigid bodies, and molecules of equal shape taken together.

`bond_graph` is what kernels know of a shape; `independence` says whether bonds can be told apart.
"""
