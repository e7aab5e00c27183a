"""The time-stepping engine: beads with potentials, rigid bonds and hard cores on one common clock.

`engine` takes steps; the wings `potentials`, `contacts`, `friction` and `rigid` say what acts in one; `domain` which
rank owns what.
"""
