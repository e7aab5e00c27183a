"""What a run is made of: the box, the molecules, and the start state of every bead's current segment.

Layout (beads and molecules in global order, a molecule's beads contiguous):

=====================  ==============  ==============================================================
array                  shape, type     meaning
=====================  ==============  ==============================================================
Topology.first_bead    (M + 1,) int64  beads of molecule m are first_bead[m]:first_bead[m + 1]
Topology.first_bond    (M + 1,) int64  bonds of molecule m are first_bond[m]:first_bond[m + 1]
Topology.kind          (M,) int32      index of the molecule's kind in Topology.names
Topology.self_contact  (M,) bool       whether non-bonded beads of the molecule collide with each other
Topology.rod           (M,) bool       whether the beads are held on a straight line: rods of more than two beads
Topology.body          (M,) bool       whether the molecule is a rigid body, of which bonds are only drawn
Topology.flexible      (M,) bool       whether potentials hold the bonds, which are then not rigid (engine "steps")
Topology.bonds         (B, 2) int64    global bead ids, lower first; a chain's bonds in chain order
Topology.bond_length   (B,) float64    [length]
Topology.mass          (N,) float64    [mass]
Topology.diameter      (N,) float64    [length]
Topology.soft          (N,) bool       whether a bead has no hard core (engine "steps")
Topology.bead_type     (N,) int32      index of the bead's type in Topology.type_names; its molecule's kind unless given
Topology.moment        (N,) float64    moment of inertia; of a uniform sphere unless given [mass length^2]
Topology.site          (N, 3) float64  of a rigid body's beads: places about its centre of mass, along its axes [length]
Topology.exclude       (M,) int8       beads of the molecule up to so many bonds apart never collide with each other
Topology.fixed         (N,) bool       whether a bead has no motion but that which it starts with (engine "events")
=====================  ==============  ==============================================================

`BEAD_STATE` is the table of the state's arrays, one row per bead each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout.arrays import MOST_DEPTH, WHOLE_CONTACT
from hpcchain.model.physics.constants import ExtendedPhysics, SteppedPhysics, made, table_of

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.directors import Directors

PERIODIC, WALL, OPEN = 0, 1, 2

AT_START = -1
"""Depth of a segment that no event began: that of the very start."""
FOLLOWS: np.ndarray = None  # type: ignore[assignment]  # until __post_init__ has put an array in its place
"""In place of a table: it follows from others."""
WHOLE = 2**53
"""Whole numbers up to this are float64 as they are."""


@dataclass(frozen=True)
class Column:
    """One array of a bead's state: its type, columns (0: one number per bead), bounds and meaning.

    Bounds of None are those of all numbers (`config.keys.values.LARGEST`). `of_molecule`: the same for a molecule's
    beads.
    """

    name: str
    dtype: type
    columns: int
    least: float | None
    most: float | None
    of_molecule: bool
    meaning: str


BEAD_STATE = (
    Column("position", np.float64, 3, None, None, False, "at the segment's start; molecules are whole [length]"),
    Column("velocity", np.float64, 3, None, None, False, "at the segment's start [length / time]"),
    Column("image", np.int64, 3, -WHOLE, WHOLE, True, "box lengths to add to a position"),
    Column("ticks", np.float64, 0, 0.0, WHOLE, True, "whole ticks of the segment's start time"),
    Column("remainder", np.float64, 0, 0.0, None, True, "rest of the segment's start time [time]"),
    Column("depth", np.int32, 0, -1, MOST_DEPTH, True, "events chained at the segment's start; -1 at the very start"),
    Column("struck", np.bool_, 0, 0, 1, False, "whether the bead took part in the contact that started its segment"),
    Column("step", np.float64, 0, 0.0, None, True, "the molecule's running segment length; 0 = none yet [time]"),
    Column("in_contact", np.int32, 0, 0, WHOLE_CONTACT, False, "what is left of the bead's last contact"),
)
"""The arrays of State, in the order in which files have them; everything that spells a bead's state derives from it."""


@dataclass(frozen=True)
class Box:
    """An orthogonal box.

    Parameters
    ----------
    size, origin : (3,) float64 arrays
        Edge lengths and lower corner [length].
    boundary : (3,) int8 array
        PERIODIC, WALL (hard, touched by a bead's surface) or OPEN, per axis.
    """

    size: np.ndarray
    origin: np.ndarray
    boundary: np.ndarray

    @property
    def volume(self) -> float:
        """Volume [length^3]."""
        return float(np.prod(self.size))


@dataclass(frozen=True)
class Topology:
    """Which beads and bonds make which molecules; see the module's table for shapes."""

    names: tuple[str, ...]
    kind: np.ndarray
    first_bead: np.ndarray
    first_bond: np.ndarray
    bonds: np.ndarray
    bond_length: np.ndarray
    mass: np.ndarray
    diameter: np.ndarray
    self_contact: np.ndarray
    rod: np.ndarray = FOLLOWS
    flexible: np.ndarray = FOLLOWS
    soft: np.ndarray = FOLLOWS
    bead_type: np.ndarray = FOLLOWS
    exclude: np.ndarray = FOLLOWS
    moment: np.ndarray = FOLLOWS
    type_names: tuple[str, ...] = ()
    fixed: np.ndarray = FOLLOWS
    body: np.ndarray = FOLLOWS
    site: np.ndarray = FOLLOWS

    def __post_init__(self) -> None:
        for like, names in ((self.kind, ("rod", "body", "flexible")), (self.mass, ("soft", "fixed"))):
            for name in names:
                if getattr(self, name) is None:
                    object.__setattr__(self, name, np.zeros(len(like), dtype=bool))
        if self.site is None:
            object.__setattr__(self, "site", np.broadcast_to(np.zeros(3), (len(self.mass), 3)))
        if self.bead_type is None:
            fits = len(self.first_bead) == len(self.kind) + 1  # files may have what does not; checks of them follow
            types = self._kind_of_bead if fits else np.zeros(len(self.mass), dtype=np.int64)
            object.__setattr__(self, "bead_type", types)
        if self.moment is None:
            fits = np.shape(self.mass) == np.shape(self.diameter)
            object.__setattr__(self, "moment", self._uniform if fits else np.zeros(len(self.mass)))
        if self.exclude is None:
            object.__setattr__(self, "exclude", np.ones(len(self.kind), dtype=np.int8))
        if not self.type_names:
            object.__setattr__(self, "type_names", tuple(self.names))

    @property
    def _kind_of_bead(self) -> np.ndarray:
        return np.repeat(self.kind, np.diff(self.first_bead)).astype(np.int32)

    @property
    def _uniform(self) -> np.ndarray:
        return self.mass * self.diameter**2 / 10.0

    def needs(self, name: str) -> bool:
        """Return whether an optional table of this name says more than what stands without it."""
        if name == "moment":
            return not np.array_equal(self.moment, self._uniform)
        if name == "bead_type":
            return self.type_names != tuple(self.names) or not np.array_equal(self.bead_type, self._kind_of_bead)
        return bool(np.any(getattr(self, name) != (1 if name == "exclude" else 0)))

    @property
    def beads(self) -> int:
        """Number of beads N."""
        return len(self.mass)

    @property
    def inertia(self) -> np.ndarray:
        """(N,) float64: masses, infinite of beads that are fixed [mass]."""
        return np.where(self.fixed, np.inf, self.mass)

    @property
    def molecules(self) -> int:
        """Number of molecules M."""
        return len(self.kind)

    def count(self, name: str) -> int:
        """Return how many rows the table of this name has."""
        return len(getattr(self, name))

    def rows(self, name: str, low: int, high: int) -> np.ndarray:
        """Return rows low ... high - 1 of the table of this name."""
        return getattr(self, name)[low:high]

    @property
    def rigid(self) -> np.ndarray:
        """(B,) bool: whether a bond keeps its length."""
        return ~np.repeat(self.flexible, np.diff(self.first_bond))

    def whole(self) -> Topology:
        """Return the Topology, as `Composition.whole`: this one."""
        return self

    @property
    def prototypes(self) -> Topology:
        """Molecules that are like all others, as `Composition.prototypes`: all of them."""
        return self

    def prototype_of(self, beads: np.ndarray) -> np.ndarray:
        """Return the rows of `prototypes` that say what beads (n,) are like."""
        return beads

    def molecule_of(self, beads: np.ndarray) -> np.ndarray:
        """Return the molecules that beads (n,) belong to."""
        return np.searchsorted(self.first_bead, beads, side="right") - 1

    @property
    def molecule_of_bead(self) -> np.ndarray:
        """(N,) int64: the molecule that a bead belongs to."""
        return np.repeat(np.arange(self.molecules), np.diff(self.first_bead))


@dataclass
class State:
    """Start state and clock of every bead's current segment; see `BEAD_STATE`.

    `extra`, (N, columns) float64, is what runs that are extended have besides (`model.physics.extended`); no columns
    where they have nothing, or nothing is known yet. `parts`, (N, columns) float64, is the segment of a bead of a long
    chain whose parts have segments of their own (`layout.workspace`), zeros of others; no columns elsewhere.
    """

    position: np.ndarray
    velocity: np.ndarray
    image: np.ndarray
    ticks: np.ndarray
    remainder: np.ndarray
    depth: np.ndarray
    struck: np.ndarray
    step: np.ndarray
    in_contact: np.ndarray
    extra: np.ndarray = FOLLOWS
    parts: np.ndarray = FOLLOWS

    ARRAYS = (*(column.name for column in BEAD_STATE), "extra", "parts")

    def __post_init__(self) -> None:
        if self.extra is None:
            self.extra = np.zeros((len(self.position), 0))
        if self.parts is None:
            self.parts = np.zeros((len(self.position), 0))

    @classmethod
    def at_time_zero(cls, position: np.ndarray, velocity: np.ndarray) -> State:
        """Return the state of beads that all start at time 0.

        Parameters
        ----------
        position, velocity : (N, 3) float64 arrays
            [length], [length / time].
        """
        n = len(position)
        state = {each.name: np.zeros((n, each.columns) if each.columns else n, each.dtype) for each in BEAD_STATE}
        state["position"][:], state["velocity"][:] = position, velocity
        state["depth"][:] = AT_START
        return cls(**state)

    def rows(self, low: int, high: int) -> State:
        """Return the State of beads low ... high - 1, views of its arrays."""
        return State(**{name: getattr(self, name)[low:high] for name in self.ARRAYS})


@dataclass(frozen=True)
class Options:
    """Settings of a propagator by the names of the input's keys; `stretches` is a number, whatever the input says."""

    solver: str = "tridiagonal"
    collision: str = "variational"
    contact_search: str = "root"
    variant: str = "index2"
    stage_solver: str = "auto"
    contact_interval: float = 1e-4
    contact_stages: str = "falling"
    stretches: int = 0


@dataclass(frozen=True)
class KindPhysics:
    """The propagator of a kind of molecules that has one of its own; the names are those of `Physics`."""

    propagator: str
    stages: int
    step: float
    tolerance: float
    options: Options

    @classmethod
    def read(cls, table: Mapping[str, object]) -> KindPhysics:
        """Return the KindPhysics of a table, as checkpoints have it.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is no such table.
        """
        return made(cls, {**table, "options": made(Options, table_of(table["options"], "options"))})


@dataclass(frozen=True)
class Physics:
    """Constants of a run that the trajectory depends on.

    Attributes
    ----------
    tick : float
        Power-of-two unit of the clock [time].
    propagator : str
        "taylor", "collocation", "variational" or "rattle".
    stages : int
        Gauss stages of the collocation propagator.
    step : float
        Longest segment [time]; 0 = chosen by the propagator.
    tolerance : float
        Newton, bond and contact tolerance.
    restitution : float
        Normal coefficient of restitution e_n.
    contact_time : float
        How long after a contact of a bead its others conserve energy (`contact.coefficients`) [time].
    options : Options
        Further settings of the propagator.
    kinds : tuple of KindPhysics or None
        Per molecule kind, in the order of Topology.names, what it has of its own, None: nothing; empty where no kind
        has any.
    steps : SteppedPhysics or None
        What the engine of steps needs besides; None: the engine is that of events.
    extended : ExtendedPhysics
        What runs have beyond smooth hard beads.
    """

    tick: float
    propagator: str = "taylor"
    stages: int = 4
    step: float = 0.0
    tolerance: float = 1e-12
    restitution: float = 1.0
    contact_time: float = 0.0
    options: Options = Options()
    kinds: tuple[KindPhysics | None, ...] = ()
    steps: SteppedPhysics | None = None
    extended: ExtendedPhysics = ExtendedPhysics()

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Physics:
        """Return the constants of a table, as checkpoints have it.

        Raises
        ------
        ValueError, TypeError, AttributeError
            If it is no such table.
        """
        kinds = table["kinds"]
        if not isinstance(kinds, list):
            raise ValueError("kinds: are not tables of propagators")
        own = {
            "options": made(Options, table_of(table["options"], "options")),
            "kinds": tuple(None if one == {} else KindPhysics.read(one) for one in kinds),
            "steps": SteppedPhysics.read(table["steps"]),
            "extended": ExtendedPhysics.read(table["extended"]),
        }
        return made(cls, {**table, **own})

    def table(self) -> dict[str, object]:
        """Return the table of the constants, which `read` takes."""
        return asdict(self) | {
            "kinds": [{} if one is None else asdict(one) for one in self.kinds],
            "steps": {} if self.steps is None else self.steps.table(),
            "extended": self.extended.table(),
        }

    @property
    def longest_contact_time(self) -> float:
        """The longest time that contacts take of any pair of types (`contact.coefficients`) [time]."""
        own = [one.contact_time for one in self.extended.pairs]
        return max([self.contact_time, *(time for time in own if time is not None)])

    @property
    def is_elastic(self) -> bool:
        """Whether contacts keep the energy, that of spins included."""
        if self.steps and self.steps.integrator == "contact":
            return False
        normal = [self.restitution, *(one.restitution for one in self.extended.pairs)]
        if self.steps:
            normal += [*(one.restitution for one in self.steps.pairs), *self.steps.walls.values()]
        tangential = [one.tangential_restitution for one in self.extended.pairs]
        if self.extended.rough:
            tangential.append(self.extended.rough.tangential_restitution)
        return all(e in (None, 1.0) for e in normal) and all(e in (None, 1.0, -1.0) for e in tangential)

    def of(self, kind: int) -> Physics:
        """Return the Physics of the molecules of a kind, given by its number."""
        if not self.kinds:
            return self
        own = self.kinds[kind]
        return replace(self, kinds=(), **({} if own is None else vars(own)))

    def every(self) -> list[Physics]:
        """Return the Physics of all kinds, the run's own alone where no kind has any of its own."""
        return [self.of(kind) for kind in range(len(self.kinds))] or [self]


@dataclass
class System:
    """Everything that decides a trajectory; on several ranks each may have a part of the state alone.

    Attributes
    ----------
    box : Box
    topology : Topology or Composition
        Of all molecules.
    state : State
    physics : Physics
    held : (k,) int64 array, optional
        The molecules that the state has, in ascending order, when it has not all: each is then on one rank.
    directors : hpcchain.model.directors.Directors, optional
        Of spheres that carry an orientation; contacts exert no torque, so it decides it at all times.
    """

    box: Box
    topology: Topology | Composition
    state: State
    physics: Physics
    held: np.ndarray | None = None
    directors: Directors | None = None
