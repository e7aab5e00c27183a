"""The input as the program sees it: one frozen dataclass per section, every default filled in."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from hpcchain.config.write import to_toml


@dataclass(frozen=True)
class BoxSection:
    """[box]: edge lengths and lower corner [length], and the boundary's name per axis."""

    size: tuple
    origin: tuple
    boundary: tuple


@dataclass(frozen=True, eq=False)
class MoleculeSection:
    """One [[molecule]]: `count` equal molecules of `beads` beads.

    `bond_length`, `diameter` and `mass` are one number for all or a tuple, `types` a name, a tuple of names or None;
    `bonds` is an (n, 2) int64 array for a graph and else None, `sites` (beads, 3) float64 for a rigid body;
    `propagator` is the kind's own PropagatorSection or
    None; `positions` and `velocities` are (count * beads, 3) float64 arrays or None, `orientations` (as they were
    given) (count, 4), `angular_velocities` (beads, 3); `moment` is None where it follows from mass and diameter.
    """

    name: str
    kind: str
    beads: int
    count: int
    bond_length: Any
    diameter: Any
    mass: Any
    types: Any
    arms: int | None
    arm_beads: int | None
    bonds: np.ndarray | None
    sites: np.ndarray | None
    self_contact: bool
    exclude: int
    hard: Any
    rigid: bool
    damping: float
    fixed: tuple | None
    fixed_velocity: tuple | None
    propagator: Any
    directors: bool
    moment: Any
    distance_limits: tuple
    positions: np.ndarray | None
    velocities: np.ndarray | None
    orientations: np.ndarray | None
    angular_velocities: np.ndarray | None

    @property
    def bead_types(self) -> tuple:
        """The type of each bead of a molecule, or one for all."""
        if self.types is None:
            return (self.name,)
        return (self.types,) if isinstance(self.types, str) else self.types

    @property
    def soft(self) -> Any:
        """Whether beads have no hard core: one flag for all or an array."""
        return ~np.array(self.hard, dtype=bool)

    @property
    def pinned(self) -> np.ndarray:
        """(beads,) bool: which beads are fixed."""
        found = np.zeros(self.beads, dtype=bool)
        found[list(self.fixed or ())] = True
        return found

    @property
    def is_line(self) -> bool:
        """Whether it is a rod that more than its bonds hold straight; one of two beads is an ordinary dimer."""
        return self.kind == "rod" and self.beads > 2

    @property
    def is_body(self) -> bool:
        """Whether it is a rigid body."""
        return self.kind == "rigid"

    @property
    def bond_count(self) -> int:
        """Number of bonds of one molecule."""
        if self.kind == "graph":
            return len(self.bonds)
        return self.beads if self.kind == "ring" else self.beads - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MoleculeSection):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return a == b


@dataclass(frozen=True)
class InitialSection:
    """[initial]: how the run starts.

    `method` is "grow", "explicit" or "file", `temperature` in [mass length^2 / time^2], `growth_rate` "auto" or a
    number [1 / time], `file` None or an absolute path.
    """

    method: str
    temperature: float
    seed: int
    growth_rate: Any
    file: str | None


@dataclass(frozen=True)
class PropagatorSection:
    """[propagator]; `step` is None where the propagator chooses, `contact_interval` is a width [time]."""

    name: str
    stages: int
    variant: str
    stage_solver: str
    contact_search: str
    contact_interval: float
    contact_stages: str
    solver: str
    collision: str
    step: float | None
    stretches: bool
    tolerance: float


@dataclass(frozen=True)
class ContactSection:
    """[contact]: coefficients of restitution and contact duration [time]; `pairs` are PairSections."""

    restitution: float
    tangential_restitution: float
    contact_time: float
    simultaneous: str = "joint"
    friction: float = 0.0
    pairs: tuple = ()

    @property
    def rubs(self) -> bool:
        """Whether contacts have friction, those of some pair at least."""
        return any(value not in (None, 0.0) for value in (self.friction, *(one.friction for one in self.pairs)))

    @property
    def is_rough(self) -> bool:
        """Whether contacts of beads have a tangential restitution, which makes them spin."""
        every = [self.tangential_restitution, *(one.tangential_restitution for one in self.pairs)]
        return any(value not in (None, 1.0) for value in every)


@dataclass(frozen=True)
class PairSection:
    """One [[contact.pair]]: coefficients of two types of beads, or of one and a wall; None: those of [contact]."""

    types: tuple
    restitution: float | None
    tangential_restitution: float | None
    contact_time: float | None
    friction: float | None = None


@dataclass(frozen=True)
class ExternalSection:
    """[external]: acceleration of all beads [length / time^2]."""

    gravity: tuple


@dataclass(frozen=True)
class WallSection:
    """One [[wall]]: a side of the box, or a shape; keys that it does not have are None [length], [length / time]."""

    side: str | None
    shape: str | None
    center: tuple | None
    radius: float | None
    axis: str | None
    velocity: float
    temperature: float | None
    restitution: float | None
    tangential_restitution: float | None = None


@dataclass(frozen=True)
class PotentialSection:
    """One [[potential]]; keys that its name does not have are None, as is `types` where it is for all.

    `cutoff` may be "none"; `digest` is that of the file's content, in which a run that goes on must not differ.
    """

    name: str
    types: tuple | None
    epsilon: float | None
    sigma: float | None
    cutoff: Any
    shift: bool | None
    stiffness: float | None
    length: float | None
    center: tuple | None
    file: str | None
    function: str | None
    on: str | None
    distances: tuple | None
    energies: tuple | None
    digest: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ThermostatSection:
    """[thermostat]: temperature [mass length^2 / time^2]; `damping` and `rate` [1 / time] are None for other names."""

    name: str
    temperature: float
    damping: float | None
    rate: float | None


@dataclass(frozen=True)
class StepsSection:
    """[steps]: length of a step [time] and the method."""

    step: float
    integrator: str
    base: str
    energy: str
    predictions: int
    solver: str


@dataclass(frozen=True)
class RunSection:
    """[run]; only `end_time` [time] and `engine` have an effect on results, the others are "auto" or a value."""

    end_time: float
    engine: str
    window: Any
    sectors: Any
    cell_size: Any
    list_shell: Any


@dataclass(frozen=True)
class OutputSection:
    """[output]: intervals of simulated time [time]; `checkpoint_wall_minutes` is None or a number of minutes."""

    directory: str
    frame_every: float
    report_every: float
    checkpoint_every: float
    checkpoint_wall_minutes: float | None
    keep_checkpoints: int
    events: bool


@dataclass(frozen=True)
class Config:
    """A checked input; `source` is the file's name for messages and does not count in a comparison."""

    title: str
    box: BoxSection
    molecules: tuple
    initial: InitialSection
    propagator: PropagatorSection
    contact: ContactSection
    run: RunSection
    output: OutputSection
    external: ExternalSection
    potentials: tuple = ()
    walls: tuple = ()
    steps: StepsSection | None = None
    thermostat: ThermostatSection | None = None
    source: str = field(default="input", compare=False)

    __hash__ = None

    @property
    def beads(self) -> int:
        """Number of beads of the whole system."""
        return sum(kind.beads * kind.count for kind in self.molecules)

    @property
    def is_rough(self) -> bool:
        """Whether contacts, if only those with some wall, have a tangential restitution, which makes beads spin."""
        walls = any(wall.tangential_restitution not in (None, 1.0) for wall in self.walls)
        return walls or self.contact.is_rough

    @property
    def spins(self) -> bool:
        """Whether contacts make beads spin, in either engine."""
        return self.is_rough or self.contact.rubs

    def to_toml(self) -> str:
        """Return the resolved input as text that loads back to an equal Config."""
        return to_toml(self)
