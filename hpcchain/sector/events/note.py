"""What an event leaves besides motion: marks of its beads, sums over contacts, a row of the log.

Sums are of the molecular virial and its tensor, of the flow of energy, of impulses on walls, of work and of heat, in
quanta: whole numbers, whose order of summation does not matter. All carriers of contacts note theirs here.
"""

import numpy as np

from hpcchain.contact.coefficients import begin_contact
from hpcchain.contact.falling import work_of_fixed
from hpcchain.contact.laws.wet import form_bridge
from hpcchain.contact.virial import set_tensor
from hpcchain.contact.walls import sliding_of, wall_velocity
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import time_of_event
from hpcchain.layout.segment_bits import set_struck


@kernel
def graze(s, i, j):
    """Mark the beads of a contact that has no impulse of its own, j being a bead or a wall, and count it."""
    set_struck(s.segment, i, 1)
    if j >= 0:
        set_struck(s.segment, j, 1)
    s.count[L.N_GRAZES] += 1


@kernel
def note(s, i, j, n, o, lx, ly, lz, energy):
    """Mark the beads of a contact whose impulse has been applied; count and log it.

    Parameters
    ----------
    i, j : int
        Bead, and other bead or wall code.
    n : (3,) float64 array
        Unit normal, from the second to the first; not read of a wall.
    o : Outcome
    lx, ly, lz : float
        Vector between the centres of mass of the images that touch, from the second to the first; of a wall, and
        where it is not known as yet (`chain_centre`), 0 [length].
    energy : float
        What the molecule of bead i gains of the other where the impulse is along n [mass length^2 / time^2].
    """
    set_struck(s.segment, i, 1)
    if o.kind == 0.0:
        begin_contact(s, i)
    moment = 0.0
    if j >= 0:
        set_struck(s.segment, j, 1)
        if o.kind == 0.0:
            begin_contact(s, j)
            form_bridge(s, i, j)
        x, y, z = o.along * n[0] + o.x, o.along * n[1] + o.y, o.along * n[2] + o.z
        set_tensor(s, x, y, z, lx, ly, lz, energy)
        moment = x * lx + y * ly + z * lz
    record(s, i, j, o, moment, _work(s, i, j, n, o))


@kernel
def _work(s, i, j, n, o):
    """Return the work that a wall, or a fixed bead, does in a contact [mass length^2 / time^2]."""
    if s.extended is not None:
        if j < 0:
            across = o.x * sliding_of(s, j, L.X) + o.y * sliding_of(s, j, L.Y) + o.z * sliding_of(s, j, L.Z)
            return o.along * wall_velocity(s, j) + across
        return work_of_fixed(s, i, j, o.along * n[0] + o.x, o.along * n[1] + o.y, o.along * n[2] + o.z)
    return 0.0


@kernel
def record(s, i, partner, o, moment, work):
    """Count a contact of bead i and its virial `moment` with its tensor, and log it: time, kind, ids, impulse.

    `partner` is another bead's row or a wall's code, which is its id. Of walls the impulse is counted, for each axis,
    and the energy that comes in, as work of what moves and as heat. In a window contacts are counted when it is final.
    """
    gid_a = s.bead_id[i]
    gid_b = s.bead_id[partner] if partner >= 0 else partner
    quanta = np.rint(moment / s.par[L.QUANTUM]) if gid_b >= 0 else np.rint(o.along / s.par[L.IMPULSE_QUANTUM])
    heat = 0.0
    if s.extended is not None:
        s.extra[i, L.CONTACTS] += 1.0
        if partner >= 0:
            s.extra[partner, L.CONTACTS] += 1.0
        work = np.rint(work / s.par[L.ENERGY_QUANTUM])
        heat = np.rint(o.heat / s.par[L.ENERGY_QUANTUM])
    if s.scalars[L.SCALAR_WINDOWED] == 0:
        s.count[L.N_CONTACTS if gid_b >= 0 else L.N_WALL_CONTACTS] += 1
        if gid_b >= -L.SIDES:
            s.scalars[L.SCALAR_VIRIAL if gid_b >= 0 else L.SCALAR_WALL_IMPULSE + (-1 - gid_b) % 3] += np.int64(quanta)
        if s.extended is not None:
            s.scalars[L.SCALAR_WORK] += np.int64(work)
            s.scalars[L.SCALAR_HEAT] += np.int64(heat)
        if gid_b >= 0:
            for c in range(L.TENSOR_COMPONENTS):
                s.scalars[L.SCALAR_TENSOR + c] += np.int64(np.rint(s.virial_tensor[c] / s.par[L.QUANTUM]))
    if len(s.log) == 0:
        return
    swapped = 0 <= gid_b < gid_a
    lower, higher = (gid_b, gid_a) if swapped else (gid_a, gid_b)
    row = s.log[s.count[L.N_LOGGED]]
    _begin_row(s, o.kind if gid_b >= 0 else L.WALL_KIND, lower, higher, partner if swapped else i, heat)
    row[L.LOG_WORK] = work
    row[L.LOG_IMPULSE] = o.along
    row[L.LOG_QUANTA] = quanta
    for c in range(L.TENSOR_COMPONENTS):
        row[L.LOG_TENSOR + c] = np.rint(s.virial_tensor[c] / s.par[L.QUANTUM]) if gid_b >= 0 else 0.0
    if s.extended is not None:
        sign = -1.0 if swapped else 1.0
        for c in range(3):  # 0.0 has one sign, whichever bead came first
            across = o.x if c == 0 else (o.y if c == 1 else o.z)
            row[L.LOG_TANGENTIAL + c] = sign * across + 0.0 if o.turns else 0.0


@inlined
def _begin_row(s, kind, lower, higher, first, heat):
    """Begin the log's next row for an event of two ids, of the molecule of bead `first`; what else it has is 0."""
    row = s.log[s.count[L.N_LOGGED]]
    row[:] = 0.0
    row[L.LOG_TIME] = time_of_event(s)
    row[L.LOG_KIND] = kind
    row[L.LOG_LOWER] = lower
    row[L.LOG_HIGHER] = higher
    row[L.LOG_HEAT] = heat
    row[L.LOG_STATUS] = L.VALID
    row[L.LOG_MOLECULE] = s.segment[first, L.MOLECULE]
    s.count[L.N_LOGGED] += 1


@kernel
def note_rootless(s):
    """Count the contact just logged as one without a root; in a window, mark it for when that is final."""
    if s.scalars[L.SCALAR_WINDOWED] == 0:
        s.count[L.N_NO_ROOTS] += 1
    if len(s.log) > 0:
        s.log[s.count[L.N_LOGGED] - 1, L.LOG_STATUS] = L.EXACT_FALLBACK


@kernel
def note_draw(s, first, heat):
    """Count the energy that came in with drawn velocities; log the draw: its time, the first bead's id twice."""
    quanta = np.rint(heat / s.par[L.ENERGY_QUANTUM])
    if s.scalars[L.SCALAR_WINDOWED] == 0:
        s.scalars[L.SCALAR_HEAT] += np.int64(quanta)
    if len(s.log) > 0:
        _begin_row(s, L.DRAW_KIND, s.bead_id[first], s.bead_id[first], first, quanta)
