"""What arrays mean: names of columns, bits and offsets, and where the arrays lie in memory.

`arrays` is a sector, `segment_bits` and `segment_entry` a segment, `workspace` a propagator's scratch.
"""
