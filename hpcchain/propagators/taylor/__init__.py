"""Taylor series of chains and of other bond graphs, to round-off."""
