"""Free motion of one molecule: one interface, one folder for each kind of propagator."""
