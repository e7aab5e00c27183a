"""Which law a contact has, and what it answers: the only place that knows them all.

A new law of one contact has a module, a code in `contact`, and a line each in `law_of`, which says when it applies, in
`_beyond_smooth` and, if it pushes across the normal, in `pushes_across` (docs/developer/add_a_contact_law.md). Several
contacts at one instant have `joint` and `joint_rough` in place of `smooth` and `rough`; `variational` scales what these
have done.
"""

from hpcchain.contact.laws import rough, smooth, step, thermal, wet
from hpcchain.contact.laws.contact import HARD, OUTER, ROUGH, SMOOTH, STEP, THERMAL, WET, separates
from hpcchain.contact.walls import is_thermal
from hpcchain.jit.decorators import inlined, kernel, outlined


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
