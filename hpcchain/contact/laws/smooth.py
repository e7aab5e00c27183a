"""Smooth hard surfaces: the rate u of the gap becomes -e u.

The impulse is p = -(1 + e) u / m with 1 / m the effective mass, of any bond graph (docs/theory/impulses.md). It
changes the energy by -(1 - e^2) u^2 / (2 m): nothing at e = 1. Where bringing what meets to the time of the contact has
taken energy, the impulse gives it back: it is the root of E(v + p y) = E(v) - (1 - e^2) u^2 / (2 m) + loss at which
the two part. What parts already has e = 1, and p = 0 if nothing was lost.
"""

import math

from hpcchain.contact.laws.contact import along_normal
from hpcchain.jit.decorators import inlined, kernel


@inlined
def reflection(rate, mass, e):
    """Return the impulse of what approaches at a rate below 0, the normal being of any length (`Contact`)."""
    return -(1.0 + e) * rate / mass


@kernel
def impulse(rate, mass, e, loss):
    """Return the impulse that gives back a loss, 0 for a graze."""
    if rate >= 0.0:
        if loss == 0.0:
            return 0.0
        return 2.0 * loss / (rate + math.sqrt(rate * rate + 2.0 * mass * loss))
    if loss == 0.0:
        return reflection(rate, mass, e)
    return (-rate + math.sqrt(max((e * rate) ** 2 + 2.0 * mass * loss, 0.0))) / mass


@kernel
def outcome(c):
    """Return the Outcome of a Contact."""
    return along_normal(impulse(c.rate, c.mass, c.e, c.loss))
