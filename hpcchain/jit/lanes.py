"""How many float64 a vector register holds at most, and so how wide everything is that kernels lay out in lanes."""

LANES = 8
