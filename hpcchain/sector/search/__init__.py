"""Which beads meet, and when: neighbour lists, the broad phase, contact times.

`earliest_event` is the way through: lists, then `broad_phase`, then the root of the gap.
"""
