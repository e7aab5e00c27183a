"""Which rank owns which molecules, and which has ghosts of which: chosen between windows, as molecules move.

Which ghosts a rank needs follows from where molecules may come to (`surroundings`), and that from their skins. That all
stayed in them is checked at the end of every window (`violation`), and a window in which one did not is taken back.
Before one leaves its skin it gets a new reference position (`refresh_skins`), and ghosts that this makes necessary are
added. Now and then everything is chosen anew (`rebuild_ghosts`): molecules go to the ranks whose sectors they are in,
ghosts that have moved off are dropped. All this is in a frame that moves with the system (`setup.drift`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain import machine
from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import with_columns
from hpcchain.model.physics.extended import UNKNOWN, complete, inside_columns
from hpcchain.model.physics.step_potentials import beyond_contact
from hpcchain.parallel.ghosts.ghost_cells import FINEST, Balls
from hpcchain.parallel.ghosts.migration import Migration, part_of
from hpcchain.parallel.ghosts.molecules import WIDTH, MoleculeSet, fitting_shell, merged, pack, unpack
from hpcchain.parallel.ghosts.skins import Skins
from hpcchain.parallel.ghosts.surroundings import Surroundings
from hpcchain.sector.core import Options
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.setup.drift import drift_of, motion_of, place_in_frame, velocity_in_frame
from hpcchain.sector.setup.molecules_here import MoleculesHere
from hpcchain.sector.setup.shell import default_shell, is_dilute, list_capacity, low_density

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

CROWDED = 11.0  # windows with so many more ghosts than at first as there are beads here cost as much as a new choice
ROUNDING = 1e-6
NO_MOLECULES = np.zeros(0, dtype=np.int64)


def longer(capacity: np.ndarray) -> np.ndarray:
    """Return capacities of lists that have been too short."""
    return capacity + capacity // 2 + 8


@dataclass(frozen=True)
class Earlier:
    """What a sector had whose place another takes.

    Attributes
    ----------
    ids, capacity : (n,) int64 arrays
        Global ids of its beads, and the capacities of their neighbour lists.
    closed : (sizes,) int64 array
        Its rows for closed segments, by size of molecule.
    """

    ids: np.ndarray
    capacity: np.ndarray
    closed: np.ndarray


class GhostManager:
    """The molecules of this rank and its ghosts.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it; only what is here is kept of its state.
    comm : Exchange
    classes : MoleculeClasses
    shell, cell, growth :
        See `GhostedSector`.
    sectors : sequence of 3 int or None
    now : (float, float)
        Ticks and remainder that the state is at.
    window : float
        Length of the first windows [time].

    Attributes
    ----------
    ghosted : GhostedSector
    owned : (k,) int64 array
        Global numbers of owned molecules, in ascending order.
    lending : Lending
        Which rank holds which as ghosts.
    migration : Migration
        The sectors.
    around : Surroundings
        Where molecules here and those of neighbours may come to.
    balls : Balls
        Of all molecules here, by row; positions of owned ones are those of reference, about which skins are.
    """

    def __init__(
        self,
        system: System,
        comm: Exchange,
        classes: MoleculeClasses,
        shell: float | None,
        cell: float,
        growth: tuple,
        sectors: tuple | list | None,
        now: tuple,
        window: float,
    ) -> None:
        self.comm, self.classes, self.composition = comm, classes, classes.composition
        self.system = replace(system, topology=self.composition, state=None, held=None)
        self.cell, self.growth = cell, growth
        self.fits_shell = shell is None and is_dilute(system)
        self.base = float(now[0])
        self.rebuilds = self.skin_refreshes = 0
        self.cell_capacity_factor = 1.0
        self.ghosted: GhostedSector = None
        self.earlier: Earlier | None = None
        self.balls: Balls = None
        self.lending: Lending = None
        self.demanded = set()
        self.past_restored = 0
        self.past_counts = np.zeros(len(L.COUNTERS), dtype=np.int64)
        self.beyond = beyond_contact(self.composition.prototypes, system.physics)
        self.contact = float(self.composition.prototypes.diameter.max()) + self.beyond
        self.skins = Skins(self.composition, self.contact, window)
        self.around = Surroundings(system.box, FINEST * self.contact, comm)
        self.inside = inside_columns(system.physics)
        own = self._with_extra(part_of(system, self.composition, comm))
        beads = self.composition.beads_of(own.molecule_ids)
        self.drift = drift_of(system, comm.allgather(motion_of(self.composition, beads, own.state.velocity)))
        own = replace(own, position_now=self._in_frame(own.position_now, now))
        self.shell = default_shell(system, np.zeros((0, 3))) if shell is None else shell
        self.capacity = list_capacity(self.composition.prototypes, self.shell, self.beyond, low_density(system))
        self.migration = Migration(system.box, self.composition, comm, sectors, own, classes.blocks)
        self.movable = sectors is None
        unknown = self.inside > 0 and bool(np.any(own.state.extra[:, L.INSIDE] == UNKNOWN))
        self._choose(self._located(self._settled(own), now), False)
        self._share_inside(unknown, now, window)

    def _share_inside(self, unknown: bool, now: tuple, window: float) -> None:
        """Send which beads ghosts are within a step of, where their owners have just found it out; collective."""
        if self.inside:
            columns = self.ghosted.core.inside_columns
            first, columns = self.comm.maximum(np.array([float(unknown), float(columns)]))
            self.inside = int(columns)
            if first:
                self.rebuild_ghosts(now, window)

    def _with_extra(self, own: MoleculeSet) -> MoleculeSet:
        """Return owned molecules with as many columns of `State.extra` as all ranks have from now on."""
        extra, parts = complete(own.state.extra, self.system.physics, self.inside), own.state.parts
        if self.classes.blocks is not None:
            parts = with_columns(parts)
        self.extra_columns, self.part_columns = extra.shape[1], parts.shape[1]
        return replace(own, state=replace(own.state, extra=extra, parts=parts))

    def _settled(self, own: MoleculeSet) -> MoleculeSet:
        """Hand molecules over to the ranks whose sectors they are in; return this rank's; collective."""
        settled = self.migration.settled(own, self._store)
        own.let_go()
        self.owned = settled.molecule_ids
        return settled

    def _located(self, own: MoleculeSet, now: tuple) -> MoleculeSet:
        """Return owned molecules with the places where their beads are; what began earlier is carried there."""
        state = own.state
        if not (np.any(state.ticks != now[0]) or np.any(state.remainder != now[1])):
            return own
        self._build(own, np.full(len(own.molecule_ids), L.OWNED, dtype=np.int8))
        located = replace(own, position_now=self._own(now).position_now)
        self._let_go()
        return located

    def rebuild_ghosts(
        self,
        now: tuple,
        window: float,
        everything: bool = False,
        more_capacity: bool = False,
        cost: float | None = None,
    ) -> None:
        """Hand molecules over to the ranks whose sectors they are in, and choose all ghosts anew; collective.

        Parameters
        ----------
        now : (float, float)
            Ticks and remainder of the present time.
        window : float
            Length of the next windows [time].
        everything : bool
            Every rank gets all molecules as full ghosts: what cannot fail.
        more_capacity : bool
            Make neighbour lists longer.
        cost : float, optional
            What this rank's molecules have cost lately, in any unit, for sectors to follow; on all ranks or on none.
        """
        self.rebuilds += 1
        self.skins.window = window
        own = self._with_extra(self._own(now))
        self.past_counts = self.counts()
        self.past_restored += self.ghosted.restored
        if more_capacity:
            self.capacity = longer(self.capacity)
            self.ghosted.core.capacity = longer(self.ghosted.core.capacity)
            self.cell_capacity_factor *= 2.0
            self.inside += self.inside // 2
            own = self._with_extra(own)
        if cost is not None:
            self.migration.balance(own, cost)
        self._let_go()
        self._choose(self._settled(own), everything)
        machine.return_freed()

    def _let_go(self) -> None:
        """Forget the sector, so that there is memory for the next one; what that begins with is kept."""
        ghosted = self.ghosted
        beads = ghosted.beads_of(np.flatnonzero(ghosted.ownership != L.VACANT))
        self.earlier = Earlier(
            ghosted.ids[beads], ghosted.core.capacity[ghosted.core.state_row[beads]], ghosted.window.closed
        )
        self.ghosted = self.balls = None

    def _own(self, now: tuple) -> MoleculeSet:
        """Return the MoleculeSet of owned molecules, from the ghosted sector."""
        ghosted = self.ghosted
        rows = ghosted.owned[np.argsort(ghosted.molecule_ids[ghosted.owned])]
        beads = ghosted.beads_of(rows)
        position_now = np.empty((len(ghosted.ids), 3))
        position_now[ghosted.owned_beads] = ghosted.frame(*now)[0]
        return MoleculeSet(ghosted.molecule_ids[rows], ghosted.state(beads), self._in_frame(position_now[beads], now))

    def _in_frame(self, position: np.ndarray, now: tuple) -> np.ndarray:
        """Return places at a time in the frame that moves with the system, where a common speed is none."""
        return place_in_frame(self.system, self.drift, position, now)

    def _speeds_of(self, molecules: MoleculeSet) -> np.ndarray:
        """Return the velocities of molecules' beads in the frame that moves with the system."""
        return velocity_in_frame(self.system, self.drift, molecules.state.velocity)

    def refresh_skins(self, now: tuple, until: tuple, window: float) -> bool:
        """Give new reference positions to molecules that would else be out of their skins by a time; collective.

        Returns False, on every rank, when `rebuild_ghosts` has to be called instead.
        """
        if self.everything:
            return False
        self.skin_refreshes += 1
        self.skins.window = window
        leaving = np.flatnonzero(self.violation(now, until) > 0.0)
        speeds = self.ghosted.move_reference(leaving, now, self.balls.position)
        self.balls.skin[leaving] = self.skins.for_speeds(self.ghosted.molecule_ids[leaving], speeds)
        inside = self.around.mark(self.balls.some(leaving))
        self.around.exchange_marks()
        admitted = self._send_ghosts({rank: self._newly_needed(rank) for rank in self.around.neighbours}, now)
        failed = not (inside and admitted)
        crowd = self.crowding > CROWDED * (len(self.ghosted.owned_beads) + self.ghosted.ghosts)
        return self.comm.maximum(np.array([float(failed), float(crowd)])).max() == 0.0

    def _newly_needed(self, rank: int) -> np.ndarray:
        """Return the rows of owned molecules that a neighbour needs from now on and does not hold."""
        rest = self.ghosted.owned[self.lending.to(rank)[self.ghosted.owned] == 0]
        needed = np.sort(rest[self.around.needed_by(rank, self.balls.some(rest))])
        return self.ghosted.whole_chains(needed)

    def _send_ghosts(self, wanted: dict, now: tuple) -> bool:
        """Send rows of molecules, by rank, as further ghosts; return whether those that came here fit."""
        ghosted = self.ghosted
        beads = ghosted.beads_of(np.concatenate([NO_MOLECULES, *wanted.values()]))
        table = pack(ghosted.ids[beads], ghosted.state(beads), self.balls.position[beads])
        out, at = {}, 0
        for rank, rows in wanted.items():
            size = int(self.balls.size[rows].sum())
            out[rank], at = table[at : at + size].ravel(), at + size
            self.lending.lend(rank, rows)
        received = self.comm.exchange_known(out, sorted(wanted))
        good = True
        for rank in sorted(received):
            if len(received[rank]):
                self.lending.came_from(rank)
                come = self._store(received[rank])
                good = good and ghosted.admit(come.molecule_ids, come.state, now)
        return good

    def counts(self) -> np.ndarray:
        """Return the kernels' counts so far, (len(COUNTERS),) int64, but for what building took."""
        now = self.ghosted.counts
        return np.where(L.SUMMED, self.past_counts + now, np.maximum(self.past_counts, now))

    def sizes(self) -> dict:
        """Return counts for reports: segments made and rolled back here so far, beads owned and ghosts' beads."""
        return {
            "segments": int(self.counts()[L.C["segments"]]),
            "restored": self.past_restored + self.ghosted.restored,
            "owned": len(self.ghosted.owned_beads),
            "ghosts": self.ghosted.ghosts,
        }

    def window_done(self) -> None:
        """Note that a window has ended: ghosts that have come since all were chosen have cost something in it."""
        self.crowding += max(self.ghosted.ghosts - self.ghosts_at_first, 0)

    def forget_demands(self) -> None:
        """No rank needs full ghosts any more."""
        self.demanded.clear()

    def demand(self, wanted: list) -> None:
        """Have these molecules as full ghosts at the next choice; collective, every rank says what it wants."""
        for rank, molecule_ids in enumerate(self.comm.allgather([int(m) for m in wanted])):
            self.demanded.update((m, rank) for m in molecule_ids)

    def violation(self, since: tuple, until: tuple) -> np.ndarray:
        """Return per molecule row how far beyond its skin it gets between two times (ticks, remainder) [length]."""
        return self.ghosted.skin_violation(self.balls.position, self.balls.skin, since, until)

    def widen(self, violation: np.ndarray) -> None:
        """Give molecules that got out of their skin more of it from the next choice on."""
        out = np.flatnonzero(violation > 0.0)
        self.skins.give_more(self.ghosted.molecule_ids[out], 1.5 * (self.balls.skin[out] + violation[out]))

    def _choose(self, own: MoleculeSet, everything: bool) -> None:
        """Choose ghosts of and for owned molecules, fetch them, and build the ghosted sector."""
        self.everything = everything
        if self.fits_shell:
            self.shell = fitting_shell(self.system, own, self.comm)
        self.skins.look_at(self._speeds_of(own))
        skin = self.skins.of(own.molecule_ids, self._speeds_of(own))
        size = self.composition.size_of(own.molecule_ids)
        like = self.composition.prototype_of(self.composition.beads_of(own.molecule_ids))
        balls = Balls(own.position_now, self._radius_of(like), np.cumsum(size) - size, size, skin)
        self.around.look_around(balls, {rank for _, rank in self.demanded}, everything)
        wanted_by = {rank: self._wanted(rank, own.molecule_ids, balls) for rank in self.around.neighbours}
        received = self.comm.exchange_known(
            {rank: own.packed(self.composition, which).ravel() for rank, which in wanted_by.items()},
            sorted(self.around.neighbours),
        )
        ghosts = {rank: self._store(received[rank]) for rank in sorted(received) if len(received[rank])}
        self._settle_in(
            own, skin, {r: own.molecule_ids[which] for r, which in wanted_by.items() if which.any()}, ghosts
        )

    def _settle_in(self, own: MoleculeSet, skin: np.ndarray, wanted_by: dict, ghosts: dict) -> None:
        """Build the ghosted sector from owned molecules and the ghosts received, rank -> MoleculeSet."""
        held = merged(self.composition, [own, *ghosts.values()])
        own.let_go()
        machine.return_freed()
        ownership = np.full(len(held.molecule_ids), L.FULL_GHOST if self.everything else L.GHOST, dtype=np.int8)
        ownership[np.isin(held.molecule_ids, [m for m, rank in self.demanded if rank == self.comm.rank])] = L.FULL_GHOST
        ownership[np.searchsorted(held.molecule_ids, own.molecule_ids)] = L.OWNED
        self.skins.forget_others(held.molecule_ids)
        self._build(held, ownership)
        ghosted = self.ghosted
        rows = {rank: ghosted.rows_of(molecule_ids) for rank, molecule_ids in wanted_by.items()}
        self.lending = Lending(len(ghosted.molecule_ids), rows, sorted(ghosts))
        spare = np.zeros((self.composition.prototypes.beads, 3))
        position = np.concatenate([held.position_now, spare])[ghosted.core.state_row]
        every = np.zeros(len(ghosted.molecule_ids))
        every[ghosted.rows_of(own.molecule_ids)] = skin
        first, count = map(np.ascontiguousarray, ghosted.first_and_count(np.arange(len(every))))
        self.balls = Balls(position, ghosted.radius * (1.0 + ROUNDING), first, count, every)
        self.ghosts_at_first, self.crowding = ghosted.ghosts, 0

    def _build(self, held: MoleculeSet, ownership: np.ndarray) -> None:
        system = replace(self.system, state=held.state)
        capacity = np.concatenate([self._capacities(self.composition.beads_of(held.molecule_ids)), self.capacity])
        closed = None if self.earlier is None else self.earlier.closed
        here = MoleculesHere(held.molecule_ids, ownership)
        options = Options(
            self.shell,
            self.cell,
            self.growth,
            self.base,
            cell_capacity_factor=self.cell_capacity_factor,
            inside=self.inside,
            drift=self.drift,
        )
        self.ghosted = GhostedSector(self.classes, system, here, capacity, options, closed)
        self.earlier = None
        self.past_counts[L.SUMMED] -= self.ghosted.counts[L.SUMMED]

    def _capacities(self, ids: np.ndarray) -> np.ndarray:
        """Return list capacities of beads: what they had here before, if that was more than what they begin with."""
        capacity = self.capacity[self.composition.prototype_of(ids)]
        if self.earlier is not None and len(ids):
            at = np.minimum(np.searchsorted(ids, self.earlier.ids), len(ids) - 1)
            stays = ids[at] == self.earlier.ids
            capacity[at[stays]] = np.maximum(capacity[at[stays]], self.earlier.capacity[stays])
        return capacity

    def _radius_of(self, like: np.ndarray) -> np.ndarray:
        """Return the radii of beads that are like these of the prototypes."""
        return 0.5 * (self.composition.prototypes.diameter[like] + self.beyond) * (1.0 + ROUNDING)

    def _wanted(self, rank: int, molecule_ids: np.ndarray, balls: Balls) -> np.ndarray:
        """Return a mask of the owned molecules that may touch a neighbour's, or that it has requested."""
        if self.everything:
            return np.ones(len(molecule_ids), dtype=bool)
        wanted = self.around.needed_by(rank, balls) | np.isin(
            molecule_ids, [m for m, asker in self.demanded if asker == rank]
        )
        return wanted if self.classes.blocks is None else self.classes.blocks.whole_of(molecule_ids, wanted)

    def _store(self, rows: np.ndarray) -> MoleculeSet:
        """Return the MoleculeSet of received bead rows."""
        return unpack(self.composition, rows.reshape(-1, self.width), self.part_columns)

    @property
    def width(self) -> int:
        """Floats of a bead on its way between ranks."""
        return WIDTH + self.extra_columns + self.part_columns


class Lending:
    """Which rank holds what, since ghosts were last chosen.

    Parameters
    ----------
    rows : int
        Molecule rows of the ghosted sector.
    wanted_by : dict of rank -> (n,) int64 array
        Rows of owned molecules that it holds as ghosts.
    sources : sequence of int
        Ranks that own ghosts here.

    Attributes
    ----------
    lent : dict of rank -> (rows,) uint8 array
        Which owned molecules it holds.
    lent_at_all : (rows,) uint8 array
        Which any rank does.
    sources : list of int
        In ascending order.
    """

    def __init__(self, rows: int, wanted_by: dict, sources: list | dict) -> None:
        self.lent: dict = {}
        self.lent_at_all = np.zeros(rows, dtype=np.uint8)
        self.sources = sorted(sources)
        for rank, wanted in wanted_by.items():
            self.lend(rank, wanted)

    def lend(self, rank: int, rows: np.ndarray) -> None:
        """Note that a rank holds the molecules in these rows as ghosts from now on."""
        if len(rows):
            self.lent.setdefault(rank, np.zeros_like(self.lent_at_all))[rows] = 1
            self.lent_at_all[rows] = 1

    def to(self, rank: int) -> np.ndarray:
        """Return which owned molecules a rank holds, (rows,) uint8."""
        return self.lent.get(rank, np.zeros_like(self.lent_at_all))

    def came_from(self, rank: int) -> None:
        """Note that ghosts of a rank have come here."""
        self.sources = sorted({*self.sources, rank})
