"""The keys of the input: what each may hold, its default and its meaning, and the frozen sections they are read to.

`schema` is the table of all; `values` reads one value; `sections` is the input as the program sees it.
"""
