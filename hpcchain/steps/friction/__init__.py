"""Contact dynamics with Coulomb friction in steps of implicit Euler.

`contact_dynamics` is the step; `contact_problem` is what one pool of molecules solves, by sweeps or by Newton.
"""
