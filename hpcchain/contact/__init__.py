"""What happens when beads meet: when they touch, and the impulses of every contact law.

`pair` and `wall` find times of contact; `impulse`, `variational_law` and `tc_model` say what follows.
"""
