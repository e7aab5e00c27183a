"""What `hpcchain analyze` finds in runs: one module a figure or family of figures, each read frame by frame.

`study` reads, shares the work among ranks and gathers; `statistics` has the errors, `catalogue` the list of figures.
"""
