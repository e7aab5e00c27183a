"""Hard cores in steps: which beads touch, what hangs together, and the inclusions that are solved.

`finding` finds contacts; `inclusions` is their step; `clusters` and `complementarity` solve it.
"""
