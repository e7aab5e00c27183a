"""The time-stepping engine: beads with potentials, rigid bonds and hard cores on one common clock."""
