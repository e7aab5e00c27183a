"""Who meets whom, and when: neighbour lists, the broad phase, contact times."""
