"""Which law a contact has, and what it answers: the only place that knows them all.

A new law of one contact has a module, a code in `contact`, a row of LAWS, and a line each in `law_of`, in
`_beyond_smooth` and, if it pushes across the normal, in `pushes_across` (docs/developer/add_a_contact_law.md).
"""

from typing import NamedTuple

from hpcchain.contact.laws import rough, smooth, step, thermal, wet
from hpcchain.contact.laws.contact import HARD, OUTER, ROUGH, SMOOTH, STEP, THERMAL, WET, separates
from hpcchain.contact.walls import is_thermal
from hpcchain.jit.decorators import inlined, kernel, outlined

NORMAL, FULL, KICKS = "normal", "full", "kicks"
"""What a law needs of the beads' response to impulses: n . K n; all of K; that of each of several contacts."""


class Law(NamedTuple):
    """A law of contacts.

    Attributes
    ----------
    name : str
        Of its module.
    needs : str
        NORMAL, FULL or KICKS.
    keys : tuple of str
        Of the input that bring it about, rows of CAPABILITIES; empty where runs have it without.
    section : str
        Of docs/theory/impulses.md.
    """

    name: str
    needs: str
    keys: tuple[str, ...]
    section: str


LAWS = (
    Law("wet", NORMAL, ("contact.pair.bridge_distance",), "Wet grains"),
    Law("step", NORMAL, ('potential, name "steps"', "molecule.distance_limits"), "Potentials with steps and limits"),
    Law("thermal", FULL, ("wall.temperature",), "Walls with a temperature"),
    Law("rough", FULL, ("contact.tangential_restitution", "wall.tangential_restitution"), "Rough spheres"),
    Law("smooth", NORMAL, (), "One contact"),
)
"""Laws of one contact, in the order in which they are tried; a code is a name in capitals."""
SIMULTANEOUS = (
    Law("joint", KICKS, ("contact.simultaneous",), "Several contacts at one instant"),
    Law("joint_rough", KICKS, (), "Of rough beads"),
    Law("variational", KICKS, (), "The variational law"),
)
"""Laws of several contacts at one instant, in place of the last two, and the one that scales what these have done."""


@kernel
def law_of(s, i, j, border, rate, e_t):
    """Return the code of the law of a contact of bead i with bead or wall j.

    Hard surfaces that part already can but be given back what was lost, which smooth ones are.
    """
    if s.extended is not None:
        if border == OUTER and wet.breaks(s, i, j):
            return WET
        if border != HARD:
            return STEP
        if not separates(border, rate):
            if is_thermal(s, j):
                return THERMAL
            if e_t != 1.0:
                return ROUGH
    return SMOOTH


@inlined
def pushes_across(law):
    """Whether a law may push across the normal: then it is given all of K and the velocity, not its rate alone."""
    return law == ROUGH or law == THERMAL


@kernel
def outcome(s, c):
    """Return the Outcome of a Contact by its law."""
    if s.extended is not None:
        return _beyond_smooth(s, c)
    return smooth.outcome(c)


@outlined
def _beyond_smooth(s, c):
    """Do what `outcome` does in runs with more than smooth hard beads."""
    if c.law == WET:
        return wet.outcome(s, c)
    if c.law == STEP:
        return step.outcome(s, c)
    if c.law == THERMAL:
        return thermal.outcome(s, c)
    if c.law == ROUGH:
        return rough.outcome(s, c)
    return smooth.outcome(c)
