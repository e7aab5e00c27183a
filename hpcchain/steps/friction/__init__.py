"""Contact dynamics with Coulomb friction in steps of implicit Euler.

`contact_dynamics` is the step of all beads; `cluster_solver` solves that of a pool of molecules, by sweeps or Newton.
"""
