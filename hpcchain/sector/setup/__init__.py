"""From a system to a sector's arrays: classes of molecules, capacity, order in memory, first events.

`allocate` makes the arrays, `initialise` the first segments and events.
"""
