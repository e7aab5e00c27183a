"""The one place where the kernel tests know layouts: molecules in the tiled workspace, paths, sectors, and calls."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from hpcchain.contact import separation, sides
from hpcchain.contact.laws import joint
from hpcchain.contact.laws.contact import HARD
from hpcchain.contact.pair import Pair, curved_contact
from hpcchain.contact.walls import at_rest, wall_contact
from hpcchain.jit.shared_rows import OWN_COLUMNS, SharedRows
from hpcchain.layout.arrays import (
    CONTACT_NORMAL,
    EVENT_BITS,
    FIRST_ROW,
    GROWTH,
    GROWTH_RATE,
    LAST_ROW,
    LENGTH,
    LIST_FIRST,
    LIST_LENGTH,
    MEMBER_OFFSET,
    MEMBER_ROW,
    MEMBER_TILES,
    MOL_BEADS,
    MOL_BONDS,
    MOL_FIRST,
    MOL_SERIES,
    MOL_SOLVER,
    MOL_TILES,
    MOL_WORKSPACE,
    MOLECULE,
    MOST_TIES,
    NOW,
    NOW_REM,
    PARAMETERS,
    RESTITUTION_ROW,
    SEGMENT_COLUMNS,
)
from hpcchain.layout.segment_bits import (
    LEAST_DEPTH,
    LOWER,
    PARTNER_BITS,
    TIED_BITS,
    series_begin,
    series_order,
    set_order,
)
from hpcchain.layout.workspace import COEF, FIRST_TERM, HIST, KICK, RHS, ROW, TILE, UNIT, bead_offset, series_floats
from hpcchain.model.molecules.bodies import body_sites
from hpcchain.model.system import OPEN, Box, Physics, State, System, Topology
from hpcchain.propagators import interface as molecule_kernels
from hpcchain.propagators.taylor import chain as chain_kernels
from hpcchain.sector.search import broad_phase, earliest_event, flights, neighbour_lists
from hpcchain.sector.segments import searches
from hpcchain.sector.setup import initialise
from hpcchain.sector.setup.allocate import build_sector, cell_arrays
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from tests.support import twins
from tests.support.compositions import composition_of

TICK = 2.0**-5
MARGIN = 5


def chain_bonds(n):
    """Return the (n - 1, 2) bonds of a chain."""
    return np.column_stack([np.arange(n - 1), np.arange(1, n)])


def random_chain(n, seed, straight=False):
    """Return (bonds, x, v, mass) of a chain with unequal bond lengths and masses and allowed random velocities."""
    rng = np.random.default_rng([n, seed])
    step = rng.normal(size=(n - 1, 3))
    if straight:
        step[:] = step[0]
    step *= (rng.uniform(0.7, 1.4, n - 1) / np.linalg.norm(step, axis=1))[:, None]
    x = np.concatenate([np.zeros((1, 3)), np.cumsum(step, axis=0)]) + rng.normal(size=3)
    mass = rng.uniform(0.3, 3.0, n)
    return chain_bonds(n), x, twins.project(chain_bonds(n), x, rng.normal(size=(n, 3)), mass), mass


def make_system(
    molecules, size=(1000.0,) * 3, boundary=(OPEN,) * 3, origin=None, diameter=1.0, rods=(), bodies=(), **physics
):
    """Return the System of molecules (bonds, x, v, mass), each its own kind, all but rods and bodies with self-contact.

    Parameters
    ----------
    diameter : float or (N,) array
        [length].
    rods, bodies : molecules that are rods, or rigid bodies.
    physics : settings of Physics.
    """
    beads = np.array([len(m[1]) for m in molecules])
    count = np.array([len(m[0]) for m in molecules])
    first = np.concatenate([[0], np.cumsum(beads)]).astype(np.int64)
    position = np.concatenate([m[1] for m in molecules]).astype(float)
    velocity = np.concatenate([m[2] for m in molecules]).astype(float)
    pairs = [np.asarray(m[0], dtype=np.int64).reshape(-1, 2) + at for m, at in zip(molecules, first, strict=False)]
    bonds = np.concatenate(pairs)
    size = np.array(size, float)
    site = [body_sites(m[1], m[3]) if k in bodies else np.zeros_like(m[1]) for k, m in enumerate(molecules)]
    topology = Topology(
        names=tuple(f"kind{k}" for k in range(len(molecules))),
        kind=np.arange(len(molecules), dtype=np.int32),
        first_bead=first,
        first_bond=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        bonds=bonds,
        bond_length=np.linalg.norm(position[bonds[:, 1]] - position[bonds[:, 0]], axis=1),
        mass=np.concatenate([m[3] for m in molecules]).astype(float),
        diameter=np.broadcast_to(np.asarray(diameter, float), len(position)).copy(),
        self_contact=~np.isin(np.arange(len(molecules)), (*rods, *bodies)),
        rod=np.isin(np.arange(len(molecules)), rods),
        body=np.isin(np.arange(len(molecules)), bodies),
        site=np.concatenate(site),
    )
    box = Box(size, -0.5 * size if origin is None else np.array(origin, float), np.array(boundary, dtype=np.int8))
    physics = Physics(**{"tick": TICK, **physics})
    return System(box, composition_of(topology), State.at_time_zero(position, velocity), physics)


def plain_sector(system, shell=0.2, cell=0.0):
    """Return the sector of a system in global bead order, with space for lists that each have all other beads."""
    beads = system.topology.beads
    sector = build_sector(MoleculeClasses(system), system, shell, cell, np.arange(system.topology.molecules), 64)[0]
    most = min(beads, 400) + 2
    sector = sector._replace(
        neighbour=np.zeros(4 * beads * most, dtype=np.int32), free_lists=np.full(most, -1, dtype=np.int64)
    )
    return sector._replace(**cell_arrays(sector.cells, beads, 16))


class Bench:
    """Molecules side by side in one workspace, each loaded from its start state.

    Parameters
    ----------
    molecules : (bonds, x, v, mass) each; without ordered chain bonds the sparse solver is used.
    stale : int or None
        Fill the workspace with random numbers of this seed beforehand, as a previous molecule would.
    """

    def __init__(self, *molecules, stale=None, diameter=1.0, rods=()):
        self.s = plain_sector(make_system(molecules, diameter=diameter, rods=rods))
        self.molecules = molecules
        workspaces = self.s.mol[:, MOL_WORKSPACE]
        self.offset = MARGIN + np.cumsum(workspaces) - workspaces
        self.work = np.zeros(int(workspaces.sum()) + MARGIN)
        self.s = self.s._replace(work=self.work)
        if stale is not None:
            self.work[:] = np.random.default_rng(stale).normal(size=len(self.work)) * 10
        self.load()

    def load(self):
        """Bring all start states to the workspace, with bonds and factors."""
        for m in range(len(self.molecules)):
            molecule_kernels.load_start(self.s, self.offset[m], m)
            molecule_kernels.refresh(self.s, self.offset[m], m)

    def rows(self, at, m=0):
        """Return the (n, 3) bead vectors at a row of the tiles."""
        n, nt, o = self.s.mol[m, MOL_BEADS], self.s.mol[m, MOL_TILES], self.offset[m]
        tiles = self.work[o : o + nt * TILE].reshape(nt, TILE)[:, at : at + ROW].reshape(nt, 3, 8)
        return tiles.transpose(0, 2, 1).reshape(-1, 3)[:n].copy()

    def put_state(self, x, v, m=0):
        """Overwrite the (n, 3) positions and velocities."""
        for at, value in ((COEF, x), (COEF + ROW, v)):
            for b, vector in enumerate(value):
                p = self.offset[m] + (b >> 3) * TILE + (b & 7) + at
                self.work[p : p + 24 : 8] = vector

    def position(self, m=0):
        """Return (n, 3) positions."""
        return self.rows(COEF, m)

    def velocity(self, m=0):
        """Return (n, 3) velocities."""
        return self.rows(COEF + ROW, m)

    def bonds(self, m=0):
        """Return the (nb, 3) bond vectors of a chain."""
        return self.rows(HIST, m)[:-1]

    def solve(self, rhs, m=0):
        """Return the solution of T x = rhs of a chain with the present factors."""
        nb, nt, o = self.s.mol[m, MOL_BONDS], self.s.mol[m, MOL_TILES], self.offset[m]
        place = o + np.arange(nt * 8) // 8 * TILE + np.arange(nt * 8) % 8 + RHS
        self.work[place] = 0.0
        self.work[place[:nb]] = rhs
        chain_kernels.chain_solve(self.work, o, nt)
        return self.work[place[:nb]].copy()

    def solver(self, m=0):
        """Return the number of the code that moves a molecule."""
        return int(self.s.mol[m, MOL_SOLVER])

    def prepare(self, m=0):
        """Put the state on the bonds."""
        molecule_kernels.prepare(self.s, self.offset[m], m)

    def kick(self, bead, n, m=0):
        """Return the (n, 3) velocity change per unit impulse on a bead, and the inverse effective mass."""
        mass = molecule_kernels.kick(self.s, self.offset[m], m, bead, n[0], n[1], n[2])
        return self.rows(KICK, m), mass

    def expand(self, h, tolerance, m=0):
        """Return (order + 1, n, 3) coefficients, segment length and (n,) acceleration bounds."""
        order, h = molecule_kernels.expand(self.s, self.offset[m], m, h, tolerance)
        series = np.array([self.rows(COEF + ROW * k, m) for k in range(order + 1)])
        bound = [molecule_kernels.acceleration_bound(self.work, self.offset[m], b) for b in range(series.shape[1])]
        return series, h, np.array(bound)

    def single(self, a, b, n, growth=0.0, restitution=1.0, projection_loss=0.0):
        """Apply the impulse of a contact between (molecule, bead) a and b (None: a wall) and return its size."""
        loss = float(projection_loss)
        one = self._side(a, loss)
        two = self._side(b, 0.0)
        s = self.s
        s.normals[CONTACT_NORMAL] = n
        i, j = self._row(a), self._row(b)
        p = bead_offset(one.offset, one.bead)
        q = bead_offset(two.offset, two.bead) if b is not None else -1
        rate = separation.approach(self.work, p, q, s.normals[CONTACT_NORMAL]) - growth
        inside = b is not None and a[0] == b[0]
        return sides.meet_sides(s, i, j, one, two, inside, HARD, rate, restitution, 1.0).along

    def _row(self, side):
        """Return the row of a (molecule, bead), of a wall (None) the code of one."""
        return np.int64(-1) if side is None else np.int64(self.s.mol[side[0], MOL_FIRST] + side[1])

    def _side(self, side, loss):
        """Return the Side of a (molecule, bead), or of a wall (None)."""
        m = np.int64(-1 if side is None else side[0])
        offset = np.int64(0 if side is None else self.offset[side[0]])
        return sides.whole_side(self.s, m, self._row(side), offset, loss)

    def tied(self, contacts, normals, growths=None, restitution=1.0, projection_loss=0.0):
        """Apply several contacts ((molecule, bead), (molecule, bead) or None) at once; return status and sizes."""
        molecules = sorted({side[0] for pair in contacts for side in pair if side is not None})
        s = self.s
        for g, m in enumerate(molecules):
            s.member[g, [MEMBER_ROW, FIRST_ROW, LAST_ROW]] = m
            s.member[g, [MEMBER_OFFSET, MEMBER_TILES]] = self.offset[m], s.mol[m, MOL_TILES]
        for k, (a, b) in enumerate(contacts):
            s.contacts[k, :2] = molecules.index(a[0]), a[1]
            s.contacts[k, 2:] = (-1, 0) if b is None else (molecules.index(b[0]), b[1])
        s.normals[: len(normals)] = normals
        s.growths[: len(normals)] = 0.0 if growths is None else growths
        s.matrix[RESTITUTION_ROW] = np.resize(np.asarray(restitution, dtype=float), MOST_TIES)
        status = joint.tied_impulses(s, np.int64(len(molecules)), np.int64(len(contacts)), float(projection_loss))
        return status, s.impulses[: len(contacts)].copy()


class Curves(NamedTuple):
    """The arrays of a sector that `contact.pair.curve` reads."""

    starts: np.ndarray
    segment: np.ndarray
    mol: SharedRows
    series: np.ndarray
    par: np.ndarray


class Paths:
    """Polynomials of single beads as the contact kernels read them: coefficients (order + 1, 3), one array a bead."""

    def __init__(self, *coefficients):
        count = len(coefficients)
        self.coefficients = [np.asarray(c, float) for c in coefficients]
        mol = SharedRows(np.zeros((count, OWN_COLUMNS), dtype=np.int32), np.zeros((1, 8), dtype=np.int64))
        floats = int(series_floats(2))
        segment, series = np.zeros((count, SEGMENT_COLUMNS), dtype=np.int64), np.full(count * floats + MARGIN, np.nan)
        self.s = s = Curves(np.zeros((count, 8)), segment, mol, series, np.zeros(PARAMETERS))
        s.segment[:, MOLECULE] = s.mol[:, MOL_FIRST] = np.arange(count)
        for i, c in enumerate(self.coefficients):
            set_order(s.segment, i, len(c) - 1)
            s.mol[i, MOL_SERIES] = (i * floats + UNIT) // UNIT
            s.starts[i, 0:3], s.starts[i, 3:6] = c[0], c[1]
            rest = np.ravel(c[FIRST_TERM:])
            s.series[i * floats + UNIT : i * floats + UNIT + len(rest)] = rest

    def bend(self, i, t):
        """Return a bound of the acceleration of bead i until a time."""
        c = self.coefficients[i]
        k = np.arange(2, len(c))
        return float(np.linalg.norm(np.abs(c[2:] * (k * (k - 1) * t ** (k - 2.0))[:, None]).sum(0)))

    def at(self, i, t):
        """Return positions and velocities of bead i at times t."""
        t, c = np.asarray(t, float), self.coefficients[i]
        powers = t[..., None] ** np.arange(len(c))
        return powers @ c, powers[..., :-1] @ (c[1:] * np.arange(1, len(c))[:, None])

    def pair(self, i, j, d, until, ti=0.0, tj=0.0, shift=(0.0,) * 3, growth=0.0, limit=None, just_hit=False):
        """Call `curved_contact` with the acceleration bounds of both whole spans."""
        bend = self.bend(i, ti + until) + self.bend(j, tj + until)
        limit = until if limit is None else limit
        pair = Pair(i, j, ti, tj, *map(float, shift), d, growth, bend, until, just_hit)
        return curved_contact(self.s, pair, limit)

    def wall(self, i, axis, side, wall, radius, limit, t=0.0, growth=0.0, just_hit=False):
        """Call `wall_contact` with the acceleration bound of the whole span."""
        bend = self.bend(i, t + limit)
        pair = Pair(i, -1 - axis, t, 0.0, wall, float(side), 0.0, radius, growth, bend, limit, just_hit)
        return wall_contact(self.s, pair, at_rest(), limit)


def partners_of(s):
    """Return with what all beads' earliest events are: rows or codes."""
    return s.next_event[:, EVENT_BITS] >> PARTNER_BITS


def depths_of(s):
    """Return the depths of all beads' earliest events."""
    return ((s.next_event[:, EVENT_BITS] & LOWER) >> TIED_BITS) + LEAST_DEPTH


@contextmanager
def events_kept(s):
    """Search as one likes: afterwards events are again those that the queue knows of."""
    event_time, next_event = s.event_time.copy(), s.next_event.copy()
    yield
    s.event_time[:], s.next_event[:] = event_time, next_event


def search_one(s, i):
    """Search bead i and return (time, partner or code)."""
    searches.search_one(s, i)
    return s.event_time[i, 0] * s.par[0] + s.event_time[i, 1], int(partners_of(s)[i])


def first_look(s, i):
    """Return the beads of bead i's list that it is not too far from to meet."""
    return s.found[: broad_phase.within_sweep(s, i, 0.0, 0)].tolist()


def first_look_at_single(s, i):
    """Return the beads of single bead i's list that straight flight may bring to it."""
    return s.found[: flights.candidates_straight(s, i, 0)].tolist()


def candidates(s, i):
    """Return the beads of bead i's list that its search looks at."""
    return s.found[: earliest_event.candidates(s, i, 0)].tolist()


def list_of(s, i):
    """Return bead i's list."""
    return s.neighbour[s.lists[i, LIST_FIRST] : s.lists[i, LIST_FIRST] + s.lists[i, LIST_LENGTH]].tolist()


def rebuild_one(s, i, point):
    """Make bead i's list about a point; return the status."""
    return neighbour_lists.rebuild_list(s, i, *point, 0.0)


def enlist(s):
    """Build all lists about the segments' starts; return the status."""
    return initialise.enlist(s)


def set_list_origins(s, points):
    """Place all list origins and build all lists about them; return the status."""
    return neighbour_lists.build_lists(s, points)


def cell_counts(s):
    """Return the numbers of cells per axis."""
    return tuple(int(c) for c in s.cells[:3])


def listed(s):
    """Return the set of (i, j) of all lists, and whether an entry stands twice."""
    entries = [(i, int(j)) for i, r in enumerate(s.lists) for j in s.neighbour[r[0] : r[0] + r[1]]]
    return set(entries), len(entries) != len(set(entries))


def reverse_lists(s):
    """Turn every neighbour list round, which must change nothing."""
    for first, length in s.lists[:, :2]:
        s.neighbour[first : first + length] = s.neighbour[first : first + length][::-1].copy()


def bead_curves(s):
    """Return the coefficients of every bead's present segment, its start time and its length."""
    paths = []
    for i in range(len(s.starts)):
        order, place = series_order(s.segment, i), series_begin(s.mol, s.segment, i)
        rest = s.series[place : place + 3 * (order + 1 - FIRST_TERM)] if order > 1 else []
        paths.append(np.concatenate([s.starts[i, 0:6], rest]).reshape(-1, 3))
    return paths, s.starts[:, 6] * s.par[0] + s.starts[:, 7], s.timing[s.segment[:, MOLECULE], LENGTH]


def set_start(s, i, x, v, time):
    """Give bead i a new straight segment's start, time as (ticks, remainder)."""
    s.starts[i] = [*x, *v, *time]


def set_now(s, ticks, remainder):
    """Set the time of the event at hand."""
    s.par[NOW], s.par[NOW_REM] = ticks, remainder


def set_growth(s, scale, rate):
    """Set the contact distances' fraction at time 0 and its rate."""
    s.par[GROWTH], s.par[GROWTH_RATE] = scale, rate


def start(s):
    """Make all first segments."""
    initialise.start(s)


def list_ends(s):
    """Return the times until which the beads' lists are valid."""
    stay = np.array([earliest_event.list_expiry(s, i) for i in range(len(s.starts))])
    return s.starts[:, 6] * s.par[0] + s.starts[:, 7] + stay
