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
from hpcchain.parallel.sectors import reference_points, sectors_for
from hpcchain.sector.interest import grid_of, mark, project, reaches
from hpcchain.sector.layout import COUNTERS, FULL_GHOST, GHOST, OWNED, C, bead_order
from hpcchain.sector.patch import Patch

ROOM = 0.25  # least room, in contact distances
FAST = 2.0  # molecules faster than this times the typical speed get more, for as long as such a one has the least
WINDOWS = 4.0  # windows for which a molecule's room is enough at its present speed
SIDESTEP = 0.2  # how far a sector's side may move at once, as a part of the edge that it divides
CROWD = 1.3  # growth of the number of ghosts at which they are chosen anew
ROUNDING = 1e-6
MOST_FRESH = 1 << 16
NOBODY = np.zeros(0, dtype=np.int64)
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
        self.owned = np.flatnonzero(self.sectors.owner(points) == comm.rank)
        self.here = system.state.position.copy()
        self.room_of = np.zeros(topology.molecules)
        self._locate_at_start(now)
        self._choose(False)

    def _locate_at_start(self, now):
        """Note where owned beads are; segments that began earlier have to be made for that."""
        state, ids = self.system.state, bead_order(self.system.topology, self.owned)
        if np.any(state.ticks[ids] != now[0]) or np.any(state.remainder[ids] != now[1]):
            sorts = np.full(self.system.topology.molecules, -1, dtype=np.int8)
            sorts[self.owned] = OWNED
            self._build(sorts)
            self._locate(now)

    def regroup(self, now, window, everything=False, more_room=False, cost=None):
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
        cost : float, optional
            What this rank's molecules have cost lately, in any unit, for sectors to follow; on all ranks or on none.
        """
        self.regroupings += 1
        self.window = window
        self._save()
        self._locate(now)
        if more_room:
            self.capacity += self.capacity // 2 + 8
            self.crowding *= 2.0
        points = reference_points(self.system.box, self.system.topology, self.here, self.owned)
        if cost is not None:
            self._balance(points, cost)
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
        moved = self.patch.order[rows]
        beads = self.patch.beads_of(rows)
        self.patch.locate(rows, now, self.home)
        self.here[self.patch.ids[beads]] = self.home[beads]
        self.room_of[moved] = self.room[rows] = self._rooms(moved, self.patch.sector.line[beads, 3:6])
        news = self.comm.allgather(self._mark(moved))
        if any(cells is None for cells in news):
            return False
        wanted = {rank: self._newly_wanted(rank, moved, cells) for rank, cells in enumerate(news)}
        failed = not self._lend(wanted, now)
        crowd = self.patch.ghosts > CROWD * self.ghosts_at_first + 64
        return self.comm.maximum(np.array([float(failed), float(crowd)])).max() == 0.0

    def _newly_wanted(self, rank, moved, cells):
        """Return owned molecules that a rank needs from now on: of `moved`, or near cells that it has come to."""
        if rank == self.comm.rank:
            return np.zeros(0, dtype=np.int64)
        hit = np.zeros(self.system.topology.molecules, dtype=np.uint8)
        if len(cells):
            self.theirs[rank][cells] = 1
            self.fresh[cells] = 1
            self._reach(self.fresh, self.owned, hit)
            self.fresh[cells] = 0
        self._reach(self.theirs[rank], moved, hit)
        hit[self.patch.order[self.holders.get(rank, NOBODY)]] = 0
        return np.flatnonzero(hit)

    def _lend(self, wanted, now):
        """Send molecules, rank -> numbers, as further ghosts; False if there was no room for one that came here."""
        row_of = self.patch.row_of
        self._save_rows(row_of[np.concatenate(list(wanted.values()))])
        received = self._send(wanted)
        for rank, names in wanted.items():
            if len(names):
                self.holders[rank] = np.concatenate([self.holders.get(rank, NOBODY), row_of[names]])
        good = True
        for rank, names in received.items():
            if rank == self.comm.rank or not len(names):
                continue
            self.sources = sorted({*self.sources, rank})
            good = good and self.patch.admit(names, self._packed(names)[:, 1:-3], now)
        return good

    def _balance(self, points, cost):
        """Move sectors a little so that all ranks' molecules cost the same; what one costs goes by its beads.

        Parameters
        ----------
        points : (n, 3) float64 array
            Of owned molecules.
        cost : float
        """
        beads = self.beads[self.owned].astype(float)
        every = self.comm.allgather((points, beads * (cost / beads.sum()) if len(beads) else beads))
        points = np.concatenate([p for p, _ in every])
        weights = np.concatenate([w for _, w in every])
        self.sectors = self.sectors.moved(points, weights, SIDESTEP)

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
        """Return the kernels' counts so far, (len(COUNTERS),) int64, but for what building patches has taken."""
        return self.past_counts + self.patch.sector.count

    def sizes(self):
        """Return counts for reports: segments made and withdrawn here so far, beads owned and ghosts' beads."""
        return {
            "segments": int(self.counts()[C["segments"]]),
            "withdrawn": self.past_withdrawn + self.patch.withdrawn,
            "owned": len(self.patch.owned_beads),
            "ghosts": self.patch.ghosts,
        }

    def forget_demands(self):
        """Nobody needs full ghosts any more."""
        self.demanded.clear()

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
        velocity = self.system.state.velocity[bead_order(self.system.topology, self.owned)]
        self.typical = float(np.sqrt(np.mean(np.sum(velocity**2, axis=1)))) if len(velocity) else 0.0
        self.room_of[self.owned] = self._rooms(self.owned, velocity)
        self._mark(self.owned)
        packed = self.comm.allgather(np.packbits(self.grid))
        self.theirs = {rank: np.unpackbits(bits, count=len(self.grid)) for rank, bits in enumerate(packed)}
        wanted_by = {rank: self.owned if everything else self._wanted(rank) for rank in range(self.comm.size)}
        self._settle_in(wanted_by, self._send(wanted_by), FULL_GHOST if everything else GHOST)

    def _settle_in(self, wanted_by, received, sort):
        """Build the patch from owned molecules and the ghosts received."""
        sorts = np.full(self.system.topology.molecules, -1, dtype=np.int8)
        for rank, names in received.items():
            if rank != self.comm.rank:
                sorts[names] = sort
        for m, rank in self.demanded:
            if rank == self.comm.rank:
                sorts[m] = FULL_GHOST
        sorts[self.owned] = OWNED
        self._build(sorts)
        row_of = self.patch.row_of
        self.holders = {r: row_of[m] for r, m in wanted_by.items() if r != self.comm.rank and len(m)}
        self.sources = sorted(r for r, m in received.items() if r != self.comm.rank and len(m))
        self.home = self.here[self.patch.ids]
        self.room = self.room_of[self.patch.order]
        self.ghosts_at_first = self.patch.ghosts

    def _build(self, sorts):
        self.patch = Patch(self.blueprint, self.system, sorts, self.shell, self.cell, self.growth, self.capacity,
                           self.base, self.crowding)  # fmt: skip
        self.past_counts -= self.patch.sector.count

    def _rooms(self, molecules, velocity):
        """Return the room of molecules whose beads have these velocities: more for fast ones, and for long windows."""
        fastest = np.zeros(len(molecules))
        speed = np.sqrt(np.sum(velocity**2, axis=1))
        np.maximum.at(fastest, np.repeat(np.arange(len(molecules)), self.beads[molecules]), speed)
        life = ROOM * self.contact / (FAST * self.typical) if self.typical > 0.0 else 0.0
        return np.maximum(self.least_room[molecules], fastest * max(life, WINDOWS * self.window))

    def _balls(self, molecules):
        """Return positions, radii and molecules of where the beads of these molecules may come to."""
        ids = bead_order(self.system.topology, molecules)
        group = np.repeat(molecules, self.beads[molecules])
        radius = 0.5 * self.system.topology.diameter[ids] * (1.0 + ROUNDING) + self.room_of[group]
        return self.here[ids], radius, group

    def _mark(self, molecules):
        """Set the cells that these molecules may come to; return those that were not set before, None if too many."""
        position, radius, _ = self._balls(molecules)
        fresh = np.empty(MOST_FRESH, dtype=np.int64)
        count = mark(self.grid, *self.place, position, radius, fresh)
        return fresh[:count] if count <= MOST_FRESH else None

    def _reach(self, grid, molecules, hit):
        """Set `hit` for those of these molecules that may come to the set cells of a grid."""
        position, radius, group = self._balls(molecules)
        sums = np.zeros((3, int(self.cells.max()) + 1), dtype=np.int64)
        project(grid, self.cells, sums)
        reaches(grid, *self.place, position, radius, group, sums, hit)

    def _wanted(self, rank):
        """Return the owned molecules that may touch molecules of another rank, or that it has asked for."""
        hit = np.zeros(self.system.topology.molecules, dtype=np.uint8)
        if rank != self.comm.rank:
            self._reach(self.theirs[rank], self.owned, hit)
            hit[np.intersect1d(self.owned, [m for m, asker in self.demanded if asker == rank]).astype(np.int64)] = 1
        return np.flatnonzero(hit)

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
