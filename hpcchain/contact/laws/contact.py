"""What a law is given of a contact, and what it answers: scalars, which stay in registers where calls are inlined."""

from typing import NamedTuple

from hpcchain.jit.decorators import inlined

SMOOTH, ROUGH, THERMAL, STEP, WET = range(5)
"""Codes of laws."""
HARD, INNER, OUTER = range(3)
"""What two beads have met: their surfaces, or the nearer or farther distance that their potential or limits have."""


class Contact(NamedTuple):
    """What a law sees.

    CONTACT_NORMAL of `normals` is the unit normal n, from the second side to the first. Laws that push across it find
    K, the response of the relative velocity to an impulse on the first side, in the first rows of `matrix`.

    Attributes
    ----------
    i, j : int
        Rows of the beads; j < 0 is a wall's code.
    law, border : int
        SMOOTH … WET; HARD … OUTER.
    rate, mass : float
        Rate of the gap [length / time]; n . K n [1 / mass], but where K is in `matrix`.
    ux, uy, uz : float
        Velocity of the first bead relative to the other, of their surfaces where the law is ROUGH, or relative to the
        wall [length / time]; read by laws that push across the normal.
    spin : float
        Response of the spins, the sum of R^2 / I [1 / mass].
    e, e_t : float
        Coefficients of restitution.
    loss : float
        Energy that the impulse is to give back [mass length^2 / time^2].
    isotropic : bool
        Whether K is `mass` times 1, as of single beads: then it is not in `matrix`.
    """

    i: int
    j: int
    law: int
    border: int
    rate: float
    mass: float
    ux: float
    uy: float
    uz: float
    spin: float
    e: float
    e_t: float
    loss: float
    isotropic: bool


class Outcome(NamedTuple):
    """What a contact does.

    Attributes
    ----------
    along : float
        Impulse on the first side along the normal, 0 for a graze [mass length / time].
    x, y, z : float
        The part across the normal.
    kind : float
        Of the event in the log, 0 for hard surfaces.
    heat : float
        That comes in through a thermal wall [mass length^2 / time^2].
    turns : bool
        Whether the impulse changes spins: then the log has the part across.
    """

    along: float
    x: float
    y: float
    z: float
    kind: float
    heat: float
    turns: bool


@inlined
def along_normal(impulse):
    """Return the Outcome of an impulse between hard surfaces that has no part across the normal."""
    return Outcome(impulse, 0.0, 0.0, 0.0, 0.0, 0.0, False)


@inlined
def separates(border, rate):
    """Whether what has met goes apart, its distance changing at a rate: a graze, unless energy is to be given back."""
    return rate <= 0.0 if border == OUTER else rate >= 0.0
