"""What `hpcchain analyze` finds in runs: figures, their errors and pictures.

`study` reads, shares the work among ranks and gathers; `figures` are the figures, `catalogue` their list.
"""
