"""What a run is made of: box, beads, bonds, molecules, and the configurations that they start from."""
