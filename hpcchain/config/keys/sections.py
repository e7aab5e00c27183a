"""The input as the program sees it: one frozen dataclass per section, whose fields declare its keys.

A key is declared by its field alone: reading, writing, messages, the manual and ranges of units follow from that. The
manual has them in the order in which they stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.key import ABSENT, FOLLOWS, MOST_BEADS, REQUIRED, Section, key, numbered
from hpcchain.config.keys.values import (
    EDGES,
    LENGTHS,
    MASSES,
    PLACES,
    SPEEDS,
    TIMES,
    Axes,
    Choice,
    Each,
    Flag,
    Inline,
    Integer,
    Named,
    Number,
    OrList,
    OrSizes,
    OrWord,
    Oscillation,
    Rows,
    Shares,
    Spread,
    Text,
    Value,
)
from hpcchain.config.write import to_toml
from hpcchain.layout.arrays import SIDE_NAMES
from hpcchain.model.molecules.bonds import bond_table
from hpcchain.model.physics.constants import DistanceLimit
from hpcchain.propagators.catalogue import DEFAULT, PROPAGATORS, STAGE_SOLVERS, VARIANTS, choices, users_of

POSITIVE, TIME = Number(above=0.0), Number(above=0.0, tried=TIMES)
LENGTH, PLACE = Number(above=0.0, tried=LENGTHS), Number(tried=PLACES)
NORMAL, TANGENTIAL = Number(least=0.0, most=1.0), Number(least=-1.0, most=1.0)
NAME, BEADS = Text(empty=False), Integer(1, MOST_BEADS)
ROUND = ("sphere", "cylinder")
AUTO: tuple[Literal["auto"], ...] = ("auto",)
NONE: tuple[Literal["none"], ...] = ("none",)
AUTO_OR_ALL: tuple[Literal["auto", "all"], ...] = ("auto", "all")
OF_BEADS = ("diameter", "mass", "hard", "types", "moment")
"""Keys of [[molecule]] with one value for all beads, or one for each."""


@dataclass(frozen=True, kw_only=True)
class BoxSection(Section):
    """[box]: edge lengths and lower corner [length], and the boundary's name per axis."""

    section = "box"
    size: tuple[float, ...] = key(
        FOLLOWS, Axes(Number(above=0.0, tried=EDGES)), "edge lengths [length]; required, or else:"
    )
    packing_fraction: float | None = key(
        ABSENT,
        Number(above=0.0, most=1.0),
        "in place of size: a cube that the spheres of all beads fill to this fraction",
    )
    origin: tuple[float, ...] = key((0.0, 0.0, 0.0), Each(PLACE, 3), "lower corner [length]")
    boundary: tuple[str, ...] = key(
        ("periodic",) * 3, Axes(Choice(("periodic", "wall", "open"))), "boundary of each axis"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class MoleculeSection(Section):
    """One [[molecule]]: `count` equal molecules of `beads` beads.

    `bond_length`, `diameter` and `mass` are one number for all or a tuple. `types` is a name, a tuple of names or None.
    `bonds` is an (n, 2) int64 array for a graph and else None, `sites` (beads, 3) float64 for a rigid body.
    `propagator` is the kind's own PropagatorSection or None. `positions` and `velocities` are (count * beads, 3)
    float64 arrays or None, `orientations` (as they were given) (count, 4), `angular_velocities` (beads, 3). `moment` is
    None where it follows from mass and diameter. `sizes` is what the input says of diameters where this is one of the
    kinds of equal molecules that one table stands for (`config.sizes`).
    """

    section, chooser = "molecule", "kind"
    name: str = key(FOLLOWS, NAME, "name of the kind; A, B, … when left out")
    kind: str = key(
        REQUIRED,
        Choice(("monomer", "chain", "ring", "star", "graph", "rod", "rigid")),
        "how bonds join the beads; rod: like a chain, but on a rigid straight line; rigid: a body of any shape",
    )
    beads: int = key(FOLLOWS, BEADS, "beads of one molecule (chain, ring, graph, rod)")
    count: int = key(1, BEADS, "number of molecules of this kind")
    bond_length: float | tuple[float, ...] = key(
        1.0, OrList(LENGTH), "bond length, or one per bond; rod: distances of neighbours along it [length]"
    )
    diameter: float | tuple[float, ...] = key(
        1.0,
        cast("Value[float | tuple[float, ...]]", OrSizes(LENGTH)),
        "bead diameter, or one per bead, or what beads' diameters are spread over [length]",
    )
    mass: float | tuple[float, ...] = key(
        1.0, OrList(Number(above=0.0, tried=MASSES)), "bead mass, or one per bead [mass]"
    )
    types: str | tuple[str, ...] | None = key(
        ABSENT,
        OrList(NAME),
        "type of the beads, or one per bead; tables of pairs go by types; the molecule's name when left out",
    )
    arms: int | None = key(ABSENT, BEADS, "star: number of arms; bead 0 is the centre", of=("star",))
    arm_beads: int | None = key(ABSENT, BEADS, "star: beads of one arm", of=("star",))
    bonds: NDArray[np.int64] | None = key(
        ABSENT, Rows(2, np.int64), "graph: pairs of bonded beads, counted from 0", of=("graph",)
    )
    sites: NDArray[np.float64] | None = key(
        ABSENT,
        Rows(3, np.float64, tried=PLACES),
        "rigid: where the body's beads are, in any frame, three or more and not on a line; they never collide with one "
        "another [length]",
        of=("rigid",),
    )
    self_contact: bool = key(
        True,
        Flag(),
        "whether beads of one molecule collide with each other and, in the engine of events, have potentials of pairs; "
        "those of a rod or a rigid body never do",
    )
    exclude: int = key(
        1,
        Integer(1, 3),
        "beads of one molecule that are up to so many bonds apart never collide with each other, and have no potential "
        "of pairs",
    )
    hard: bool | tuple[bool, ...] = key(
        True, OrList(Flag()), 'engine "steps": whether the beads have a hard core, of their diameter; or one per bead'
    )
    rigid: bool = key(
        True, Flag(), 'engine "steps": whether bonds keep their lengths; false: bond potentials hold them'
    )
    damping: float = key(
        0.0, Number(least=0.0), 'engine "steps": linear friction of the beads, which takes energy out [1 / time]'
    )
    fixed: tuple[int, ...] | None = key(
        ABSENT,
        Each(Integer(0, MOST_BEADS)),
        "beads, counted from 0, that stay where they start; they count no degrees of freedom",
    )
    fixed_velocity: tuple[float, ...] | None = key(
        ABSENT, Each(Number(tried=SPEEDS), 3), "monomer: velocity at which fixed ones move instead [length / time]"
    )
    propagator: PropagatorSection | None = key(
        ABSENT,
        cast("Value[PropagatorSection]", Inline("propagator")),
        'this kind\'s own, for example { name = "rattle", step = 0.05 }; keys left out are those of [propagator] if '
        "it has the same name, else the defaults",
    )
    directors: bool = key(False, Flag(), "monomer: whether they are rigid spheres that carry an orientation and spin")
    moment: float | tuple[float, ...] | None = key(
        ABSENT,
        OrList(POSITIVE),
        "of beads that spin: moment of inertia, or one per bead; mass × diameter^2 / 10, of uniform density, when left "
        "out [mass length^2]",
    )
    distance_limits: tuple[DistanceLimit, ...] = key(
        (),
        Each(Named(DistanceLimit, (Integer(2), Number(least=0.0), LENGTH))),
        'engine "events": distances of beads so many bonds apart are kept between least and most, for example '
        "[{ separation = 2, least = 1.2, most = 1.9 }] [length]",
    )
    positions: NDArray[np.float64] | None = key(
        ABSENT,
        Rows(3, np.float64, tried=PLACES),
        "explicit start: count × beads rows, bond lengths right to 1e-9 relative [length]",
    )
    velocities: NDArray[np.float64] | None = key(
        ABSENT,
        Rows(3, np.float64, tried=SPEEDS),
        "explicit start: count × beads rows; of all kinds or none, else drawn at the temperature [length / time]",
    )
    orientations: NDArray[np.float64] | None = key(
        ABSENT,
        Rows(4, np.float64),
        "directors, explicit start: count rows, unit quaternions; [1, 0, 0, 0] when left out",
    )
    angular_velocities: NDArray[np.float64] | None = key(
        ABSENT, Rows(3, np.float64), "beads that spin, explicit start: a row a bead; 0 when left out [1 / time]"
    )
    sizes: Spread | Shares | None = None

    @property
    def bead_types(self) -> tuple[str, ...]:
        """The type of each bead of a molecule, or one for all."""
        if self.types is None:
            return (self.name,)
        return (self.types,) if isinstance(self.types, str) else self.types

    @property
    def soft(self) -> NDArray[np.bool_]:
        """Whether beads have no hard core: one flag for all, an array () or (beads,)."""
        return np.asarray(~np.array(self.hard, dtype=bool))

    @property
    def pinned(self) -> NDArray[np.bool_]:
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
        if self.bonds is not None:
            return len(self.bonds)
        return self.beads if self.kind == "ring" else self.beads - 1

    @property
    def bond_table(self) -> NDArray[np.int64]:
        """(bonds, 2): the bonds of one molecule, lower beads first; those of a rigid body are only drawn."""
        return bond_table(self.beads, self.bonds, self.sites, self.arm_beads, closed=self.kind == "ring")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MoleculeSection):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # arrays and what users change have none


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return bool(a == b)


@dataclass(frozen=True, kw_only=True)
class InitialSection(Section):
    """[initial]: how the run starts.

    `method` is "grow", "explicit" or "file", `temperature` in [mass length^2 / time^2], `growth_rate` "auto" or a
    number [1 / time], `file` None or an absolute path.
    """

    section = "initial"
    method: str = key(
        "grow",
        Choice(("grow", "explicit", "file")),
        "where the initial configuration comes from; left out: file with initial.file, explicit with positions",
    )
    temperature: float = key(
        1.0,
        POSITIVE,
        "temperature of velocities that are drawn (grow, explicit starts without, copies) and of random spins "
        "[mass length^2 / time^2]",
    )
    seed: int = key(1, Integer(0), "seed of every random number")
    growth_rate: float | Literal["auto"] = key(
        "auto", OrWord(POSITIVE, AUTO), "grow: growth of the contact distances, relative to full size [1 / time]"
    )
    file: str | None = key(
        ABSENT, NAME, "method file: what `hpcchain build` made, or a checkpoint, relative to the input file"
    )


@dataclass(frozen=True, kw_only=True)
class PropagatorSection(Section):
    """[propagator]; `step` is None where the propagator chooses, `contact_interval` is a width [time]."""

    section = "propagator"
    name: str = key(
        DEFAULT, Choice(tuple(PROPAGATORS)), "how free motion is computed; rods fly exactly under all but rattle"
    )
    stages: int = key(4, Integer(1, 12), "collocation: Gauss stages", of=users_of("stages"))
    variant: str = key(
        next(iter(VARIANTS)),
        Choice(tuple(VARIANTS)),
        "collocation: form of the constraints; paper: as printed by Hartmann et al. 2009, of low order",
        of=users_of("variant"),
    )
    stage_solver: str = key(
        "auto",
        Choice(("auto", *STAGE_SOLVERS)),
        "collocation: how the stages are solved; fixed-point is index1's, newton exact and slow",
        of=users_of("stage_solver"),
    )
    contact_search: str = key(
        choices("contact_searches")[0],
        Choice(choices("contact_searches")),
        "contact times by root, or as in the papers: collocation by nested intervals, rattle by bisection",
        of=users_of("contact_search"),
    )
    contact_interval: float = key(
        1e-4, TIME, "nested: width of the last interval [time]", of=users_of("contact_interval")
    )
    contact_stages: str = key(
        "falling",
        Choice(("falling", "all")),
        "nested: one stage fewer in each interval, as printed, or all in each",
        of=users_of("contact_stages"),
    )
    solver: str = key(
        choices("solvers")[0],
        Choice(choices("solvers")),
        "solver of a step; variational: first three, rattle: first and last two",
        of=users_of("solver"),
    )
    collision: str = key(
        choices("laws")[0],
        Choice(choices("laws")),
        "variational: law of contacts, of the discrete energy or of the exact impulse",
        of=users_of("collision"),
    )
    step: float | None = key(
        ABSENT,
        TIME,
        "longest segment; taylor chooses when left out; at most d (m / kT)^1/2 / 4 while a start grows [time]",
    )
    stretches: int | Literal["auto"] = key(
        "auto",
        OrWord(Integer(switch=True), AUTO),
        "taylor: chains of so many beads and more move in stretches, what a contact reaches; true: all that can, of 24 "
        "and more; false or 0: none does",
        of=users_of("stretches"),
    )
    tolerance: float = key(1e-12, Number(above=0.0, most=1e-3), "Newton, bond and contact tolerance")


@dataclass(frozen=True, kw_only=True)
class ContactSection(Section):
    """[contact]: coefficients of restitution and contact duration [time]; `pairs` are PairSections."""

    section = "contact"
    restitution: float = key(1.0, NORMAL, "normal coefficient of restitution")
    tangential_restitution: float = key(
        1.0,
        TANGENTIAL,
        "tangential coefficient of restitution; 1 = smooth, -1 = perfectly rough; beads spin unless it is 1",
    )
    contact_time: float = key(
        0.0,
        Number(least=0.0, tried=TIMES),
        "a second contact of a bead within this time of its last one is elastic (TC model) [time]",
    )
    simultaneous: str = key(
        "joint",
        Choice(("joint", "generalised", "moreau")),
        "contacts at one instant, one impulse each; joint: those of two molecules that meet and approach; generalised: "
        'of all that hang together; moreau: with those at rest; engine "steps": joint is generalised',
    )
    friction: float = key(
        0.0,
        Number(least=0.0),
        'Coulomb\'s coefficient, of beads and walls; engine "steps", integrator "contact"; beads spin unless it is 0',
    )
    pairs: tuple[PairSection, ...] = ()

    @property
    def rubs(self) -> bool:
        """Whether contacts have friction, those of some pair at least."""
        return any(value not in (None, 0.0) for value in (self.friction, *(one.friction for one in self.pairs)))

    @property
    def is_rough(self) -> bool:
        """Whether contacts of beads have a tangential restitution, which makes them spin."""
        every = [self.tangential_restitution, *(one.tangential_restitution for one in self.pairs)]
        return any(value not in (None, 1.0) for value in every)


@dataclass(frozen=True, kw_only=True)
class PairSection(Section):
    """One [[contact.pair]]: coefficients of two types of beads, or of one and a wall; None: those of [contact]."""

    section = "contact.pair"
    types: tuple[str, ...] = key(
        REQUIRED, Each(NAME, 2), 'two types of beads; "x-" ... "z+" in the second\'s place: a wall'
    )
    restitution: float | None = key(ABSENT, NORMAL, "their own; that of [contact] if left out")
    tangential_restitution: float | None = key(ABSENT, TANGENTIAL, "the same")
    contact_time: float | None = key(ABSENT, Number(least=0.0, tried=TIMES), "the same [time]")
    friction: float | None = key(ABSENT, Number(least=0.0), 'the same; engine "steps", integrator "contact"')
    bridge_distance: float | None = key(
        ABSENT, LENGTH, "wet grains: a contact forms a bridge, which breaks at this distance of the centres [length]"
    )
    bridge_energy: float | None = key(
        ABSENT, Number(least=0.0), "energy that breaking the bridge takes [mass length^2 / time^2]"
    )

    @property
    def has_coefficients(self) -> bool:
        """Whether anything of a contact is their own."""
        own = (self.restitution, self.tangential_restitution, self.contact_time, self.friction)
        return any(one is not None for one in own)


@dataclass(frozen=True, kw_only=True)
class ExternalSection(Section):
    """[external]: acceleration of all beads [length / time^2]."""

    section = "external"
    gravity: tuple[float, ...] = key(
        (0.0, 0.0, 0.0), Each(Number(), 3), "acceleration of all beads; not while a start grows [length / time^2]"
    )


@dataclass(frozen=True, kw_only=True)
class WallSection(Section):
    """One [[wall]]: a side of the box, or a shape; keys that it does not have are None [length], [length / time]."""

    section, chooser = "wall", "shape"
    side: str | None = key(ABSENT, Choice(SIDE_NAMES), 'side of the box, of an axis whose boundary is "wall"; or else:')
    shape: str | None = key(ABSENT, Choice(ROUND), "wall that encloses all beads, along open axes")
    center: tuple[float, ...] | None = key(
        ABSENT, Each(PLACE, 3), "shape: a place on its axis or its centre [length]", of=ROUND
    )
    radius: float | None = key(
        ABSENT, Number(above=0.0, tried=EDGES), "shape: of its surface, at time 0 [length]", of=ROUND
    )
    axis: str | None = key(ABSENT, Choice(("x", "y", "z")), "cylinder: its direction", of=("cylinder",))
    velocity: float | tuple[float, ...] = key(
        0.0,
        OrList(Number(), 3),
        "along its normal, positive into the box, or of each axis, from time 0 on [length / time]",
    )
    oscillation: Oscillation | None = key(
        ABSENT,
        Named(Oscillation, (OrList(Number(), 3), TIME)),
        "moves it by amplitude, a number or list as its velocity, times sin(2 pi time / period), too",
    )
    temperature: float | None = key(ABSENT, POSITIVE, "of diffuse reflection; none: a mirror [mass length^2 / time^2]")
    restitution: float | None = key(
        ABSENT, NORMAL, "its own; that of [contact] or of the pair when left out; not with a temperature"
    )
    tangential_restitution: float | None = key(
        ABSENT, TANGENTIAL, "the same; a thermal wall draws spins unless it is 1"
    )

    @property
    def amplitude(self) -> float | tuple[float, ...]:
        """Of its oscillation, 0 of one that has none [length]."""
        return 0.0 if self.oscillation is None else self.oscillation.amplitude


@dataclass(frozen=True, kw_only=True)
class PotentialSection(Section):
    """One [[potential]]; keys that its name does not have are None, as is `types` where it is for all.

    `cutoff` may be "none"; `digest` is that of the file's content, in which a run that goes on must not differ.
    """

    section = "potential"
    name: str = key(
        REQUIRED,
        Choice(("lennard-jones", "wca", "harmonic", "fene", "center", "module", "steps")),
        'engine "steps": of pairs (the first two), of bonds, of beads about a place; module: a function of your own; '
        'engine "events": steps, square wells and shoulders of pairs',
    )
    types: tuple[str, ...] | None = key(
        ABSENT,
        Each(NAME, 2),
        "pairs, bonds: the two types of beads; all when left out",
        of=("lennard-jones", "wca", "harmonic", "fene", "module", "steps"),
    )
    epsilon: float | None = key(
        ABSENT,
        POSITIVE,
        "lennard-jones, wca, fene: depth [mass length^2 / time^2]",
        of=("lennard-jones", "wca", "fene"),
    )
    sigma: float | None = key(ABSENT, LENGTH, "the same: size [length]", of=("lennard-jones", "wca", "fene"))
    cutoff: float | Literal["none"] | None = key(
        ABSENT,
        OrWord(LENGTH, NONE),
        "lennard-jones, module on pairs: where forces end; lennard-jones: or none, if no side is periodic [length]",
        of=("lennard-jones", "module"),
    )
    shift: bool | None = key(
        ABSENT,
        Flag(),
        "the same: whether the energy is 0 at the cutoff; true if left out",
        of=("lennard-jones", "module"),
    )
    stiffness: float | None = key(
        ABSENT, POSITIVE, "harmonic, fene, center: k of k x^2 / 2 [mass / time^2]", of=("harmonic", "fene", "center")
    )
    length: float | None = key(
        ABSENT, LENGTH, "harmonic: length at rest; fene: greatest length [length]", of=("harmonic", "fene")
    )
    center: tuple[float, ...] | None = key(
        ABSENT, Each(PLACE, 3), "center, module: the place [length]", of=("center", "module")
    )
    file: str | None = key(ABSENT, NAME, "module: a file of Python; relative to the input", of=("module",))
    function: str | None = key(
        ABSENT, NAME, "module: its function of a distance, which returns energy and derivative", of=("module",)
    )
    digest: str | None = key(
        ABSENT,
        NAME,
        "module: SHA-256 of the file, from which it must not differ; that of the file when left out",
        of=("module",),
        compare=False,
    )
    on: str | None = key(ABSENT, Choice(("pair", "bond", "center")), "module: what it acts on", of=("module",))
    distances: tuple[float, ...] | None = key(
        ABSENT,
        Each(LENGTH),
        "steps: distances of centres at which the energy steps, beyond contact, ascending [length]",
        of=("steps",),
    )
    energies: tuple[float, ...] | None = key(
        ABSENT,
        Each(Number()),
        "steps: the whole energy between one distance and the next smaller one [mass length^2 / time^2]",
        of=("steps",),
    )


@dataclass(frozen=True, kw_only=True)
class ThermostatSection(Section):
    """[thermostat]: temperature [mass length^2 / time^2]; `damping` and `rate` [1 / time] are None for other names."""

    section = "thermostat"
    name: str = key(
        REQUIRED,
        Choice(("langevin", "andersen")),
        'velocities of molecules drawn anew; or, engine "steps", friction and random forces on beads',
    )
    temperature: float = key(REQUIRED, POSITIVE, "the temperature that it holds [mass length^2 / time^2]")
    damping: float | None = key(ABSENT, POSITIVE, "langevin: friction [1 / time]", of=("langevin",))
    rate: float | None = key(
        ABSENT, POSITIVE, "andersen: how often velocities of a molecule are drawn anew [1 / time]", of=("andersen",)
    )


@dataclass(frozen=True, kw_only=True)
class RunSection(Section):
    """[run]; only `end_time` [time] and `engine` have an effect on results, the others are "auto" or a value."""

    section = "run"
    end_time: float = key(REQUIRED, Number(least=0.0, tried=TIMES), "simulated time at which the run ends [time]")
    engine: str = key("events", Choice(("events", "steps")), "event-driven or time-stepping")
    window: float | Literal["auto"] = key(
        "auto", OrWord(TIME, AUTO), "time between agreements of the ranks; no effect on results"
    )
    sectors: tuple[int, ...] | Literal["auto", "all"] = key(
        "auto",
        OrWord(Each(BEADS, 3), AUTO_OR_ALL),
        "ranks along each axis, at most all; auto: as many ranks as pay, all: every rank; no effect on results",
    )
    cell_size: float | Literal["auto"] = key(
        "auto",
        OrWord(POSITIVE, AUTO),
        "edge of the search cells; auto: as far as lists reach; no effect on results [length]",
    )
    list_shell: float | Literal["auto"] = key(
        "auto",
        OrWord(POSITIVE, AUTO),
        "shell of the neighbour lists; auto: follows diameters and mean distance; no effect on results [length]",
    )
    threads: int | Literal["auto"] = key(
        "auto",
        OrWord(Integer(1, 2), AUTO),
        "2: a second thread per rank makes outcomes ahead of time; auto: while that is faster; no effect on results",
    )


@dataclass(frozen=True, kw_only=True)
class StepsSection(Section):
    """[steps]: length of a step [time] and the method."""

    section = "steps"
    step: float = key(REQUIRED, TIME, "length of a step; output and the end come at whole steps [time]")
    integrator: str = key(
        "gvi",
        Choice(("gvi", "dsi", "contact")),
        "generalised variational, or discrete-smooth; without hard beads both are velocity Verlet; contact: contact "
        "dynamics, implicit, for heaps and friction",
    )
    base: str = key(
        "verlet",
        Choice(("verlet", "midpoint")),
        "the smooth method that it rests on; midpoint: implicit, solved anew each step",
    )
    energy: str = key(
        "H", Choice(("H", "H2")), "gvi: the energy that reflections keep; H2: the second-order numerical Hamiltonian"
    )
    predictions: int = key(1, Integer(1, 2), "1: contacts are predicted once; 2: until no new one is met")
    solver: str = key("newton", Choice(("newton", "gauss-seidel")), "of contacts that hang together")


@dataclass(frozen=True, kw_only=True)
class OutputSection(Section):
    """[output]: intervals of simulated time [time]; `checkpoint_wall_minutes` is None or a number of minutes."""

    section = "output"
    directory: str = key("out", NAME, "where the results go")
    frame_every: float = key(1.0, TIME, "simulated time between frames [time]")
    report_every: float = key(1.0, TIME, "simulated time between reports [time]")
    checkpoint_every: float = key(10.0, TIME, "simulated time between checkpoints [time]")
    checkpoint_wall_minutes: float | None = key(ABSENT, POSITIVE, "wall time between checkpoints [minutes]")
    keep_checkpoints: int = key(2, Integer(1, 10**6), "number of checkpoints kept")
    events: bool = key(False, Flag(), "whether every contact is logged")


@dataclass(frozen=True, kw_only=True)
class Config(Section):
    """A checked input; `source` is the file's name for messages and does not count in a comparison."""

    section = ""
    title: str = key("", Text(), "free text, kept with the results")
    box: BoxSection
    molecules: tuple[MoleculeSection, ...]
    initial: InitialSection
    propagator: PropagatorSection
    contact: ContactSection
    external: ExternalSection
    walls: tuple[WallSection, ...] = ()
    potentials: tuple[PotentialSection, ...] = ()
    thermostat: ThermostatSection | None = None
    run: RunSection
    steps: StepsSection | None = None
    output: OutputSection
    source: str = field(default="input", compare=False)

    __hash__ = None  # type: ignore[assignment]  # arrays and what users change have none

    @property
    def beads(self) -> int:
        """Number of beads of the whole system."""
        return sum(kind.beads * kind.count for kind in self.molecules)

    @property
    def tables(self) -> list[tuple[str, Section]]:
        """All tables of the input, each behind how messages call it."""
        values = [value for one in fields(self) if isinstance(value := getattr(self, one.name), Section)]
        lists: tuple[tuple[Section, ...], ...] = (self.molecules, self.walls, self.potentials, self.contact.pairs)
        rows = [row for tables in lists for row in numbered(tables)]
        own = [(f"{where}.propagator", one.propagator) for where, one in numbered(self.molecules) if one.propagator]
        return [*((one.section, one) for one in values), *rows, *own]

    @property
    def propagators(self) -> list[tuple[str, PropagatorSection]]:
        """[propagator] and kinds' own, each behind how messages call it."""
        return [(where, one) for where, one in self.tables if isinstance(one, PropagatorSection)]

    @property
    def is_rough(self) -> bool:
        """Whether contacts, if only those with some wall, have a tangential restitution, which makes beads spin."""
        walls = any(wall.tangential_restitution not in (None, 1.0) for wall in self.walls)
        return walls or self.contact.is_rough

    @property
    def spins(self) -> bool:
        """Whether contacts make beads spin, in either engine."""
        return self.is_rough or self.contact.rubs

    def to_toml(self, given: Mapping[str, object] | None = None) -> str:
        """Return the resolved input as text that loads back to an equal Config; of a table as given, less defaults."""
        return to_toml(self, given)
