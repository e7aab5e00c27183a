"""Who owns which molecules, and who needs ghosts of which: chosen between windows, as molecules move.

Each molecule has *room*: a distance that none of its beads may go from its *home*, where it was when its room was
given. Ghosts are chosen so that none that is not one can touch an owned molecule while all stay in their rooms; that
they did is checked at the end of every window (`excess`), and a window in which one did not is taken back. Before one
leaves its room it gets a new home (`rehome`), and ghosts that this makes necessary are added. Now and then everything
is chosen anew (`regroup`): molecules go to the ranks whose sectors they are in, ghosts that have moved off are dropped.

Where a rank's molecules may come to is known to all as a set of cells (`sector.interest`).
"""

import numpy as np

from hpcchain.model.system import PERIODIC, State
from hpcchain.parallel.sectors import Bisection, reference_points, sectors_for
from hpcchain.sector.interest import grid_of, mark, project, reaches
from hpcchain.sector.layout import COUNTERS, FULL_GHOST, GHOST, OWNED, C, bead_order
from hpcchain.sector.patch import Patch

ROOM = 0.25
FAST = 2.0
WINDOWS = 4.0
UNEVEN = 1.25
CROWD = 1.3
ROUNDING = 1e-6
MOST_FRESH = 1 << 16
COLUMNS = {"position": 3, "velocity": 3, "image": 3, "ticks": 1, "remainder": 1, "depth": 1, "struck": 1, "step": 1}
WIDTH = 1 + sum(COLUMNS.values()) + 3


class Groups:
    """The molecules of this rank and its ghosts.

    Parameters
    ----------
    system : System
        Its state is written over: that of the molecules here is kept up to date at each choice.
    comm : Exchange
    blueprint : Blueprint
    shell, cell, growth, capacity :
        See `Patch`.
    sectors : sequence of 3 int or None
    now : (float, float)
        Ticks and remainder that the state is at.
    window : float
        Length of the first windows [time].

    Attributes
    ----------
    patch : Patch
    holders : dict of rank -> (n,) int64 array
        Rows of owned molecules that a rank holds as ghosts.
    sources : list of int
        Ranks that own ghosts here.
    """

    def __init__(self, system, comm, blueprint, shell, cell, growth, capacity, sectors, now, window):
        self.system, self.comm, self.blueprint = system, comm, blueprint
        self.shell, self.cell, self.growth, self.capacity = shell, cell, growth, capacity
        self.base = float(now[0])
        self.window = window
        self.regroupings = self.rehomings = 0
        self.crowding = 1.0
        self.patch = None
        self.demanded = set()
        self.past_withdrawn = 0
        self.past_counts = np.zeros(len(COUNTERS), dtype=np.int64)
        topology, box = system.topology, system.box
        self.beads = np.diff(topology.first_bead)
        self.contact = float(topology.diameter.max())
        self.cells = grid_of(box, self.contact)
        self.place = (self.cells, box.origin, self.cells / box.size, box.boundary == PERIODIC)
        self.least_room = np.full(topology.molecules, ROOM * self.contact)
        everyone = np.arange(topology.molecules)
        points = reference_points(box, topology, system.state.position, everyone)
        self.sectors = sectors_for(box, sectors, points, self.beads.astype(float), comm.size)
        self.movable = sectors is None
        owner = self.sectors.owner(points)
        self.owned = np.flatnonzero(owner == comm.rank)
        self.here = np.full((topology.beads, 3), np.nan)
        self._build(np.where(owner == comm.rank, OWNED, -1))
        self._locate(now)
        self._choose(False)

    def regroup(self, now, window, everything=False, more_room=False):
        """Hand molecules over to the ranks whose sectors they are in, and choose all ghosts anew; collective.

        Parameters
        ----------
        now : (float, float)
            Ticks and remainder of the present time.
        window : float
            Length of the next windows [time].
        everything : bool
            Every rank gets all molecules as full ghosts: what cannot fail.
        more_room : bool
            Make neighbour lists longer.
        """
        self.regroupings += 1
        self.window = window
        self._save()
        self._locate(now)
        if more_room:
            self.capacity += self.capacity // 2 + 8
            self.crowding *= 2.0
        points = reference_points(self.system.box, self.system.topology, self.here, self.owned)
        self._balance(points)
        owner = self.sectors.owner(points)
        received = self._send({rank: self.owned[owner == rank] for rank in range(self.comm.size)})
        self.owned = np.sort(np.concatenate([received[rank] for rank in range(self.comm.size)]))
        self._choose(everything)

    def rehome(self, now, until, window):
        """Give new homes to molecules that would else be out of their rooms by a time; collective.

        Returns False, on every rank, when `regroup` has to be called instead.
        """
        if self.everything:
            return False
        self.rehomings += 1
        self.window = window
        rows = np.flatnonzero(self.excess(now, until) > 0.0)
        self.patch.locate(rows, now, self.home)
        self.room[rows] = self._rooms(rows)
        fresh = self._mark(rows)
        news = self.comm.allgather(fresh)
        if any(cells is None for cells in news):
            return False
        wanted = {rank: self._newly_wanted(rank, rows, cells) for rank, cells in enumerate(news)}
        failed = not self._lend(wanted, now)
        crowd = self.patch.ghosts > CROWD * self.ghosts_at_first + 64
        return self.comm.maximum(np.array([float(failed), float(crowd)])).max() == 0.0

    def _newly_wanted(self, rank, moved, cells):
        """Return owned rows that a rank needs from now on: `moved` ones, and those near cells that it has come to."""
        if rank == self.comm.rank:
            return np.zeros(0, dtype=np.int64)
        hit = np.zeros(len(self.patch.order), dtype=np.uint8)
        if len(cells):
            self.theirs[rank][cells] = 1
            self.fresh[cells] = 1
            self._reach(self.fresh, self.patch.owned, hit)
            self.fresh[cells] = 0
        self._reach(self.theirs[rank], moved, hit)
        hit[self.holders.get(rank, [])] = 0
        return np.flatnonzero(hit)

    def _lend(self, wanted, now):
        """Send molecules, rank -> rows, as further ghosts; False if there was no room for one that came here."""
        self._save_rows(np.concatenate(list(wanted.values())))
        received = self._send({rank: self.patch.order[rows] for rank, rows in wanted.items()})
        for rank, rows in wanted.items():
            if len(rows):
                self.holders[rank] = np.concatenate([self.holders.get(rank, np.zeros(0, dtype=np.int64)), rows])
        good = True
        for rank, names in received.items():
            if rank == self.comm.rank or not len(names):
                continue
            self.sources = sorted({*self.sources, rank})
            good = good and self.patch.admit(names, self._packed(names)[:, 1:-3], now)
        return good

    def _balance(self, points):
        """Cut the box anew when some rank owns much more than its share."""
        if not self.movable:
            return
        counts = self.comm.allgather(int(self.beads[self.owned].sum()))
        if max(counts) * len(counts) <= UNEVEN * sum(counts) + len(counts) * int(self.beads.max()):
            return
        every = self.comm.allgather((points, self.beads[self.owned].astype(float)))
        points = np.concatenate([p for p, _ in every])
        weights = np.concatenate([w for _, w in every])
        self.sectors = Bisection(self.system.box, points, weights, self.comm.size)

    def _save(self):
        """Bring the state of owned molecules from the patch."""
        self._save_rows(self.patch.owned)
        self.past_counts += self.patch.sector.count
        self.past_withdrawn += self.patch.withdrawn

    def _save_rows(self, rows):
        """Bring the state of the molecules in these rows from the patch."""
        beads = self.patch.beads_of(rows)
        state = self.patch.state(beads)
        for name in State.ARRAYS:
            getattr(self.system.state, name)[self.patch.ids[beads]] = getattr(state, name)

    def _locate(self, now):
        """Note where owned beads are at a time."""
        self.here[self.patch.owned_ids] = self.patch.frame(*now)[0]

    def counts(self):
        """Return the kernels' counts so far, (len(COUNTERS),) int64."""
        return self.past_counts + self.patch.sector.count

    def sizes(self):
        """Return counts for reports: segments made and withdrawn here so far, beads owned and ghosts' beads."""
        return {
            "segments": int(self.counts()[C["segments"]]),
            "withdrawn": self.past_withdrawn + self.patch.withdrawn,
            "owned": len(self.patch.owned_beads),
            "ghosts": self.patch.ghosts,
        }

    def demand(self, wanted):
        """Have these molecules as full ghosts at the next choice; collective, every rank says what it wants."""
        for rank, names in enumerate(self.comm.allgather([int(m) for m in wanted])):
            self.demanded.update((m, rank) for m in names)

    def excess(self, since, until):
        """Return per molecule row how far beyond its room it gets between two times (ticks, remainder) [length]."""
        return self.patch.strayed(self.home, self.room, since, until)

    def widen(self, excess):
        """Give molecules that got out of their room more of it from the next choice on."""
        out = np.flatnonzero(excess > 0.0)
        self.least_room[self.patch.order[out]] = 1.5 * (self.room[out] + excess[out])

    def _choose(self, everything):
        """Choose ghosts, fetch them, and build the patch."""
        self.everything = everything
        self.grid = np.zeros(int(np.prod(self.cells)), dtype=np.uint8)
        self.fresh = np.zeros_like(self.grid)
        if everything:
            wanted_by = {rank: self.owned for rank in range(self.comm.size)}
            received = self._send(wanted_by)
            self._settle_in(wanted_by, received, FULL_GHOST)
            self._mark(self.patch.owned)
            return
        self._settle_in({}, {}, GHOST)
        self._mark(self.patch.owned)
        packed = self.comm.allgather(np.packbits(self.grid))
        self.theirs = {rank: np.unpackbits(bits, count=len(self.grid)) for rank, bits in enumerate(packed)}
        wanted_by = {rank: self._wanted(rank) for rank in range(self.comm.size) if rank != self.comm.rank}
        wanted_by[self.comm.rank] = np.zeros(0, dtype=np.int64)
        received = self._send(wanted_by)
        self._settle_in(wanted_by, received, GHOST)

    def _settle_in(self, wanted_by, received, sort):
        """Build the patch from owned molecules and the ghosts received, and give all their homes and rooms."""
        sorts = np.full(self.system.topology.molecules, -1, dtype=np.int8)
        for rank, names in received.items():
            if rank != self.comm.rank:
                sorts[names] = sort
        for m, rank in self.demanded:
            if rank == self.comm.rank and received:
                sorts[m] = FULL_GHOST
        sorts[self.owned] = OWNED
        self._build(sorts)
        row_of = self.patch.row_of
        self.holders = {r: row_of[m] for r, m in wanted_by.items() if r != self.comm.rank and len(m)}
        self.sources = sorted(r for r, m in received.items() if r != self.comm.rank and len(m))
        self.home = self.here[self.patch.ids]
        self.room = np.zeros(len(self.patch.order))
        self.room[self.patch.owned] = self._rooms(self.patch.owned)
        self.ghosts_at_first = self.patch.ghosts

    def _build(self, sorts):
        self.patch = Patch(self.blueprint, self.system, sorts, self.shell, self.cell, self.growth, self.capacity,
                           self.base, self.crowding)  # fmt: skip

    def _rooms(self, rows):
        """Return the room of the molecules in these rows: more for fast ones, and for long windows [length]."""
        beads = self.patch.beads_of(rows)
        speed = np.sqrt(np.einsum("ik,ik->i", *2 * (self.patch.sector.line[beads, 3:6],)))
        fastest = np.zeros(len(rows))
        np.maximum.at(fastest, np.repeat(np.arange(len(rows)), self.beads[self.patch.order[rows]]), speed)
        if len(rows) == len(self.patch.owned):
            self.typical = float(np.sqrt(np.mean(speed**2))) if len(speed) else 0.0
        least = self.least_room[self.patch.order[rows]]
        life = ROOM * self.contact / (FAST * self.typical) if self.typical > 0.0 else 0.0
        return np.maximum(least, fastest * max(life, WINDOWS * self.window))

    def _balls(self, rows):
        """Return positions, radii and molecule rows of where the beads of these molecules may come to."""
        beads = self.patch.beads_of(rows)
        group = np.repeat(rows, self.beads[self.patch.order[rows]])
        radius = self.patch.sector.span[beads, 2] * (1.0 + ROUNDING) + self.room[group]
        return self.home[beads], radius, group

    def _mark(self, rows):
        """Set the cells that these molecules may come to; return those that were not set before, None if too many."""
        position, radius, _ = self._balls(rows)
        fresh = np.empty(MOST_FRESH, dtype=np.int64)
        count = mark(self.grid, *self.place, position, radius, fresh)
        return fresh[:count] if count <= MOST_FRESH else None

    def _reach(self, grid, rows, hit):
        """Set `hit` for those of these molecules that may come to the set cells of a grid."""
        position, radius, group = self._balls(rows)
        sums = np.zeros((3, int(self.cells.max()) + 1), dtype=np.int64)
        project(grid, self.cells, sums)
        reaches(grid, *self.place, position, radius, group, sums, hit)

    def _wanted(self, rank):
        """Return global numbers of owned molecules that may touch molecules of a rank, or that it has asked for."""
        hit = np.zeros(len(self.patch.order), dtype=np.uint8)
        self._reach(self.theirs[rank], self.patch.owned, hit)
        asked = [self.patch.row_of[m] for m, r in self.demanded if r == rank]
        hit[[row for row in asked if row >= 0]] = 1
        return self.patch.order[np.flatnonzero(hit)]

    def _send(self, molecules):
        """Send molecules' states, rank -> global numbers; return rank -> numbers received from it.

        What a rank keeps for itself is in its answer too.
        """
        mine = self.comm.rank
        out = [self._packed(molecules[r]).ravel() if r != mine else np.zeros(0) for r in range(self.comm.size)]
        received = {mine: molecules[mine]}
        for rank, flat in enumerate(self.comm.alltoall(out)):
            if rank != mine:
                received[rank] = self._store(flat.reshape(-1, WIDTH))
        return received

    def _packed(self, molecules):
        """Return (N, WIDTH) float64 rows of the beads of molecules: id, state, place at the last choice."""
        ids = bead_order(self.system.topology, molecules)
        rows = np.empty((len(ids), WIDTH))
        rows[:, 0] = ids
        at = 1
        for name, width in COLUMNS.items():
            rows[:, at : at + width] = getattr(self.system.state, name)[ids].reshape(len(ids), width)
            at += width
        rows[:, at:] = self.here[ids]
        return rows

    def _store(self, rows):
        """Write received bead rows into the state; return the molecules' global numbers."""
        ids = rows[:, 0].astype(np.int64)
        at = 1
        for name, width in COLUMNS.items():
            target = getattr(self.system.state, name)
            target[ids] = rows[:, at : at + width].reshape(len(ids), *target.shape[1:])
            at += width
        self.here[ids] = rows[:, at:]
        first = self.system.topology.first_bead
        molecules = np.searchsorted(first, ids, side="right") - 1
        return molecules[first[molecules] == ids]
