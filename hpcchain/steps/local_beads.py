"""The beads of one rank in steps, and ghosts: places, lists of neighbours, forces; all that ranks send each other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.composition import running_sum
from hpcchain.parallel.ghosts.migration import Migration
from hpcchain.parallel.ghosts.molecules import MoleculeSet
from hpcchain.steps import motion
from hpcchain.steps.contacts.clusters import NONE, Pool, together
from hpcchain.steps.domain import first_share, local_beads
from hpcchain.steps.failures import raise_pushed, raise_worst
from hpcchain.steps.potentials.interactions import Interactions
from hpcchain.steps.potentials.laws import passes_of
from hpcchain.steps.rigid.molecules import RigidMolecules
from hpcchain.steps.skin import Skin

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.parallel.agreement import Ranks
    from hpcchain.steps.contacts.finding import ContactFinder
    from hpcchain.steps.potentials.constants import Constants

REBUILDS_BETWEEN_OWNERS = 8
"""Times that lists are made anew between hand-overs of molecules to the ranks whose sectors they are in. Ghosts are
chosen by where own beads are, so a molecule that has left its sector a little costs a few ghosts more."""
PHASES = ("motion", "forces", "lists", "contacts", "messages")
"""Of a step, for `seconds`: motion is all that is in no other phase."""


def timed(phase: str) -> Callable:
    """Return a decorator of a method whose wall seconds count for a phase in its object's `seconds`.

    What other timed methods take that it calls is theirs alone.
    """

    def decorated(method: Callable) -> Callable:
        @wraps(method)
        def call(self: Any, *args: Any, **options: Any) -> Any:
            begin, others = perf_counter(), sum(self.seconds.values())
            try:
                return method(self, *args, **options)
            finally:
                self.seconds[phase] += perf_counter() - begin - (sum(self.seconds.values()) - others)

        return call

    return decorated


class Clock:
    """Whole steps since time 0.

    Parameters
    ----------
    h : float
        Length of a step [time].

    Attributes
    ----------
    step : Fraction
        The same, exactly as the input has it.
    steps : int
    span : (float, float)
        When the step begins and ends that was begun last [time].
    """

    def __init__(self, h: float) -> None:
        self.h, self.step, self.steps, self.span = h, Fraction(repr(h)), 0, (0.0, h)

    @property
    def time(self) -> float:
        """The time that is reached [time]."""
        return float(self.steps * self.step)

    def begin(self) -> None:
        """Set the span of the step that begins now."""
        self.span = self.time, float((self.steps + 1) * self.step)


class LocalBeads:
    """Own beads and ghosts; most methods are collective.

    Parameters
    ----------
    system, comm, skin, sectors :
        See `SteppedEngine`.
    constants : Constants
    clock : Clock
    finder : ContactFinder or None
        Is given local beads and their lists, where there are hard cores.

    Attributes
    ----------
    molecules, ids : (k,), (m,) int64 arrays
        Own molecules and their beads, by global number, ascending.
    own : State
        Of these beads; positions are those of when lists were made.
    position, local : (n, 3) float64, (m,) int64 arrays
        Of local beads, own ones and ghosts by global number [length]; which of them are own.
    first, force : (k + 1,) int64, (m, 3) float64 arrays
        Where own molecules begin among own beads; the forces on these.
    dragged : int64 array
        Own beads that are fixed and move.
    stale : bool
        Whether beads have moved that other ranks have as ghosts, and do not know of it.
    torn, stuck : tuple or None
        A bond that is torn; the first own bead of a molecule that has no next step, and why.
    seconds : dict of str -> float
        Wall seconds in PHASES.
    """

    def __init__(
        self,
        system: System,
        constants: Constants,
        comm: Ranks,
        skin: float | None,
        sectors: tuple | list | None,
        clock: Clock,
        finder: ContactFinder | None,
    ) -> None:
        self.comm, self.clock, self.finder = comm, clock, finder
        self.box, self.composition = system.box, constants.composition
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.rebuilds = 0
        self.torn: tuple | None = None
        self.stuck: tuple | None = None
        self.rigid = RigidMolecules(self.composition)
        self.skin = Skin(system, constants, comm, skin)
        self.interactions = Interactions(self.box, constants, passes_of(constants, comm))
        held = first_share(system, comm)
        self.migration = Migration(self.box, self.composition, comm, sectors, held)
        self._take(held)

    def _take(self, held: MoleculeSet) -> None:
        """Have these molecules for own ones."""
        self.molecules, self.own = held.molecule_ids, held.state
        self.ids = self.composition.beads_of(self.molecules)
        self.first = running_sum(self.composition.size_of(self.molecules))

    @timed("lists")
    def rebuild(self) -> None:
        """Choose ghosts and list neighbours anew, and hand molecules over now and then."""
        if self.rebuilds % REBUILDS_BETWEEN_OWNERS == 0:
            if self.comm.size > 1:
                self._take(self.migration.settled(MoleculeSet(self.molecules, self.own, self.own.position)))
            self.skin.fit(self.own.position[self.first[:-1]])
        self.rebuilds += 1
        radius = self.skin.list_radius
        ids, self.position, self.local, self.refresh = local_beads(
            self.box, self.comm, self.ids, self.own.position, radius
        )
        self.stale = False
        self.skin.start(self.own.position, self.own.velocity, self.clock.h)
        self.free = self.rigid.set_molecules(self.molecules, self.first)
        fixed = self.composition.prototypes.fixed[self.composition.prototype_of(self.ids)]
        self.dragged = np.flatnonzero(fixed & np.any(self.own.velocity != 0.0, axis=1))
        self.interactions.set_beads(ids, self.local, self.position, radius)
        if self.finder:
            self.finder.set_beads(self.interactions)

    @timed("forces")
    def compute(self, position: np.ndarray | None = None) -> None:
        """Compute the forces on own beads where they are, or where local ones would be at other places (n, 3)."""
        position = self.position if position is None else position
        self.force, (row, entry) = self.interactions.forces(position, self.own.image)
        self.torn = None
        if row >= 0:
            other = self.interactions.ids[self.interactions.bonds.partner[entry]]
            self.torn = tuple(sorted((int(self.ids[row]), int(other))))

    @timed("messages")
    def place_ghosts(self) -> None:
        """Bring the ghosts to where their owners have them."""
        self.refresh(self.position)
        self.stale = False

    def pool(self, place: np.ndarray, velocity: np.ndarray, extra: np.ndarray, links: np.ndarray = NONE) -> Pool:
        """Return the Pool of own molecules at places and with velocities (m, 3), with the present forces."""
        return Pool(self.molecules, self.ids, self.first, place, velocity, self.force, extra, links)

    def kick(self, time: float) -> None:
        """Give own beads the velocity of so long a time of their forces."""
        motion.kick(self.own.velocity, self.force, self.interactions.mass, time)

    def project(self, chosen: np.ndarray | None = None) -> None:
        """Take out of velocities what would change bonds, of all molecules or of those that begin in these rows."""
        self.rigid.project(self.position, self.local, self.own.velocity, chosen)

    def move(self) -> None:
        """Move own beads by their velocities for a step; bonds keep their lengths."""
        motion.drift(self.position, self.local, self.own.velocity, self.clock.h, self.free)
        self.stale = True
        self.stuck = self.rigid.move(self.position, self.local, self.own.velocity, self.clock.h)

    def wrap(self) -> None:
        """Bring molecules back that have left the box."""
        size, own = self.interactions.images.size, self.own
        if motion.wrap(self.position, self.skin.reference, own.image, self.local, self.first, self.box.origin, size):
            self.stale = True

    def put(self, ids: np.ndarray, place: np.ndarray | None, velocity: np.ndarray) -> None:
        """Set places, where they are given, and velocities of those of some beads that are own."""
        mine = np.isin(ids, self.ids)
        rows = np.searchsorted(self.ids, ids[mine])
        if place is not None:
            self.position[self.local[rows]], self.stale = place[mine], True
        self.own.velocity[rows] = velocity[mine]

    def have_moved_far(self) -> bool:
        """Return whether a bead of any rank may come near one that is not listed."""
        # `stale` is then whether any rank has moved beads of which others do not know.
        moved = self.skin.way(self.position, self.local)
        wrong = float(self.torn is not None or self.stuck is not None or not np.isfinite(moved))
        greatest = self.comm.maximum(np.array([moved if np.isfinite(moved) else 0.0, wrong, float(self.stale)]))
        moved, wrong = greatest[:2]
        self.stale = bool(greatest[2] > 0.0)
        if wrong > 0.0:
            self._fail()
        return self.skin.is_left(moved)

    def farthest_way(self) -> float:
        """Return how far an own bead has moved since lists were made, squared [length^2]; 0 if that is no number."""
        moved = self.skin.way(self.position, self.local)
        return moved if np.isfinite(moved) else 0.0

    def list_anew(self, before: np.ndarray, velocity: np.ndarray, wider: bool) -> None:
        """Make lists anew at a step's beginning, to which beads go back.

        `wider`: so wide that beads may move as far as one has moved by now.
        """
        if wider:
            self.skin.widen(self.clock.time, self.clock.h, self._farthest_moved())
        self.own.position, self.own.velocity = before[self.local], velocity
        self.rebuild()
        self.skin.carry_on()
        self.compute()

    def _farthest_moved(self) -> int:
        """Return the bead that has moved farthest since lists were made, of all ranks'."""
        moved = np.sum((self.position[self.local] - self.skin.reference) ** 2, axis=1)
        bead = (float(moved.max()), -int(self.ids[np.argmax(moved)])) if len(moved) else (-1.0, 0)
        return -max(self.comm.allgather(bead))[1]

    def bring_up_to_date(self, resting: np.ndarray = NONE) -> np.ndarray:
        """Bring lists or ghosts to where beads are; return contacts at rest, dealt out anew with molecules.

        Ghosts are placed anew only where, on some rank, beads have moved since they were.
        """
        if not self.have_moved_far():
            if self.stale:
                self.place_ghosts()
            return resting
        self.own.position = self.position[self.local]
        self.rebuild()
        every = together(*self.comm.allgather(resting))
        beads = np.where(every < 0, every[:, :1], every)
        return every[np.isin(self.composition.molecule_of(beads), self.molecules).any(axis=1)]

    def require_sound(self) -> None:
        """Raise on every rank when a bond is torn on one, or a force is not a number."""
        wrong = self.torn is not None or not np.isfinite(self.force).all()
        if self.comm.maximum(np.array([float(wrong)]))[0] > 0.0:
            self._fail()

    def require_gentle(self) -> None:
        """Raise on every rank when forces, beyond springs, move a bead too far in a first step; see `raise_pushed`.

        That is by half of its diameter, or of sigma if that is more. What bonds hold moves as a whole.
        """
        acting, width = self.interactions, self.interactions.constants.width
        if width == 0.0:
            return
        rigid = ~self.composition.prototypes.flexible
        size = np.diff(self.first)
        whole = np.repeat(rigid[self.composition.class_of(self.molecules)], size)
        total = np.repeat(np.add.reduceat(self.force, self.first[:-1]), size, axis=0)
        weight = np.repeat(np.add.reduceat(acting.mass, self.first[:-1]), size)
        force, mass = np.where(whole[:, None], total, self.force), np.where(whole, weight, acting.mass)
        moved = 0.5 * self.clock.h**2 * np.sqrt(np.sum(force**2, axis=1)) / mass
        diameter = self.composition.prototypes.diameter[self.composition.prototype_of(self.ids)]
        share = moved / (0.5 * np.maximum(diameter, width))
        worst = int(np.argmax(share)) if len(share) else -1
        mine = (float(share[worst]), -int(self.ids[worst]), float(moved[worst])) if len(share) else (0.0, 0, 0.0)
        most, bead, way = max(self.comm.allgather(mine))
        if most > 1.0:
            raise_pushed(-bead, way, self.clock.h, most)

    def _fail(self) -> None:
        """Raise what has gone wrong on some rank, on every one."""
        stuck = None if self.stuck is None else (int(self.ids[self.stuck[0]]), self.stuck[1])
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (self.position[self.local] - self.skin.reference) ** 2
        bad = self.ids[~np.isfinite(self.force + moved).all(axis=1)]
        raise_worst(self.comm, self.clock.time, self.torn, stuck, bad)
