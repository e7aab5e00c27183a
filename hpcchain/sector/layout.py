"""The arrays of one rank's sector and how they are made from a system.

Rows of the two-dimensional arrays (beads in local order, a molecule's beads contiguous). `line`, `span`, `seg`, `mol`
and `pace` have further rows behind those of the present segments: the window's closed segments (`history`), each kept
like a molecule that moves no more.

========  ==========  ======================================================================================
array     columns     meaning
========  ==========  ======================================================================================
line      8 float64   start position, start velocity, start ticks, start remainder of the bead's segment
span      4 float64   bound of acceleration, bound of speed, radius, segment length; beside `line` in memory
seg       6 int64     segment serial number, depth of its start event, struck in it (0, 1), molecule, place of the
                      bead's coefficients in `series`, order of the polynomial
when      2 float64   ticks and remainder of the bead's earliest event
what      5 int64     that event's partner bead or code (below), partner's serial, depth, global id of the bead,
                      whether another event of the bead follows within TIE_TIME (0, 1)
centre    4 float64   position about which the bead's neighbour list was made, and how long after the segment's
                      start that was; -1 if before it
swept     4 int32     where the bead may be during its segment: see `swept`
flight    8 float32   where a single bead's segment began, its velocity, the time in two parts: see `swept`
beside    int8        of a ghost's bead: whether one of an owned molecule may be on its list (0, 1)
row       4 int32     first entry, length and capacity of the bead's list in `neighbour`; OWNED, GHOST, FULL_GHOST
                      or VACANT: a row that a ghost may be put in
place     4 int32     centre as fractions of the box (`lists`), cell; `room`, `fill`, `where`: the cells' entries
mol       32 int64    per molecule: columns MOL_… below
pace      8 float64   per molecule: running segment length; ticks and remainder of the segment's end; its length;
                      how far the series may be from the motion at most [length]; its fastest bead's bound of speed;
                      nothing; discrete energy of a step (`steppers`)
first     2 float64   per molecule: ticks and remainder of its earliest event
tag       4 int64     per molecule: depth, lower id, higher id of that event; the bead that holds it (AT_END,
                      BY_SCRIPT)
book      16 int64    counts and heads of lists: BOOK_… below
spare     2 int64     per size of molecule: head of the chain of free rows for closed segments, their number
event     11 int64    per event of the window: number of molecules, which, first row in `log`, rows there
log       7 float64   per contact: time, kind (0 pair, 1 wall), lower id, higher id, impulse, virial in quanta, stands
script    flat        owners' records of ghosts' segments (`message`); `script_at`: where, by ghost and segment
inside    8 float64   per molecule, columns IN_… below: whether it stays in its room (`window.strayed`)
touched   int64       molecules that a withdrawal has set back; `opened` (2 float64): ticks and remainder of when
apart     2 int64     pairs listed in this window whose centres have been far apart (`lists`); `stale`: cells that hold
                      centres that beads had before
ahead     int64       whose memory was asked for (`prefetch`)
stepper               None, or True where molecules are moved by a method that solves for its steps
========  ==========  ======================================================================================
"""

import numpy as np

from hpcchain.model.composition import composition_of
from hpcchain.model.rods import longest_rod, molecule_sites
from hpcchain.model.system import PERIODIC, WALL
from hpcchain.propagators.lanes import CURVE, LANES, TABLE, TILE, tiles
from hpcchain.propagators.stages import SOLVER, stage_table, stages_room
from hpcchain.propagators.steppers import step_table, steps_room
from hpcchain.propagators.steps import SOLVERS
from hpcchain.propagators.structure import LANES as STRIDE_LANES
from hpcchain.propagators.structure import build_structure
from hpcchain.propagators.web import web_room
from hpcchain.sector.handle import handed
from hpcchain.sector.memory import aligned_zeros, records
from hpcchain.sector.queue import queue_size

NO_EVENT, RELIST, SEGMENT_END = -9, -8, -7

# The first eight, a cache line, are all that single beads need.
(MOL_FIRST, MOL_BEADS, MOL_SOLVER, MOL_BONDS, MOL_SERIES, MOL_TILES, MOL_TABLE, MOL_GHOST, MOL_ORDER, MOL_SELF,
 MOL_IMAGE, MOL_ROOM) = (*range(11), 13)
# Where a segment stands in the window: the closed one before it (-1: none), its number in the window, the event that
# began it and that event's ids, whether it is the one its ghost's script has, and how often a tie reopened it.
MOL_PREVIOUS, MOL_NUMBER, MOL_EVENT, MOL_LOWER, MOL_HIGHER, MOL_MATCH, MOL_REOPENED = range(14, 21)
MOL_GRAPH = 21
# What belongs to the molecule and not to its segment: size class, global number, length of its script, number up to
# which others know its segments, whether they changed since, and where a withdrawal sets it back to.
MOL_CLASS, MOL_ID, MOL_SCRIPT, MOL_SENT, MOL_CHANGED, MOL_TARGET = range(22, 28)
MOL_COLUMNS = 32
MOL_OF_SEGMENT = 22  # what is a segment's, and goes with it when it is closed: the columns before this one
BALLISTIC, ROTOR, ROD, CHAIN, GRAPH, COLLOCATION, STEPPER, ROD_STEPPER = range(8)
OWNED, GHOST, FULL_GHOST, VACANT = range(4)
AT_END, BY_SCRIPT = -1, -2
UNMADE = -1  # order of a closed or a ghost's segment whose series nobody has needed yet
(BOOK_MOLECULES, BOOK_BEADS, BOOK_WINDOWED, BOOK_SERIAL, BOOK_EVENT, BOOK_LOW, BOOK_TOUCHED, BOOK_SCRIPT, BOOK_APART,
 BOOK_STALE, BOOK_VIRIAL, BOOK_WITHDRAWN, BOOK_BACKS) = range(13)
BOOKS = 16
LOG_COLUMNS = 7

(TICK, SIZE, INVERSE, LOWER_WALL, UPPER_WALL, GROWTH, GROWTH_RATE, SHELL, CAP, RESTITUTION,
 TIE_TIME, TIE_GAP, FIRST_STEP, ORIGIN, PERIOD, INVERSE_PERIOD, SMALL_BOX, WIDEST, WALLS, UNEQUAL,
 NOW, QUANTUM, LATEST, REACH_UNIT, REACH_MARGIN, LAW, FASTEST, ASTRAY) = (
    0, 1, 4, 7, 10, 13, 14, 15, 16, 18, 20, 21, 22, 23, 26, 29, 32, 33, 34, 36, 37, 39, 40, 42, 43, 44, 45, 46)
PARAMETERS = 47
# A molecule's segment surely keeps it in its room until a time, -inf where that is not known; how far its beads may be
# from their homes at most when the segment began that was open at the window's start, or at IN_SINCE if that is later,
# and when its present one did [length].
IN_UNTIL, IN_SINCE, IN_FAR, IN_NOW = 0, 2, 4, 5
# In front of a kind's static table: longest segment, tolerance, whether its contacts follow paper 000's law and their
# times are found by bisection alone.
STEP_AT, TOLERANCE_AT, LAW_AT, BISECTS_AT = -8, -7, -6, -5
LIMITS = 8

MOST_TIES, MOST_MEMBERS = 16, 8
SPARE_LAYERS = 2  # of cells around the beads that a sector begins with
ROUGHNESS = 1e-6  # of places in single precision, at least ten times what their rounding amounts to (`on_course`)
UNBOUNDED = 2**31 - 1  # reach of a bead that may be anywhere (`swept`)
EVENT_MEMBERS, EVENT_LOG, EVENT_LOGS = 1, 9, 10
EVENT_COLUMNS = 11

FIELDS = {
    "par": "f8", "line": "f8 8/16", "span": "f8 4/16", "seg": "i8 6", "when": "f8 2", "what": "i8 5",
    "centre": "f8 4", "swept": "i4 4", "flight": "f4 8", "row": "i4 4", "neighbour": "i4", "cells": "i8",
    "place": "i4 4", "room": "i4 4", "fill": "i4", "where": "i4", "mark": "i1", "beside": "i1", "found": "i8",
    "mol": f"i8 {MOL_COLUMNS}",
    "pace": "f8 8", "first": "f8 2", "tag": "i8 4", "key": "f8", "winner": "i8", "series": "f8", "table": "f8",
    "graph": "i8", "bonded": "i8", "bond_row": "i8", "work": "f8", "kicks": "f8", "count": "i8",
    "log": f"f8 {LOG_COLUMNS}", "group": "i8", "offset": "i8", "contacts": "i8 4", "tied": "i8 2", "normals": "f8 3",
    "growths": "f8", "matrix": f"f8 {MOST_TIES}", "sizes": "f8", "book": "i8", "spare": "i8 2",
    "event": f"i8 {EVENT_COLUMNS}", "script": "f8", "script_at": "i8 :", "inside": "f8 8", "touched": "i8",
    "opened": "f8 2", "apart": "i8 2", "stale": "i8", "ahead": "i8",
}  # fmt: skip
Sector = handed("Sector", FIELDS, ("stepper",))

COUNTERS = ("contacts", "wall_contacts", "segment_ends", "rescans", "relists", "roots", "searches", "grazes", "ties",
            "orders", "segments", "failed_bead", "logged", "bead_segments", "withdrawn", "no_roots",
            "halved", "steps", "iterations", "most_iterations", "nodes", "node_iterations", "most_node_iterations")
C = {name: i for i, name in enumerate(COUNTERS)}
SUMMED = np.array([not name.startswith("most_") for name in COUNTERS])  # the others are greatest values


class Blueprint:
    """What sectors of one system share: made once, whichever molecules a sector holds.

    Parameters
    ----------
    system : System
        Its topology and physics are used, not its state.

    Attributes
    ----------
    composition : Composition
        Molecules of one of its classes share beads, bonds, masses and lengths.
    examples : (classes,) int64 array
        A molecule of each class.
    rows : (classes, MOL_COLUMNS) int64 array
        What `mol` has in common for a class.
    table, graph : arrays
        Static tables and bond graphs.
    sizes : (k,) int64 array
        The numbers of beads that molecules have.
    offsets, partners : int64 arrays
        The bonded beads of each bead of the examples (`bonded_pairs`), relative to it.
    """

    def __init__(self, system):
        self.composition = composition_of(system.topology)
        topology = self.composition.examples
        first = np.unique(self.composition.run, return_index=True)[1]
        self.examples = self.composition.first_molecule[:-1][first]
        self.rows = np.zeros((topology.molecules, MOL_COLUMNS), dtype=np.int64)
        tables, graphs = [np.zeros(0)], [np.zeros(1, dtype=np.int64)]
        self.sizes = np.unique(np.diff(topology.first_bead))
        for m, row in enumerate(self.rows):
            physics = system.physics.of(topology.kind[m])
            n = int(topology.first_bead[m + 1] - topology.first_bead[m])
            table = static_table(topology, m)
            row[MOL_BEADS], row[MOL_TILES], row[MOL_CLASS] = n, tiles(n), np.searchsorted(self.sizes, n)
            row[MOL_SOLVER] = solver_of(topology, m, physics)
            row[MOL_BONDS] = topology.first_bond[m + 1] - topology.first_bond[m]
            row[MOL_TABLE] = sum(map(len, tables)) + LIMITS
            row[MOL_GRAPH] = sum(map(len, graphs))
            row[MOL_ROOM] = len(table) // TABLE * TILE
            row[MOL_SELF] = topology.self_contact[m]
            if row[MOL_SOLVER] in (GRAPH, COLLOCATION, STEPPER):
                graphs.append(graph_record(topology, m))
                row[MOL_ROOM] = web_room(graphs[-1], 0, tiles(n))
            if row[MOL_SOLVER] == COLLOCATION:
                stages = stage_table(physics.stages, 1e-3 * physics.tolerance, **physics.options.get("stages", {}))
                table = np.concatenate([table, stages])
                row[MOL_ROOM] = stages_room(graphs[-1], 0, tiles(n), physics.stages, int(stages[SOLVER]))
            if row[MOL_SOLVER] == STEPPER:
                solver = physics.options.get("solver", "tridiagonal")
                steps = step_table(solver, 1e-3 * physics.tolerance, n, molecule_bonds(topology, m))
                table = np.concatenate([table, steps])
                row[MOL_ROOM] = steps_room(graphs[-1], 0, tiles(n), SOLVERS[solver])
            tables += [limits(physics, row[MOL_SOLVER]), table]
        self.rows[:, MOL_ROOM] = -(-self.rows[:, MOL_ROOM] // LANES) * LANES
        self.table, self.graph = np.concatenate(tables), np.concatenate(graphs)
        self.offsets, partners = bonded_pairs(topology)
        self.partners = partners - np.repeat(np.arange(topology.beads), np.diff(self.offsets))


def limits(physics, solver):
    """Return what stands in front of the static table of molecules that a code moves (STEP_AT and so on)."""
    values = np.zeros(LIMITS)
    values[STEP_AT] = physics.step if physics.step > 0.0 else np.inf
    values[TOLERANCE_AT] = max(physics.tolerance * 1e-3, 1e-18)
    values[LAW_AT] = solver == STEPPER and has_law(physics)
    values[BISECTS_AT] = solver >= STEPPER and physics.options.get("contact_search") == "bisection"
    return values


def has_law(physics):
    """Whether molecules with these constants collide by paper 000's law."""
    return physics.propagator == "variational" and physics.options.get("collision") != "exact"


def steps_rods(physics):
    """Whether rods of a kind with these constants move in steps; runs begun before they could fly exactly for good."""
    return physics.propagator == "rattle" and physics.options.get("rods") == "steps"


def solver_of(topology, m, physics):
    """Return which code moves molecule m freely; `physics` is that of its kind."""
    n = int(topology.first_bead[m + 1] - topology.first_bead[m])
    bonds = molecule_bonds(topology, m)
    if n == 1:
        return BALLISTIC
    if topology.rod[m]:
        return ROD_STEPPER if steps_rods(physics) else ROD
    if physics.propagator in ("variational", "rattle"):
        return STEPPER
    if n == 2:
        return ROTOR
    if physics.propagator == "collocation":
        return COLLOCATION
    line = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    if bonds.shape == line.shape and np.array_equal(bonds, line):
        return CHAIN
    return GRAPH


def molecule_bonds(topology, m):
    """Return (nb, 2) int64 bonds of molecule m in its own bead numbers."""
    lo, hi = topology.first_bond[m], topology.first_bond[m + 1]
    return np.asarray(topology.bonds[lo:hi] - topology.first_bead[m], dtype=np.int64)


def static_table(topology, m):
    """Return a molecule's tiles of inverse masses, bond mask and squared bond lengths (`lanes`: INVM, MASK, LEN2).

    A rod has the coordinates of its beads in place of squared bond lengths (`rod`: SITE), and no mask.
    """
    first, last = int(topology.first_bead[m]), int(topology.first_bead[m + 1])
    n = last - first
    nt = tiles(n)
    padded = np.zeros(nt * LANES + 1)
    padded[:n] = 1.0 / topology.mass[first:last]
    table = np.zeros((nt, TABLE))
    lengths = np.zeros(nt * LANES)
    mask = np.zeros(nt * LANES)
    bonds = molecule_bonds(topology, m)
    if topology.rod[m]:
        lengths[:n] = molecule_sites(topology, m)
    elif len(bonds) == n - 1 and np.array_equal(bonds[:, 0] + 1, bonds[:, 1]):
        mask[: n - 1] = 1.0
        lengths[: n - 1] = topology.bond_length[topology.first_bond[m] : topology.first_bond[m + 1]] ** 2
    extra = np.zeros(-(-max(len(bonds), 1) // STRIDE_LANES) * STRIDE_LANES)
    extra[: len(bonds)] = topology.bond_length[topology.first_bond[m] : topology.first_bond[m + 1]] ** 2
    for t in range(nt):
        table[t, 0:9] = padded[t * LANES : t * LANES + 9]
        table[t, 16:24] = mask[t * LANES : (t + 1) * LANES]
        table[t, 24:32] = lengths[t * LANES : (t + 1) * LANES]
    return np.concatenate([table.ravel(), extra])


def parameters(system, shell, cell):
    """Return the (PARAMETERS,) float64 constants that kernels read, and the number of cells per axis."""
    box, physics, composition = system.box, system.physics, composition_of(system.topology)
    topology = composition.examples
    contact = float(topology.diameter.max())
    par = np.zeros(PARAMETERS)
    periodic = box.boundary == PERIODIC
    wall = box.boundary == WALL
    par[TICK] = physics.tick
    par[SIZE : SIZE + 3] = np.where(periodic, box.size, 0.0)
    par[INVERSE : INVERSE + 3] = np.where(periodic, 1.0 / box.size, 0.0)
    par[LOWER_WALL : LOWER_WALL + 3] = np.where(wall, box.origin, -np.inf)
    par[UPPER_WALL : UPPER_WALL + 3] = np.where(wall, box.origin + box.size, np.inf)
    par[GROWTH] = 1.0
    par[SHELL] = shell
    par[CAP] = np.min(np.where(periodic, 0.5 * box.size - contact, np.inf)) / 2
    if not np.isfinite(par[CAP]):
        par[CAP] = float(np.max(box.size))
    par[CAP] *= 1.0 - 1e-9
    par[RESTITUTION] = physics.restitution
    par[TIE_TIME] = physics.tick * 2.0**-20
    par[TIE_GAP] = 1e-10
    par[FIRST_STEP] = physics.tick
    par[ORIGIN : ORIGIN + 3] = box.origin
    par[LAW] = any(has_law(each) for each in physics.every())
    reach = contact + 2.0 * shell
    width = max(reach * (1.0 + 1e-6), cell)
    counts = np.maximum(1, np.floor(box.size / width)).astype(np.int64)
    counts = np.minimum(counts, max(1, int(round((4.0 * composition.beads) ** (1 / 3))) + 1))
    par[PERIOD : PERIOD + 3] = box.size
    par[INVERSE_PERIOD : INVERSE_PERIOD + 3] = 1.0 / box.size
    par[WIDEST] = contact
    par[UNEQUAL] = float(topology.diameter.min() != contact)
    par[NOW : NOW + 2] = par[LATEST : LATEST + 2] = -np.inf
    par[REACH_UNIT] = 2.0**-20 * contact
    par[REACH_MARGIN] = 2.0 + 2.0**-30 * float(box.size.max()) / par[REACH_UNIT]
    par[QUANTUM] = virial_quantum(system)
    par[WALLS] = float(wall.any())
    longest = max(float(topology.bond_length.max(initial=0.0)), longest_rod(topology))
    par[SMALL_BOX] = float(np.any(periodic & (2.0 * longest >= box.size)))
    par[ASTRAY] = ROUGHNESS * float(box.size.max()) if periodic.all() and not par[SMALL_BOX] else np.inf
    return par, counts


def virial_quantum(system):
    """Return the power of two in which contacts' virials are counted, so that sums have one value in any order.

    In units of mass length^2 / time; 2^-36 of what a heaviest bead has that moves its diameter in a tick.
    """
    topology = composition_of(system.topology).examples
    natural = float(topology.mass.max()) * float(topology.diameter.max()) ** 2 / system.physics.tick
    return 2.0 ** (np.floor(np.log2(natural)) - 36.0)


def bonded_pairs(topology):
    """Return (N + 1,) int64 offsets and int64 partners: each bead's bonded beads."""
    a = np.concatenate([topology.bonds[:, 0], topology.bonds[:, 1]])
    b = np.concatenate([topology.bonds[:, 1], topology.bonds[:, 0]])
    order = np.lexsort((b, a))
    offsets = np.zeros(topology.beads + 1, dtype=np.int64)
    np.cumsum(np.bincount(a, minlength=topology.beads), out=offsets[1:])
    return offsets, np.ascontiguousarray(b[order], dtype=np.int64)


def list_capacity(topology, shell):
    """Return (N,) int64 first guesses of the neighbour lists' capacities; for equal beads they are equal."""
    contact = topology.diameter.max()
    ratio = (0.5 * (topology.diameter + contact) + 2.0 * shell) / max(float(topology.diameter.min()), 1e-300)
    return np.clip(8 + np.ceil(3.0 * ratio**3), 16, 4096).astype(np.int64)


def build_sector(blueprint, system, shell, cell, order, capacity, log_rows, at=None):
    """Allocate a sector for those molecules of a system, and in that order, that `order` gives.

    Parameters
    ----------
    blueprint : Blueprint
        The system's.
    system : System
    shell : float
        Half width of the neighbour lists' shell [length].
    cell : float
        Least cell width [length].
    order : (M,) int64 array
        Global molecule numbers in local order.
    capacity : int64 array
        Neighbour list capacities, one for each row of the system's state.
    log_rows : int
        Rows of the contact log, 0 for none.
    at : (n,) int64 array, optional
        The state's row of each local bead; default: its global id, where the state has all beads.

    Returns
    -------
    Sector, (N,) int64 array
        The arrays, and the global bead id of each local bead.
    """
    composition, state, part = blueprint.composition, system.state, at is not None
    par, cells = parameters(system, shell, cell)
    beads = composition.size_of(order)
    ids = composition.beads_of(order)
    at = ids if at is None else at
    n, m = len(ids), len(order)
    like = composition.example_of(ids)
    offsets = blueprint.offsets
    counts = np.diff(offsets)[like]
    bond_row = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(counts, out=bond_row[1:])
    spread = np.arange(int(bond_row[-1])) + np.repeat(offsets[:-1][like] - bond_row[:-1], counts)
    bonded = np.repeat(np.arange(n), counts) + blueprint.partners[spread]
    mol, size = molecule_rows(blueprint, order)
    starting = at[mol[:, MOL_FIRST]]
    mol[:, MOL_IMAGE : MOL_IMAGE + 3] = state.image[starting]
    seg = np.zeros((n, 6), dtype=np.int64)
    seg[:, 1] = state.depth[at]
    seg[:, 2] = state.struck[at]
    seg[:, 3] = np.repeat(np.arange(m), beads)
    seg[:, 4] = mol[seg[:, 3], MOL_SERIES] + (np.arange(n) - mol[seg[:, 3], MOL_FIRST]) * CURVE
    what = np.full((n, 5), NO_EVENT, dtype=np.int64)
    what[:, 3] = ids
    line, span = records(n)
    if part:  # molecules of others may come from anywhere, but not before all is built anew
        cells = folded(cells, system.box, state.position[at])
    line[:] = np.column_stack([state.position[at], state.velocity[at], state.ticks[at], state.remainder[at]])
    span[:, 2] = 0.5 * composition.examples.diameter[like]
    row = np.zeros((n, 4), dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(capacity[at])])
    row[:, 0], row[:, 2] = starts[:-1], capacity[at]
    pace = np.zeros((m, 8))
    pace[:, 0] = state.step[starting]
    longest = int(tiles(beads.max(initial=1)))
    leaves = queue_size(m)
    sector = Sector(
        par=par, line=line, span=span, seg=seg,
        when=np.full((n, 2), np.inf), what=what, centre=np.zeros((n, 4)), row=row,
        swept=np.full((n, 4), UNBOUNDED, dtype=np.int32), flight=np.full((n, 8), np.nan, dtype=np.float32),
        neighbour=np.zeros(int(starts[-1]), dtype=np.int32), mol=mol, pace=pace,
        mark=np.zeros(n, dtype=np.int8), beside=np.zeros(n, dtype=np.int8), where=np.zeros(n, dtype=np.int32),
        place=np.full((n, 4), -1, dtype=np.int32), **cell_arrays(cells, n, 1),
        first=np.full((m, 2), np.inf), tag=np.zeros((m, 4), dtype=np.int64),
        key=np.full(2 * leaves, np.inf), winner=np.full(2 * leaves, -1, dtype=np.int64),
        series=aligned_zeros(size), table=blueprint.table, graph=blueprint.graph, bonded=bonded, bond_row=bond_row,
        work=aligned_zeros((MOST_MEMBERS + 1) * int(mol[:, MOL_ROOM].max(initial=0))),
        kicks=np.zeros(kick_size(longest)),
        count=np.zeros(len(COUNTERS), dtype=np.int64), log=np.zeros((max(log_rows, 1), LOG_COLUMNS)),
        group=np.zeros(MOST_MEMBERS, dtype=np.int64), offset=np.zeros(MOST_MEMBERS, dtype=np.int64),
        contacts=np.zeros((MOST_TIES, 4), dtype=np.int64), tied=np.zeros((MOST_TIES, 2), dtype=np.int64),
        normals=np.zeros((MOST_TIES + 1, 3)), growths=np.zeros(MOST_TIES), matrix=np.zeros((MOST_TIES, MOST_TIES)),
        sizes=np.zeros(MOST_TIES), stepper=True if (blueprint.rows[:, MOL_SOLVER] >= COLLOCATION).any() else None,
        **window_arrays(n, m, len(blueprint.sizes)),
    )  # fmt: skip
    return sector, ids


def window_arrays(beads, molecules, sizes):
    """Return the arrays that windows need; without windows they stay as they are."""
    book = np.zeros(BOOKS, dtype=np.int64)
    book[BOOK_MOLECULES], book[BOOK_BEADS] = molecules, beads
    return {
        "book": book,
        "spare": np.column_stack([np.full(sizes, -1), np.zeros(sizes)]).astype(np.int64),
        "event": np.zeros((1, EVENT_COLUMNS), dtype=np.int64),
        "script": np.zeros(1),
        "script_at": np.zeros((1, 1), dtype=np.int64),
        "inside": unplaced(max(molecules, 1)),
        "touched": np.zeros(max(molecules, 1), dtype=np.int64),
        "opened": np.zeros((max(molecules, 1), 2)),
        "apart": np.zeros((4 * beads + 64, 2), dtype=np.int64),
        "stale": np.zeros(max(beads, 1), dtype=np.int64),
        "ahead": np.full(32, -1, dtype=np.int64),
    }


def unplaced(molecules):
    """Return `inside` of molecules of which nothing is known."""
    inside = aligned_zeros((molecules, 8))
    inside[:, IN_UNTIL], inside[:, IN_FAR] = -np.inf, np.inf
    return inside


def folded(cells, box, position):
    """Return (7,) int64 cells as `cell_arrays` takes them, of which beads in a part of the box need only some.

    Cells k, k + n, k + 2n, ... along an axis are one, where the n cells per axis divide those of the box's edge; beads
    are told apart by their places. So memory goes with the part of the box that the beads are in.

    Parameters
    ----------
    cells : (3,) int64 array
        Cells per edge of the box.
    box : Box
    position : (N, 3) float64 array
        [length]
    """
    few, edge = np.array(cells), np.array(cells)
    for c, count in enumerate(cells):
        layers = np.unique(np.floor(np.nan_to_num((position[:, c] - box.origin[c]) / box.size[c] % 1.0) * count))
        gap = np.diff(np.append(layers, layers[0] + count)).max() if len(layers) else 0
        turns = int(count // max(count - gap + 1 + 2 * SPARE_LAYERS, 3))
        if turns > 1:
            few[c] = count // turns
            edge[c] = few[c] * turns
    return np.array([*few, 0, *edge], dtype=np.int64)


def cell_arrays(cells, beads, crowding, entries=1):
    """Return the arrays of cells with room for `crowding` times the expected number of beads in each.

    Parameters
    ----------
    cells : (3,) or (7,) int64 array
        Cells per axis; what is `folded` has the room that was given to each, and cells per edge of the box, behind.
    beads : int
    crowding : float
    entries : int
        Places that cells may hold of a bead: in a window, those that it had before too.
    """
    number = int(np.prod(cells[:3]))
    capacity = int(min(entries * beads, 8 + crowding * 4 * np.ceil(beads / number)))
    capacity = -(-capacity // 4) * 4  # entries are looked at by fours
    return {
        "cells": np.array([*cells[:3], capacity, *(cells[4:] if len(cells) > 4 else cells[:3])], dtype=np.int64),
        "room": np.zeros((number * capacity, 4), dtype=np.int32),
        "fill": np.zeros(number, dtype=np.int32),
        "found": np.zeros(entries * beads + capacity + 1, dtype=np.int64),
    }


def molecule_rows(blueprint, order):
    """Return the `mol` table of molecules `order`, and the size of the series' array."""
    mol = aligned_zeros((len(order), MOL_COLUMNS), np.int64)
    mol[:] = blueprint.rows[blueprint.composition.class_of(order)]
    beads = mol[:, MOL_BEADS]
    mol[:, MOL_FIRST] = np.cumsum(beads) - beads
    block = np.where(beads > 1, beads * CURVE, 0)
    mol[:, MOL_SERIES] = np.cumsum(block) - block
    mol[:, MOL_PREVIOUS] = mol[:, MOL_TARGET] = -1
    mol[:, MOL_HIGHER] = SEGMENT_END
    mol[:, MOL_ID] = order
    mol[:, MOL_MATCH] = 1
    return mol, int(block.sum()) or 1


def graph_record(topology, m):
    """Return the int64 description of molecule m's bond graph (`propagators.structure`)."""
    beads = int(topology.first_bead[m + 1] - topology.first_bead[m])
    return build_structure(beads, molecule_bonds(topology, m))


def kick_size(longest):
    """Return the floats of scratch for the velocity changes of MOST_TIES contacts of MOST_MEMBERS molecules."""
    return MOST_TIES * MOST_MEMBERS * longest * 3 * LANES
