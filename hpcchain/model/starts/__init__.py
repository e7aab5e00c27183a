"""Initial configurations: placement, bonds, velocities, overlaps, copies of a start.

`start` is the way through; `placement` and `conformation` find room for beads and bonds; `spins` says how
beads are turned and spin.
"""
