"""The members of an event: molecules that are brought to its time in the workspace, long chains with all their parts.

A member goes by its row in `mol`, a long chain by that of its first part (`member_of`). What it is as a whole stands in
`member`.
"""

from hpcchain.contact.laws.variational import takes_law
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import age
from hpcchain.layout.segment_bits import is_chain_part, last_row, struck
from hpcchain.propagators.interface import load, note_iterations, project
from hpcchain.propagators.steps.step_molecule import steps_excess
from hpcchain.sector.segments.new_segment import make_own_series
from hpcchain.sector.segments.stretch import any_waits, load_stretch
from hpcchain.sector.speculation.rollback import ready

ALONE, AGAIN, MET, BACK, FULL = range(5)
"""What has become of a contact so far (`simultaneous.company`)."""


@outlined
def bring(s, offset, m):
    """Bring member m to the event at hand, in the workspace, onto its bonds; return the energy that took (`project`).

    A long chain comes with all its parts; m is the row of its first one.
    """
    if s.stretched is not None:
        if is_chain_part(s, m):
            load_stretch(s, offset, m, last_row(s, m), m)
            return 0.0
    first = s.mol[m, L.MOL_FIRST]
    make_own_series(s, m)
    dt = age(s, first)
    load(s, offset, m, dt)
    if dt != 0.0:
        note_iterations(s, offset, m, L.N_NODES)
    if s.par[L.LAW] != 0.0 and takes_law(s, m) and _struck(s, m):
        excess = steps_excess(s, offset, m)
        s.work[excess] = s.step_energy[m] - kinetic_energy(s.work, offset, s.mol[m, L.MOL_TILES])
    return project(s, offset, m)


@kernel
def _struck(s, m):
    """Whether a contact began molecule m's segment: then that contact's law has set the energy of its step."""
    for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
        if struck(s.segment, i) != 0:
            return True
    return False


@kernel
def kinetic_energy(work, offset, tiles):
    """Return the kinetic energy of the molecule in the workspace at `offset` [mass length^2 / time^2]."""
    energy = 0.0
    for t in range(tiles):
        w = offset + t * W.TILE
        for k in range(W.ROW):
            if work[w + W.INVM + k % W.LANES] > 0.0:
                energy += 0.5 * work[w + W.COEF + W.ROW + k] ** 2 / work[w + W.INVM + k % W.LANES]
    return energy


@kernel
def chains_known(s, low, high):
    """Return whether all parts of the long chains among members `low` to `high` are known at the event at hand.

    Parameters
    ----------
    low, high : int
        Rows of `member`; the second is not among them.

    Returns
    -------
    int
        AGAIN; in windows ALONE, where a ghost's part waits for what its owner sends, or BACK, where parts have begun
        segments after the event: they are requested to go back.
    """
    status = AGAIN
    if s.stretched is not None:
        if s.scalars[L.SCALAR_WINDOWED] != 0:
            for k in range(low, high):
                m = s.member[k, L.MEMBER_ROW]
                if is_chain_part(s, m) and any_waits(s, m, last_row(s, m)):
                    return ALONE
            for k in range(low, high):
                m = s.member[k, L.MEMBER_ROW]
                if is_chain_part(s, m) and not ready(s, m, last_row(s, m)):
                    status = BACK
    return status


@kernel
def join(s, members, m):
    """Bring m (`member_of`) to the event at hand; return its member number, how many there are, what `bring` does."""
    g = index_in(s, members, m)
    if g >= 0:
        return g, members, 0.0
    if members == L.MOST_MEMBERS:
        return -1, members, 0.0
    last = last_row(s, m)
    size = s.mol[last, L.MOL_FIRST] + s.mol[last, L.MOL_BEADS] - s.mol[m, L.MOL_FIRST]
    row = s.member[members]
    row[L.MEMBER_ROW], row[L.FIRST_ROW], row[L.LAST_ROW] = m, m, last
    row[L.MEMBER_OFFSET] = members * (len(s.work) // (L.MOST_MEMBERS + 1))
    row[L.MEMBER_TILES] = (size + W.LANES - 1) >> W.LANE_SHIFT
    return members, members + 1, bring(s, row[L.MEMBER_OFFSET], m)


@kernel
def index_in(s, members, m):
    """Return which of the first members of an event m is, -1 if none."""
    for g in range(members):
        if s.member[g, L.MEMBER_ROW] == m:
            return g
    return -1


@inlined
def number_of(s, m):
    """Return the number that orders molecules wherever they are held: the global id of member m's first bead."""
    return s.bead_id[s.mol[m, L.MOL_FIRST]]


@kernel
def last_number(s, core, members, m):
    """Return the highest number of the members that are not the event's own, and of m."""
    number = number_of(s, m)
    for g in range(core, members):
        number = max(number, number_of(s, s.member[g, L.MEMBER_ROW]))
    return number


@kernel
def sort_members(s, core, members, count):
    """Order the members that are not the event's own by their numbers, so that sums do not depend on list order."""
    contacts = s.contacts
    for k in range(core + 1, members):
        at = k
        while at > core and number_of(s, s.member[at, L.MEMBER_ROW]) < number_of(s, s.member[at - 1, L.MEMBER_ROW]):
            for c in range(L.MEMBER_COLUMNS):
                s.member[at, c], s.member[at - 1, c] = s.member[at - 1, c], s.member[at, c]
            for c in range(count):
                for side in range(0, 4, 2):
                    if contacts[c, side] == at:
                        contacts[c, side] = at - 1
                    elif contacts[c, side] == at - 1:
                        contacts[c, side] = at
            at -= 1
