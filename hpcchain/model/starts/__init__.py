"""Initial configurations: placement, bonds, velocities, overlaps, copies of a start."""
