"""Everything that knows of more than one rank; the only folder that imports mpi4py.

`comm` and `exchange` send, `signals` come to any of them; `windows` is the engine of several ranks, `sectors` cuts the
box, `tuning` is speed alone.
"""
