"""One rank's part of a system in windows: its own molecules and ghosts of others'.

It knows which molecules are here, and in which rows. What happens in a window is up to `Window`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout.id_table import id_table, insert, lookup_all
from hpcchain.layout.segment_bits import packed_starts
from hpcchain.model.composition import in_blocks
from hpcchain.model.physics.step_potentials import beyond_contact
from hpcchain.model.system import State
from hpcchain.sector.core import Core, with_vacant
from hpcchain.sector.sampling import put_chain_part_state
from hpcchain.sector.setup import initialise
from hpcchain.sector.setup.allocate import cell_arrays, window_arrays
from hpcchain.sector.setup.molecule_classes import space_sequence, vacant_like, vacant_rows
from hpcchain.sector.speculation.window import move_reference, skin_violation
from hpcchain.sector.window import EVENTS, Window

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.sector.core import Options
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

ENTRIES = 4  # of a bead in cells
SPARE = 1.0  # of what lists take when they are made: in a window they only get longer


class GhostedSector:
    """Molecules of one rank and ghosts, carried through windows.

    Parameters
    ----------
    classes : MoleculeClasses
    system : System
        Its state is that of the beads of the molecules `held` alone, in their order, and is not kept.
    ownership : (k,) int8 array
        Of those molecules: OWNED, FULL_GHOST or GHOST.
    options : Options
        See `Core`; the contact log begins with `EVENTS` rows whatever they say.

    Attributes
    ----------
    owned : int64 array
        Rows of owned molecules, in the order of their global numbers.
    owned_molecules : int
        How many that are, with the parts of a long chain as one.
    owned_beads : int64 array
        Rows of beads.
    ghosts : int
        How many beads are ghosts'.
    window : Window
    """

    def __init__(
        self,
        classes: MoleculeClasses,
        system: System,
        ownership: np.ndarray,
        options: Options,
    ) -> None:
        self.system, self.classes = replace(system, state=None, held=None), classes
        composition = classes.composition
        self.beyond = beyond_contact(composition.prototypes, system.physics)
        size = composition.size_of(system.held)
        first = np.cumsum(size) - size
        sequence = classes.grouped(system.held, lambda at: space_sequence(system, at, first[at]))
        ids = system.held[sequence]
        vacant = vacant_like(classes, ids) if len(ids) < composition.molecules else ids[:0]
        free_rows, every = composition.class_of(vacant), np.concatenate([ids, vacant])
        self.row_of = id_table(len(every))
        insert(self.row_of, ids, np.arange(len(ids)))
        self.core = Core(
            classes,
            replace(system, state=with_vacant(system.state, composition.prototypes.beads)),
            every,
            replace(options, log_rows=EVENTS),
            self._rows_of(sequence, free_rows, first, size),
        )
        self._prepare(every, np.append(ownership[sequence], np.full(len(vacant), L.VACANT)))
        self.core.start()

    @property
    def sector(self) -> Any:
        """The arrays (`layout.arrays`)."""
        return self.core.sector

    @property
    def ids(self) -> np.ndarray:
        """Global ids of the local beads, (N,) int64."""
        return self.core.ids

    def _rows_of(self, sequence: np.ndarray, free_rows: np.ndarray, first: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the state's row of each local bead; vacant ones have those of their class behind the others."""
        prototypes = self.classes.composition.prototypes
        begin = np.concatenate([first[sequence], int(size.sum()) + prototypes.first_bead[free_rows]])
        count = np.concatenate([size[sequence], np.diff(prototypes.first_bead)[free_rows]])
        return in_blocks(begin, count)

    @property
    def molecule_ids(self) -> np.ndarray:
        """(k,) int64 global numbers of the molecules, by row; of vacant rows those of a prototype."""
        return self.sector.window_molecule[: self.sector.scalars[L.SCALAR_MOLECULES], L.WINDOW_ID].astype(np.int64)

    @property
    def ownership(self) -> np.ndarray:
        """(k,) int64 OWNED, FULL_GHOST, GHOST or VACANT, by row."""
        return self.sector.mol[: self.sector.scalars[L.SCALAR_MOLECULES], L.MOL_OWNERSHIP]

    @property
    def counts(self) -> np.ndarray:
        """The kernels' counts, (len(COUNTERS),) int64."""
        return self.core.sector.count

    @property
    def radius(self) -> np.ndarray:
        """(N,) radii of the local beads, with half of how much farther than contact any act on one another [length]."""
        return np.resize(self.core.sector.radius, len(self.ids)) + 0.5 * self.beyond

    def first_and_count(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first bead's row and the number of beads of the molecules in these rows."""
        mol = self.core.sector.mol
        return mol[rows, L.MOL_FIRST], mol[rows, L.MOL_BEADS]

    def rows_of(self, molecule_ids: np.ndarray) -> np.ndarray:
        """Return the rows of molecules that are here."""
        rows = np.empty(len(molecule_ids), dtype=np.int64)
        lookup_all(self.row_of, molecule_ids, rows)
        return rows

    def _prepare(self, molecule_ids: np.ndarray, ownership: np.ndarray) -> None:
        """Let the kernels know which molecules are ghosts; make the arrays of cells and windows."""
        core = self.core
        s, core.entries, core.spare = core.sector, ENTRIES, SPARE
        beads = s.mol[:, L.MOL_BEADS]
        s = s._replace(
            **cell_arrays(s.cells, len(core.ids), ENTRIES * core.space),
            **window_arrays(len(core.ids), len(molecule_ids)),
            window_event=np.zeros((EVENTS, L.EVENT_COLUMNS), dtype=np.int64),
            owner_history=np.zeros(4096),
            owner_history_at=np.zeros((len(molecule_ids), 8), dtype=np.int64),
        )
        core.sector = s
        s.window_molecule[:, L.WINDOW_CLASS] = np.searchsorted(self.classes.sizes, beads)
        s.window_molecule[:, L.WINDOW_ID] = molecule_ids
        s.mol[:, L.MOL_OWNERSHIP] = ownership
        s.lists[:, L.OWNERSHIP] = np.repeat(ownership, beads)
        if s.stretched is not None:
            changes = np.zeros((len(molecule_ids), L.CHANGE_COLUMNS))
            core.sector = s = s._replace(centre_change=changes, arms=np.zeros((EVENTS, L.ARM_COLUMNS)))
        s.scalars[L.SCALAR_WINDOWED] = 1
        s.free_rows[:, L.SPARE_LEAST] = self.classes.most_rows
        owned = np.flatnonzero(ownership == L.OWNED)
        self.owned = owned[np.argsort(molecule_ids[owned])]
        self.owned_molecules = len(self.owned)
        if s.stretched is not None:
            self.owned_molecules = int(np.count_nonzero(s.chain_part[self.owned, L.PART_PLACE] == 0))
        self.owned_beads = np.flatnonzero(s.lists[:, L.OWNERSHIP] == L.OWNED)
        self.ghosts = int(beads[(ownership != L.OWNED) & (ownership != L.VACANT)].sum())
        self.window = Window(core, self.classes, self.row_of)

    def admit(self, molecules: np.ndarray, state: State) -> bool:
        """Take in further ghosts between windows, by their global numbers (k,) int64, and the State of their beads.

        The beads are all set aside. Returns whether they fit.
        """
        s, free = self.sector, np.flatnonzero(self.ownership == L.VACANT)
        m = vacant_rows(self.classes.composition, free, self.molecule_ids[free], molecules)
        if np.any(m < 0):
            return False
        i, count = self.beads_of(m), self.first_and_count(m)[1]
        own, at = state, np.cumsum(count) - count
        s.starts[i, L.X : L.VX], s.starts[i, L.VX : L.START_TICKS] = own.position, own.velocity
        s.starts[i, L.START_TICKS], s.starts[i, L.START_REM] = own.ticks, own.remainder
        s.segment[i, L.START_MARKS] = packed_starts(own.depth, own.struck, own.in_contact)
        s.mol[m, L.MOL_IMAGE : L.MOL_IMAGE + L.AXES] = own.image[at]
        s.running_length[m] = own.step[at]
        if s.extended is not None:
            s.extra[i] = own.extra
        if s.stretched is not None:
            put_chain_part_state(s, i, own.parts)
        s.window_molecule[m, L.WINDOW_ID], s.mol[m, L.MOL_OWNERSHIP] = molecules, L.GHOST
        self.ids[i] = s.bead_id[i] = self.classes.composition.beads_of(molecules)
        insert(self.row_of, molecules, m)
        self.ghosts += len(i)
        initialise.admit(s, m)
        self.set_aside(i)
        return True

    def attend(self, beads: np.ndarray, now: tuple) -> bool:
        """List and search ghosts' beads in these rows from a time between windows on; return whether lists fit."""
        return initialise.attend(self.sector, beads, *now) == 0

    def set_aside(self, beads: np.ndarray) -> None:
        """Neither list nor search ghosts' beads in these rows, which can touch nothing owned, until `attend`."""
        initialise.set_aside(self.sector, beads)

    def move_reference(self, rows: np.ndarray, now: tuple, reference_position: np.ndarray) -> np.ndarray:
        """Write about where these molecules' beads are at a time to their rows of `reference_position`.

        Returns with what speed each molecule's fastest bead began its segment, (n,) float64 [length / time].
        """
        move_reference(self.sector, rows, *now, reference_position, speed := np.empty(len(rows)))
        return speed

    def skin_violation(
        self, reference_position: np.ndarray, skin: np.ndarray, since: tuple, until: tuple
    ) -> np.ndarray:
        """Return per molecule row how far beyond its skin it gets between two times (ticks, remainder) [length]."""
        violation = np.empty(self.sector.scalars[L.SCALAR_MOLECULES])
        skin_violation(self.sector, reference_position, skin, *since, *until, violation)
        return violation

    def leaving(self, skin: np.ndarray, time: float) -> np.ndarray:
        """Return the rows of molecules that may be out of their skins so long after a time between windows."""
        # Of methods in steps all whose skins are watched: what their speeds say is no bound (`skin_violation`).
        far = self.sector.away[: len(skin)] + self.sector.top_speed[: len(skin)] * time
        return np.flatnonzero(~(far <= skin))  # what is not a number leaves

    def frame(self, ticks: float, remainder: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts of owned beads at a time, in the order of `owned_ids`."""
        own, (position, velocity, image) = self.owned_beads, self.core.frame(ticks, remainder)
        return position[own], velocity[own], image[own]

    @property
    def owned_ids(self) -> np.ndarray:
        """(n,) int64 global ids of owned beads."""
        return self.ids[self.owned_beads]

    def molecule_rows(self, beads: np.ndarray) -> np.ndarray:
        """Return the rows of the molecules that beads, by row, are of."""
        return self.sector.segment[beads, L.MOLECULE]

    def beads_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the bead rows of the molecules in these rows, one after the other."""
        return in_blocks(*self.first_and_count(rows))

    def state(self, beads: np.ndarray | None = None) -> State:
        """Return the State of owned beads, or of those in these rows: the starts of their present segments."""
        return self.core.state(self.owned_beads if beads is None else beads)
