"""Contact dynamics with Coulomb friction in steps of implicit Euler.

`contact_dynamics` is the step; `contact_problem` is what one pool of molecules solves; `cluster_solver` does that, by
sweeps or by Newton.
"""
