"""Who owns which molecules, and who needs ghosts of which: chosen anew between windows when molecules have moved.

Each molecule has *room*: a distance that none of its beads may go from where it was when the ghosts were chosen. Ghosts
are chosen so that none that is not one can touch an owned molecule while all stay in their rooms; that they did is
checked at the end of every window (`excess`), and a window in which one did not is taken back.
"""

import numpy as np

from hpcchain.model.system import PERIODIC, State
from hpcchain.parallel.sectors import Bisection, reference_points, sectors_for
from hpcchain.sector.interest import grid_of, mark, reaches
from hpcchain.sector.layout import COUNTERS, FULL_GHOST, GHOST, OWNED, bead_order
from hpcchain.sector.patch import Patch

ROOM = 0.35
FAST = 2.5
WINDOWS = 3.0
UNEVEN = 1.25
ROUNDING = 1e-6
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
        self.regroupings = 0
        self.crowding = 1.0
        self.patch = None
        self.demanded = set()
        self.past_withdrawn = 0
        self.past_counts = np.zeros(len(COUNTERS), dtype=np.int64)
        topology = system.topology
        self.beads = np.diff(topology.first_bead)
        self.contact = float(topology.diameter.max())
        self.cells = grid_of(system.box, self.contact)
        self.least_room = np.full(topology.molecules, ROOM * self.contact)
        everyone = np.arange(topology.molecules)
        points = reference_points(system.box, topology, system.state.position, everyone)
        self.sectors = sectors_for(system.box, sectors, points, self.beads.astype(float), comm.size)
        self.movable = sectors is None
        self.owned = np.flatnonzero(self.sectors.owner(points) == comm.rank)
        self.here = np.full((topology.beads, 3), np.nan)
        self._build(np.where(self.sectors.owner(points) == comm.rank, OWNED, -1))
        self._locate(now)
        self._choose(False)

    def regroup(self, now, window, everything=False, more_room=False):
        """Hand molecules over to the ranks whose sectors they are in, and choose ghosts; collective.

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
        ids, state = self.patch.owned_ids, self.patch.state()
        for name in State.ARRAYS:
            getattr(self.system.state, name)[ids] = getattr(state, name)
        self.past_counts += self.patch.sector.count
        self.past_withdrawn += self.patch.withdrawn

    def _locate(self, now):
        """Note where owned beads are at a time."""
        self.here[self.patch.owned_ids] = self.patch.frame(*now)[0]

    def counts(self):
        """Return the kernels' counts so far, (len(COUNTERS),) int64."""
        return self.past_counts + self.patch.sector.count

    def withdrawn(self):
        """Return how many segments of owned molecules were withdrawn so far."""
        return self.past_withdrawn + self.patch.withdrawn

    def ghosts_per_owned(self):
        """Return beads of ghosts per owned bead."""
        owned = len(self.patch.owned_beads)
        return (len(self.patch.ids) - owned) / max(owned, 1)

    def demand(self, wanted):
        """Have these molecules as full ghosts at the next choice; collective, every rank says what it wants."""
        for rank, names in enumerate(self.comm.allgather([int(m) for m in wanted])):
            self.demanded.update((m, rank) for m in names)

    def excess(self, since, until):
        """Return per molecule here how far beyond its room it gets between two times (ticks, remainder) [length]."""
        return self.patch.strayed(self.home, self.room, since, until)

    def widen(self, excess):
        """Give molecules that got out of their room more of it from the next choice on."""
        out = np.flatnonzero(excess > 0.0)
        self.least_room[self.patch.order[out]] = 1.5 * (self.room[out] + excess[out])

    def _choose(self, everything):
        """Choose ghosts, fetch them, and build the patch."""
        wanted_by = self._wanted_everything() if everything else self._wanted()
        received = self._send(wanted_by)
        sorts = np.full(self.system.topology.molecules, -1, dtype=np.int8)
        for rank, names in received.items():
            if rank != self.comm.rank:
                sorts[names] = FULL_GHOST if everything else GHOST
        for m, rank in self.demanded:
            if rank == self.comm.rank:
                sorts[m] = FULL_GHOST
        sorts[self.owned] = OWNED
        self._build(sorts)
        row_of = self.patch.row_of
        self.holders = {r: row_of[m] for r, m in wanted_by.items() if r != self.comm.rank and len(m)}
        self.sources = sorted(r for r, m in received.items() if r != self.comm.rank and len(m))
        self.home = self.here[self.patch.ids]
        self.room = self._rooms(self.patch.order)

    def _build(self, sorts):
        self.patch = Patch(self.blueprint, self.system, sorts, self.shell, self.cell, self.growth, self.capacity,
                           self.base, self.crowding)  # fmt: skip

    def _wanted_everything(self):
        return {rank: self.owned for rank in range(self.comm.size)}

    def _rooms(self, molecules):
        """Return the room of molecules: more for fast ones, and for long windows [length]."""
        ids = bead_order(self.system.topology, molecules)
        speed = np.sqrt(np.einsum("ik,ik->i", *2 * (self.system.state.velocity[ids],)))
        typical = np.sqrt(np.mean(speed**2)) if len(speed) else 0.0
        fastest = np.zeros(len(molecules))
        np.maximum.at(fastest, np.repeat(np.arange(len(molecules)), self.beads[molecules]), speed)
        least = self.least_room[molecules]
        life = ROOM * self.contact / (FAST * typical) if typical > 0.0 else 0.0
        return np.maximum(least, fastest * max(life, WINDOWS * self.window))

    def _wanted(self):
        """Return rank -> global numbers of owned molecules that may touch molecules of that rank."""
        box, topology = self.system.box, self.system.topology
        ids = bead_order(topology, self.owned)
        group = np.repeat(np.arange(len(self.owned)), self.beads[self.owned])
        radius = 0.5 * topology.diameter[ids] * (1.0 + ROUNDING) + self._rooms(self.owned)[group]
        position = self.here[ids]
        grid = np.zeros(int(np.prod(self.cells)), dtype=np.uint8)
        inverse, periodic = self.cells / box.size, box.boundary == PERIODIC
        mark(grid, self.cells, box.origin, inverse, periodic, position, radius)
        wanted = {}
        for rank, packed in enumerate(self.comm.allgather(np.packbits(grid))):
            hit = np.zeros(len(self.owned), dtype=np.uint8)
            if rank != self.comm.rank:
                theirs = np.unpackbits(packed, count=len(grid))
                reaches(theirs, self.cells, box.origin, inverse, periodic, position, radius, group, hit)
                hit[np.isin(self.owned, [m for m, r in self.demanded if r == rank])] = 1
            wanted[rank] = self.owned[hit != 0]
        return wanted

    def _send(self, molecules):
        """Send molecules' states, rank -> global numbers; return rank -> numbers received from it.

        What a rank keeps for itself is in its answer too.
        """
        out = []
        for rank in range(self.comm.size):
            ids = bead_order(self.system.topology, molecules[rank])
            rows = np.empty((len(ids), WIDTH))
            rows[:, 0] = ids
            at = 1
            for name, width in COLUMNS.items():
                rows[:, at : at + width] = getattr(self.system.state, name)[ids].reshape(len(ids), width)
                at += width
            rows[:, at:] = self.here[ids]
            out.append(rows.ravel() if rank != self.comm.rank else np.zeros(0))
        received = {self.comm.rank: molecules[self.comm.rank]}
        for rank, flat in enumerate(self.comm.alltoall(out)):
            if rank == self.comm.rank:
                continue
            rows = flat.reshape(-1, WIDTH)
            received[rank] = self._store(rows)
        return received

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
