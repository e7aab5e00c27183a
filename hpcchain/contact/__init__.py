"""What happens when beads meet: when they touch, and the impulses of every contact law.

`pair` and `walls` find times of contact; `laws` say what follows, of the two `sides` that meet.
"""
