"""The time-stepping engine: beads with potentials, rigid bonds and hard cores on one common clock.

`engine` takes steps; `forces`, `contacts` and `rigid` say what acts in one; `lists` and `domain` who meets whom.
"""
