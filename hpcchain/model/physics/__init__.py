"""What acts on molecules besides contacts of smooth hard beads, as plain tables for kernels.

`extended` is of the engine of events, `stepping` of the engine of steps; the others are their parts.
"""
