"""Which rank owns which molecules, and which has ghosts of which: chosen between windows, as molecules move.

That all molecules stayed in their skins is checked at the end of every window (`WindowedEngine`), and a window in which
one did not is taken back. Before one leaves its skin it gets a new reference position (`refresh_skins`), and ghosts
that this makes necessary are added. Now and then everything is chosen anew (`rebuild_ghosts`): molecules go to the
ranks whose sectors they are in, ghosts that have moved off are dropped. All this is in a frame that moves with the
system (`setup.drift`).

`SectorBuilder` makes the ghosted sector from molecules' states, and goes back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain import machine
from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import with_columns
from hpcchain.model.physics.extended import UNKNOWN, complete, inside_columns
from hpcchain.model.physics.step_potentials import beyond_contact
from hpcchain.parallel.ghosts.ghost_cells import Balls
from hpcchain.parallel.ghosts.migration import Migration, share_of
from hpcchain.parallel.ghosts.molecules import MoleculeSet, fitting_shell, merged, pack, unpack
from hpcchain.parallel.ghosts.needs import ROUNDING, GhostNeeds
from hpcchain.sector.core import Options
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.setup.drift import drift_of, motion_of, place_in_frame, velocity_in_frame
from hpcchain.sector.setup.shell import default_shell, is_dilute

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.parallel.exchange import Exchange
    from hpcchain.sector.ahead.helper import Worth
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses


class SectorBuilder:
    """Builds ghosted sectors, and takes owned molecules from them.

    Parameters
    ----------
    system, classes :
        See `GhostManager`.
    options : Options
        Of the first sector.

    Attributes
    ----------
    options : Options
        Of the next sector.
    """

    def __init__(self, system: System, classes: MoleculeClasses, options: Options) -> None:
        self.classes, self.composition, self.options = classes, classes.composition, options
        self.system = replace(system, topology=self.composition, state=None, held=None)
        self._counts = np.zeros(len(L.COUNTERS), dtype=np.int64)

    def complete(self, own: MoleculeSet) -> MoleculeSet:
        """Return molecules with as many columns of `State.extra` as all ranks have from now on."""
        extra, parts = complete(own.state.extra, self.system.physics, self.options.inside), own.state.parts
        if self.classes.chain_parts is not None:
            parts = with_columns(parts)
        return replace(own, state=replace(own.state, extra=extra, parts=parts))

    def build(self, held: MoleculeSet, ownership: np.ndarray) -> GhostedSector:
        """Return the sector of molecules; `ownership`: see `GhostedSector`."""
        system = replace(self.system, state=held.state, held=held.molecule_ids)
        ghosted = GhostedSector(self.classes, system, ownership, self.options)
        # What building took is in no sum.
        ghosted.counts[:] = np.where(L.SUMMED, self._counts, np.maximum(self._counts, ghosted.counts))
        return ghosted

    def own(self, ghosted: GhostedSector, now: tuple) -> MoleculeSet:
        """Return the owned molecules of a sector, at a time."""
        beads = ghosted.beads_of(ghosted.owned)
        position_now = np.empty((len(ghosted.ids), 3))
        position_now[ghosted.owned_beads] = ghosted.frame(*now)[0]
        ids = ghosted.molecule_ids[ghosted.owned]
        return MoleculeSet(ids, ghosted.state(beads), self.in_frame(position_now[beads], now))

    def let_go(self, ghosted: GhostedSector) -> None:
        """Keep what the next sector begins with, so that this one may be dropped, and there is memory for that."""
        self._counts = ghosted.counts
        self.options = replace(self.options, space=ghosted.core.space)

    def more_space(self) -> None:
        """Give lists and cells more space from the next sector on, and tables of beads inside."""
        inside = self.options.inside
        self.options = replace(self.options, inside=inside + inside // 2, space=2.0 * self.options.space)

    def in_frame(self, position: np.ndarray, now: tuple) -> np.ndarray:
        """Return places at a time in the frame that moves with the system, where a common speed is none."""
        return place_in_frame(self.system, self.options.drift, position, now)

    @property
    def common_speed(self) -> float:
        """How fast that frame moves [length / time]."""
        return float(np.linalg.norm(self.options.drift * self.system.box.size / self.system.physics.tick))


class GhostManager:
    """The molecules of this rank and its ghosts.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it; only what is here is kept of its state.
    comm : Exchange
    classes : MoleculeClasses
    shell, cell, growth, worth :
        See `Options`; shell None: what suits the system.
    sectors : sequence of 3 int or None
        Ranks along each axis; None: they follow the molecules, and what they cost.
    now : (float, float)
        Ticks and remainder that the state is at.
    window : float
        Length of the first windows [time].

    Attributes
    ----------
    ghosted : GhostedSector
    builder : SectorBuilder
    migration : Migration
        The sectors.
    needs : GhostNeeds
    rebuilds, skin_refreshes : int
        How often `rebuild_ghosts` and `refresh_skins` have done their work.
    """

    def __init__(
        self,
        system: System,
        comm: Exchange,
        classes: MoleculeClasses,
        shell: float | None,
        cell: float,
        growth: tuple,
        worth: Worth | None,
        sectors: tuple | list | None,
        now: tuple,
        window: float,
    ) -> None:
        self.comm, self.composition = comm, classes.composition
        self.fits_shell = shell is None and is_dilute(system)
        self.movable = sectors is None
        self.rebuilds = self.skin_refreshes = 0
        self.ghosted: GhostedSector = None
        own = share_of(system, self.composition, comm)
        beads = self.composition.beads_of(own.molecule_ids)
        drift = drift_of(system, comm.allgather(motion_of(self.composition, beads, own.state.velocity)))
        shell = default_shell(system, np.zeros((0, 3))) if shell is None else shell
        beyond, inside = beyond_contact(self.composition.prototypes, system.physics), inside_columns(system.physics)
        options = Options(shell, cell, growth, float(now[0]), inside=inside, drift=drift, worth=worth)
        self.builder = SectorBuilder(system, classes, options)
        self.needs = GhostNeeds(system.box, comm, classes, beyond, window)
        own = self.builder.complete(own)
        own = replace(own, position_now=self.builder.in_frame(own.position_now, now))
        self.migration = Migration(system.box, self.composition, comm, sectors, own, classes.chain_parts)
        unknown = inside > 0 and bool(np.any(own.state.extra[:, L.INSIDE] == UNKNOWN))
        self._choose(self._located(self._settled(own), now), False)
        if inside:
            self._share_inside(unknown, now, window)

    def _share_inside(self, unknown: bool, now: tuple, window: float) -> None:
        """Send which beads ghosts are within a step of, where their owners have just found it out; collective."""
        columns = self.ghosted.core.inside_columns
        first, columns = self.comm.maximum(np.array([float(unknown), float(columns)]))
        self.builder.options = replace(self.builder.options, inside=int(columns))
        if first:
            self.rebuild_ghosts(now, window)

    def _settled(self, own: MoleculeSet) -> MoleculeSet:
        """Hand molecules over to the ranks whose sectors they are in; return this rank's; collective."""
        settled = self.migration.settled(own)
        own.let_go()
        return settled

    def _located(self, own: MoleculeSet, now: tuple) -> MoleculeSet:
        """Return owned molecules with the places where their beads are; what began earlier is carried there."""
        state = own.state
        if not (np.any(state.ticks != now[0]) or np.any(state.remainder != now[1])):
            return own
        ghosted = self.builder.build(own, np.full(len(own.molecule_ids), L.OWNED, dtype=np.int8))
        located = replace(own, position_now=self.builder.own(ghosted, now).position_now)
        self.builder.let_go(ghosted)
        return located

    def rebuild_ghosts(
        self,
        now: tuple,
        window: float,
        everything: bool = False,
        more_space: bool = False,
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
        more_space : bool
            Give neighbour lists, and what else may be full, more space.
        cost : float, optional
            What this rank's molecules have cost lately, in any unit, for sectors to follow; on all ranks or on none.
        """
        self.rebuilds += 1
        self.needs.skins.window = window
        own = self.builder.complete(self.builder.own(self.ghosted, now))
        self.builder.let_go(self.ghosted)
        self.ghosted = self.needs.balls = None
        if more_space:
            self.builder.more_space()
            own = self.builder.complete(own)
        if cost is not None:
            self.migration.balance(own, cost)
        self._choose(self._settled(own), everything)
        machine.return_freed()

    def _choose(self, own: MoleculeSet, everything: bool) -> None:
        """Choose ghosts of and for owned molecules, fetch them, and build the ghosted sector."""
        if self.fits_shell:
            size = self.composition.size_of(own.molecule_ids)
            shell = fitting_shell(self.builder.system, own.position_now[np.cumsum(size) - size], self.comm)
            self.builder.options = replace(self.builder.options, shell=shell)
        velocity = velocity_in_frame(self.builder.system, self.builder.options.drift, own.state.velocity)
        needed = self.needs.choose(own, velocity, everything)
        received = self.comm.exchange_known(
            {rank: own.packed(self.composition, which).ravel() for rank, which in needed.items()}, sorted(needed)
        )
        come = {rank: received[rank] for rank in sorted(received) if len(received[rank])}
        ghosts = {rank: unpack(self.composition, message, own.state) for rank, message in come.items()}
        needed = {rank: own.molecule_ids[which] for rank, which in needed.items()}
        self._settle_in(own, needed, ghosts)

    def _settle_in(self, own: MoleculeSet, needed: dict, ghosts: dict) -> None:
        """Build the ghosted sector from owned molecules and the ghosts received, rank -> MoleculeSet."""
        held = merged(self.composition, [own, *ghosts.values()])
        own.let_go()
        machine.return_freed()
        ownership = np.full(len(held.molecule_ids), L.FULL_GHOST if self.needs.everything else L.GHOST, dtype=np.int8)
        ownership[np.isin(held.molecule_ids, self.needs.requested_by(self.comm.rank))] = L.FULL_GHOST
        ownership[np.searchsorted(held.molecule_ids, own.molecule_ids)] = L.OWNED
        self.ghosted = ghosted = self.builder.build(held, ownership)
        spare = np.zeros((self.composition.prototypes.beads, 3))
        position = np.concatenate([held.position_now, spare])[ghosted.core.state_row]
        skin = np.zeros(len(ghosted.molecule_ids))
        velocity = velocity_in_frame(self.builder.system, self.builder.options.drift, held.state.velocity)
        skin[ghosted.rows_of(held.molecule_ids)] = self.needs.skins.of(held.molecule_ids, velocity)
        first, count = map(np.ascontiguousarray, ghosted.first_and_count(np.arange(len(skin))))
        balls = Balls(position, ghosted.radius * (1.0 + ROUNDING), first, count, skin)
        self.needs.begin(ghosted, balls, {rank: ghosted.rows_of(ids) for rank, ids in needed.items()}, list(ghosts))

    def refresh_skins(self, now: tuple, window: float) -> bool:
        """Give new reference positions to molecules that may leave their skins in windows so long; collective.

        Returns False, on every rank, when `rebuild_ghosts` has to be called instead.
        """
        if self.needs.everything:
            return False
        self.skin_refreshes += 1
        self.needs.skins.window = window
        inside, needed = self.needs.renew(self.ghosted, now, window)
        failed = not (self._send_ghosts(needed, now) and inside)
        crowd = self.needs.is_crowded(self.ghosted)
        return self.comm.maximum(np.array([float(failed), float(crowd)])).max() == 0.0

    def _send_ghosts(self, needed: dict, now: tuple) -> bool:
        """Send rows of molecules, by rank, as further ghosts; return whether those that came here fit."""
        ghosted, balls = self.ghosted, self.needs.balls
        beads = ghosted.beads_of(np.concatenate([np.zeros(0, dtype=np.int64), *needed.values()]))
        state = ghosted.state(beads)
        table = pack(ghosted.ids[beads], state, balls.position[beads])
        ends = np.cumsum([int(balls.size[rows].sum()) for rows in needed.values()])
        self.needs.lend(needed)
        received = self.comm.exchange_known(
            {rank: rows.ravel() for rank, rows in zip(needed, np.split(table, ends), strict=False)}, sorted(needed)
        )
        good = True
        for rank in sorted(received):
            if len(received[rank]):
                self.needs.sources = sorted({*self.needs.sources, rank})
                come = unpack(self.composition, received[rank], state)
                good = good and ghosted.admit(come.molecule_ids, come.state)
                good = good and self.needs.watch(ghosted, ghosted.rows_of(come.molecule_ids), now)
        return good
