"""What arrays mean: names of columns, bits and offsets, and where the arrays lie in memory.

`arrays` is a sector, `segment_bits` a segment, `workspace` a propagator's scratch.
"""
