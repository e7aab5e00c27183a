"""New segments of free motion after an event, and the schedule of what follows from them.

`new_segment` serves molecules, `monomer` single beads, which fly straight.
"""
