"""What a run is made of: box, beads, bonds, molecules, and the configurations that they start from.

Wings: `molecules`, `physics`, `numerics`, `starts`. It is below the input file, but for `starts`, `topology` and
`sound`, which are made of an input or check like one.
"""
