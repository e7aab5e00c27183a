"""The time-stepping engine: beads with potentials, rigid bonds and hard cores on one common clock.

`engine` takes steps, by an integrator of `integrators` or `friction`; `local_beads` has places, lists and forces, and
`domain` says which rank owns what. The wings `potentials`, `contacts`, `friction` and `rigid` say what acts in a step.
"""
