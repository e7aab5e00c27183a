"""What acts on beads at a distance: forces, energies, second derivatives, and the lists that find the pairs.

`interactions` is what the engine calls; `laws` are users' own functions, `constants` the tables that kernels take.
"""
