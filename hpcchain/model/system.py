"""What a run is made of: the box, the molecules, and the start state of every bead's current segment.

Beads and molecules stand in global order, a molecule's beads and bonds one after another. `TOPOLOGY` is the
table of the arrays that say what they are, `BEAD_STATE` that of the state's arrays, one row per bead each; whatever
spells these arrays derives from the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout.arrays import MOST_DEPTH, WHOLE_CONTACT
from hpcchain.model.physics.constants import Acting, ExtendedPhysics, SteppedPhysics

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.directors import Directors

PERIODIC, WALL, OPEN = 0, 1, 2
BOUNDARIES = ("periodic", "wall", "open")
"""What the input calls them."""

AT_START = -1
"""Depth of a segment that no event began: that of the very start."""
FOLLOWS: np.ndarray = None  # type: ignore[assignment]  # until __post_init__ has put an array in its place
"""In place of a table: it follows from others."""
WHOLE = 2**53
"""Whole numbers up to this are float64 as they are."""
MOST_IMAGES = 2**30 - 1
"""Box lengths from image 0: what the engine of events counts."""


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
    Column("image", np.int64, 3, -MOST_IMAGES, MOST_IMAGES, True, "box lengths to add to a position"),
    Column("ticks", np.float64, 0, 0.0, WHOLE, True, "whole ticks of the segment's start time"),
    Column("remainder", np.float64, 0, 0.0, None, True, "rest of the segment's start time [time]"),
    Column("depth", np.int32, 0, -1, MOST_DEPTH, True, "events chained at the segment's start; -1 at the very start"),
    Column("struck", np.bool_, 0, 0, 1, False, "whether the bead took part in the contact that started its segment"),
    Column("step", np.float64, 0, 0.0, None, True, "the molecule's running segment length; 0 = none yet [time]"),
    Column("in_contact", np.int32, 0, 0, WHOLE_CONTACT, False, "what is left of the bead's last contact"),
)
"""The arrays of State, in the order in which files have them."""

WHICH, BEADS, BONDS, MOLECULES = range(4)
"""What a table of a Topology is about: which beads and bonds are whose, or properties with a row for each of these."""


@dataclass(frozen=True)
class Table:
    """One array of a Topology: its type, columns (0: one number a row), what it is about, and its meaning."""

    name: str
    dtype: type
    columns: int
    about: int
    meaning: str


TOPOLOGY = (
    Table("kind", np.int32, 0, WHICH, "of a molecule: index of its kind in `names`"),
    Table("first_bead", np.int64, 0, WHICH, "beads of molecule m are first_bead[m]:first_bead[m + 1]"),
    Table("first_bond", np.int64, 0, WHICH, "bonds of molecule m are first_bond[m]:first_bond[m + 1]"),
    Table("bonds", np.int64, 2, WHICH, "global bead ids, lower first; a chain's bonds in chain order"),
    Table("bond_length", np.float64, 0, BONDS, "[length]"),
    Table("mass", np.float64, 0, BEADS, "[mass]"),
    Table("diameter", np.float64, 0, BEADS, "[length]"),
    Table("self_contact", np.bool_, 0, MOLECULES, "whether non-bonded beads of it collide with each other"),
    Table("rod", np.bool_, 0, MOLECULES, "whether its beads, more than two, are held on a straight line"),
    Table("flexible", np.bool_, 0, MOLECULES, 'whether potentials hold its bonds, not rigid (engine "steps")'),
    Table("soft", np.bool_, 0, BEADS, 'whether it has no hard core (engine "steps")'),
    Table("bead_type", np.int32, 0, BEADS, "index of its type in `type_names`; its molecule's kind unless given"),
    Table("exclude", np.int8, 0, MOLECULES, "beads of it up to so many bonds apart never collide"),
    Table("moment", np.float64, 0, BEADS, "of inertia; a uniform sphere's unless given [mass length^2]"),
    Table("fixed", np.bool_, 0, BEADS, 'whether it moves only as it starts (engine "events")'),
    Table("body", np.bool_, 0, MOLECULES, "whether it is a rigid body, of which bonds are only drawn"),
    Table("site", np.float64, 3, BEADS, "a body's: from its centre of mass, along its axes [length]"),
)
"""The arrays of Topology."""


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

    @property
    def periodic(self) -> np.ndarray:
        """(3,) bool: along which axes it is periodic."""
        return self.boundary == PERIODIC

    @property
    def period(self) -> np.ndarray:
        """(3,) float64: edge lengths, 0 along axes that are not periodic [length]."""
        return np.where(self.periodic, self.size, 0.0)


def images_between(vectors: np.ndarray, size: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    """Return by how many box lengths (n, 3) vectors differ from those to the nearest image; 0 along other sides."""
    return np.where(periodic, np.rint(vectors / size), 0.0)


@dataclass(frozen=True)
class Topology:
    """What some molecules are, numbered from 0: the arrays of `TOPOLOGY`, and names of kinds and of beads' types.

    `Composition` says it of all molecules of a system; its `whole` and `part` are such tables.
    """

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
        for table in TOPOLOGY:
            if getattr(self, table.name) is None:
                object.__setattr__(self, table.name, self._without(table))
        if not self.type_names:
            object.__setattr__(self, "type_names", tuple(self.names))

    def _without(self, table: Table) -> np.ndarray:
        """Return what stands in place of a table that is not given."""
        if table.name == "bead_type":
            return np.repeat(self.kind, np.diff(self.first_bead)).astype(table.dtype)
        if table.name == "moment":
            return self.mass * self.diameter**2 / 10.0
        rows = len(self.mass if table.about == BEADS else self.kind)
        if table.columns:
            return np.broadcast_to(np.zeros(table.columns), (rows, table.columns))
        return np.full(rows, table.name == "exclude", dtype=table.dtype)

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

    @property
    def rigid(self) -> np.ndarray:
        """(B,) bool: whether a bond keeps its length."""
        return ~np.repeat(self.flexible, np.diff(self.first_bond))

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

    @classmethod
    def of_start(cls, position: np.ndarray, velocity: np.ndarray) -> State:
        """Return `at_time_zero` of what a run starts with, in which no 0 has a sign.

        An impulse without a part along an axis is added to one bead and taken from the other: that leaves 0 as it is,
        but makes 0 of -0 or not. Which bead is which depends on the ranks.
        """
        return cls.at_time_zero(position + 0.0, velocity + 0.0)

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
    """How molecules move between contacts: those of a kind that has a propagator of its own, or of a run.

    Attributes
    ----------
    propagator : str
        "taylor", "collocation", "variational" or "rattle".
    stages : int
        Gauss stages of the collocation propagator.
    step : float
        Longest segment [time]; 0 = chosen by the propagator.
    tolerance : float
        Newton, bond and contact tolerance.
    options : Options
        Further settings of the propagator.
    """

    propagator: str = "taylor"
    stages: int = 4
    step: float = 0.0
    tolerance: float = 1e-12
    options: Options = Options()


@dataclass(frozen=True, kw_only=True)
class Physics(KindPhysics):
    """Constants of a run that the trajectory depends on.

    Attributes
    ----------
    tick : float
        Power-of-two unit of the clock [time].
    restitution : float
        Normal coefficient of restitution e_n.
    contact_time : float
        How long after a contact of a bead its others conserve energy (`contact.coefficients`) [time].
    kinds : tuple of KindPhysics or None
        Per molecule kind, in the order of Topology.names, what it has of its own, None: nothing; empty where no kind
        has any.
    steps : SteppedPhysics or None
        What the engine of steps needs besides; None: the engine is that of events.
    extended : ExtendedPhysics
        What runs have beyond smooth hard beads.
    """

    tick: float
    restitution: float = 1.0
    contact_time: float = 0.0
    kinds: tuple[KindPhysics | None, ...] = ()
    steps: SteppedPhysics | None = None
    extended: ExtendedPhysics = ExtendedPhysics()

    @property
    def longest_contact_time(self) -> float:
        """The longest time that contacts take of any pair of types (`contact.coefficients`) [time]."""
        return max([self.contact_time, *(one.contact_time or 0.0 for one in self.acting.pairs)])

    @property
    def acting(self) -> Acting:
        """What the run's engine has, be it of events or of steps."""
        return self.steps or self.extended

    @property
    def is_elastic(self) -> bool:
        """Whether contacts keep the energy, that of spins included."""
        if self.steps and self.steps.integrator == "contact":
            return False
        normal = [self.restitution, *(one.restitution for one in self.acting.pairs)]
        tangential = [one.tangential_restitution for one in self.acting.pairs]
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
    topology : Composition
        Of all molecules.
    state : State
    physics : Physics
    held : (k,) int64 array, optional
        The molecules that the state has, in ascending order, when it has not all: each is then on one rank.
    directors : hpcchain.model.directors.Directors, optional
        Of spheres that carry an orientation; contacts exert no torque, so it decides it at all times.
    """

    box: Box
    topology: Composition
    state: State
    physics: Physics
    held: np.ndarray | None = None
    directors: Directors | None = None
