"""The table of all keys of the input: value, default and meaning, in one place for reading, writing and the manual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hpcchain.config.values import (
    EDGES,
    LENGTHS,
    MASSES,
    PLACES,
    SPEEDS,
    TIMES,
    Choice,
    Each,
    Flag,
    FlagOrList,
    Inline,
    Integer,
    Limits,
    NameOrList,
    Number,
    NumberOrList,
    Rows,
    Text,
)
from hpcchain.propagators.catalogue import DEFAULT, PROPAGATORS, STAGE_SOLVERS, VARIANTS, choices, users_of


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
ABSENT = None

# A run's size is bounded long before this by memory; it keeps sums of bead counts within an int64.
MOST_BEADS = 2**31


@dataclass(frozen=True)
class Key:
    """One key of the input.

    Attributes
    ----------
    section, name : str
        Where it stands; the section is "" at the top level.
    value : Any
        Reads the TOML value (`hpcchain.config.values`).
    default : Any
        REQUIRED, ABSENT (the key may be left out and then is not set), or the value used when it is left out.
    meaning : str
        One line, with the unit in square brackets.
    """

    section: str
    name: str
    value: Any
    default: Any
    meaning: str

    @property
    def path(self) -> str:
        """The key with its section."""
        return f"{self.section}.{self.name}" if self.section else self.name


POSITIVE, TIME = Number(above=0.0), Number(above=0.0, tried=TIMES)
SIDES = ("x-", "y-", "z-", "x+", "y+", "z+")

KEYS = (
    Key("", "title", Text(), "", "free text, kept with the results"),
    Key("box", "size", Each(Number(above=0.0, tried=EDGES), 3), ABSENT, "edge lengths [length]; required, or else:"),
    Key(
        "box",
        "packing_fraction",
        Number(above=0.0, most=1.0),
        ABSENT,
        "in place of size: a cube that the spheres of all beads fill to this fraction",
    ),
    Key("box", "origin", Each(Number(tried=PLACES), 3), (0.0, 0.0, 0.0), "lower corner [length]"),
    Key("box", "boundary", Each(Choice(("periodic", "wall", "open")), 3), ("periodic",) * 3, "boundary of each axis"),
    Key("molecule", "name", Text(empty=False), ABSENT, "name of the kind; A, B, … when left out"),
    Key(
        "molecule",
        "kind",
        Choice(("monomer", "chain", "ring", "star", "graph", "rod")),
        REQUIRED,
        "how bonds join the beads; rod: like a chain, but on a rigid straight line",
    ),
    Key("molecule", "beads", Integer(1, MOST_BEADS), ABSENT, "beads of one molecule (chain, ring, graph, rod)"),
    Key("molecule", "count", Integer(1, MOST_BEADS), 1, "number of molecules of this kind"),
    Key(
        "molecule",
        "bond_length",
        NumberOrList(LENGTHS),
        1.0,
        "bond length, or one per bond; rod: distances of neighbours along it [length]",
    ),
    Key("molecule", "diameter", NumberOrList(LENGTHS), 1.0, "bead diameter, or one per bead [length]"),
    Key("molecule", "mass", NumberOrList(MASSES), 1.0, "bead mass, or one per bead [mass]"),
    Key(
        "molecule",
        "types",
        NameOrList(),
        ABSENT,
        "type of the beads, or one per bead; tables of pairs go by types; the molecule's name when left out",
    ),
    Key("molecule", "arms", Integer(1, MOST_BEADS), ABSENT, "star: number of arms; bead 0 is the centre"),
    Key("molecule", "arm_beads", Integer(1, MOST_BEADS), ABSENT, "star: beads of one arm"),
    Key("molecule", "bonds", Rows(2, whole=True), ABSENT, "graph: pairs of bonded beads, counted from 0"),
    Key(
        "molecule",
        "self_contact",
        Flag(),
        True,
        "whether beads of one molecule collide with each other; those of a rod never do",
    ),
    Key(
        "molecule",
        "exclude",
        Integer(1, 3),
        1,
        "beads of one molecule that are up to so many bonds apart never collide with each other",
    ),
    Key(
        "molecule",
        "hard",
        FlagOrList(),
        True,
        'engine "steps": whether the beads have a hard core, of their diameter; or one per bead',
    ),
    Key(
        "molecule",
        "rigid",
        Flag(),
        True,
        'engine "steps": whether bonds keep their lengths; false: bond potentials hold them',
    ),
    Key(
        "molecule",
        "damping",
        Number(least=0.0),
        0.0,
        'engine "steps": linear friction of the beads, which takes energy out [1 / time]',
    ),
    Key(
        "molecule",
        "fixed",
        Each(Integer(0, MOST_BEADS)),
        ABSENT,
        "beads, counted from 0, that stay where they start; they count no degrees of freedom",
    ),
    Key(
        "molecule",
        "fixed_velocity",
        Each(Number(tried=SPEEDS), 3),
        ABSENT,
        "monomer: velocity at which fixed ones move instead [length / time]",
    ),
    Key(
        "molecule",
        "propagator",
        Inline("propagator"),
        ABSENT,
        'this kind\'s own, for example { name = "rattle", step = 0.05 }; keys left out are those of [propagator] if '
        "it has the same name, else the defaults",
    ),
    Key(
        "molecule",
        "directors",
        Flag(),
        False,
        "monomer: whether they are smooth rigid spheres that carry an orientation and spin",
    ),
    Key(
        "molecule",
        "moment",
        NumberOrList(),
        ABSENT,
        "of beads that spin: moment of inertia, or one per bead; mass × diameter^2 / 10, of uniform density, when left "
        "out [mass length^2]",
    ),
    Key(
        "molecule",
        "distance_limits",
        Limits(),
        (),
        'engine "events": distances of beads so many bonds apart are kept between least and most, for example '
        "[{ separation = 2, least = 1.2, most = 1.9 }] [length]",
    ),
    Key(
        "molecule",
        "positions",
        Rows(3, tried=PLACES),
        ABSENT,
        "explicit start: count × beads rows, bond lengths right to 1e-9 relative [length]",
    ),
    Key(
        "molecule",
        "velocities",
        Rows(3, tried=SPEEDS),
        ABSENT,
        "explicit start: count × beads rows; of all kinds or none, else drawn at the temperature [length / time]",
    ),
    Key(
        "molecule",
        "orientations",
        Rows(4),
        ABSENT,
        "directors, explicit start: count rows, unit quaternions; none is turned when left out",
    ),
    Key(
        "molecule",
        "angular_velocities",
        Rows(3),
        ABSENT,
        "beads that spin, explicit start: a row a bead; 0 when left out [1 / time]",
    ),
    Key(
        "initial", "method", Choice(("grow", "explicit", "file")), "grow", "where the initial configuration comes from"
    ),
    Key(
        "initial",
        "temperature",
        POSITIVE,
        1.0,
        "temperature of velocities that are drawn (grow, explicit starts without, copies) and of random spins "
        "[mass length^2 / time^2]",
    ),
    Key("initial", "seed", Integer(0), 1, "seed of every random number"),
    Key(
        "initial",
        "growth_rate",
        Number(above=0.0, word="auto"),
        "auto",
        "grow: growth of the contact distances, relative to full size [1 / time]",
    ),
    Key(
        "initial",
        "file",
        Text(empty=False),
        ABSENT,
        "method file: what `hpcchain build` made, or a checkpoint, relative to the input file",
    ),
    Key(
        "propagator",
        "name",
        Choice(tuple(PROPAGATORS)),
        DEFAULT,
        "how free motion is computed; rods fly exactly under all but rattle",
    ),
    Key("propagator", "stages", Integer(1, 12), 4, "collocation: Gauss stages"),
    Key(
        "propagator",
        "variant",
        Choice(tuple(VARIANTS)),
        next(iter(VARIANTS)),
        "collocation: form of the constraints; paper: as printed by Hartmann et al. 2009, of low order",
    ),
    Key(
        "propagator",
        "stage_solver",
        Choice(("auto", *STAGE_SOLVERS)),
        "auto",
        "collocation: how the stages are solved; fixed-point is index1's, newton exact and slow",
    ),
    Key(
        "propagator",
        "contact_search",
        Choice(choices("contact_searches")),
        choices("contact_searches")[0],
        "contact times by root, or as in the papers: collocation by nested intervals, rattle by bisection",
    ),
    Key("propagator", "contact_interval", TIME, 1e-4, "nested: width of the last interval [time]"),
    Key(
        "propagator",
        "contact_stages",
        Choice(("falling", "all")),
        "falling",
        "nested: one stage fewer in each interval, as printed, or all in each",
    ),
    Key(
        "propagator",
        "solver",
        Choice(choices("solvers")),
        choices("solvers")[0],
        "solver of a step; variational: first three, rattle: first and last two",
    ),
    Key(
        "propagator",
        "collision",
        Choice(choices("laws")),
        choices("laws")[0],
        "variational: law of contacts, of the discrete energy or of the exact impulse",
    ),
    Key(
        "propagator",
        "step",
        TIME,
        ABSENT,
        "longest segment; taylor chooses when left out; at most d (m / kT)^1/2 / 4 while a start grows [time]",
    ),
    Key("propagator", "tolerance", Number(above=0.0, most=1e-3), 1e-12, "Newton, bond and contact tolerance"),
    Key("contact", "restitution", Number(least=0.0, most=1.0), 1.0, "normal coefficient of restitution"),
    Key(
        "contact",
        "tangential_restitution",
        Number(least=-1.0, most=1.0),
        1.0,
        "tangential coefficient of restitution; 1 = smooth, -1 = perfectly rough; beads spin unless it is 1",
    ),
    Key(
        "contact",
        "contact_time",
        Number(least=0.0, tried=TIMES),
        0.0,
        "duration of contacts: within it of a contact of either bead, others keep their energy (TC model) [time]",
    ),
    Key(
        "contact",
        "simultaneous",
        Choice(("joint", "generalised", "moreau")),
        "joint",
        "contacts at one instant, one impulse each; joint: those of two molecules that meet and approach; generalised: "
        'of all that hang together; moreau: with those at rest; engine "steps": joint is generalised',
    ),
    Key(
        "contact",
        "friction",
        Number(least=0.0),
        0.0,
        'Coulomb\'s coefficient, of beads and walls; engine "steps", integrator "contact"; beads spin unless it is 0',
    ),
    Key(
        "contact.pair",
        "types",
        Each(Text(empty=False), 2),
        REQUIRED,
        'two types of beads; "x-" ... "z+" in the second\'s place: a wall',
    ),
    Key("contact.pair", "restitution", Number(least=0.0, most=1.0), ABSENT, "their own; that of [contact] if left out"),
    Key("contact.pair", "tangential_restitution", Number(least=-1.0, most=1.0), ABSENT, "the same"),
    Key("contact.pair", "contact_time", Number(least=0.0, tried=TIMES), ABSENT, "the same [time]"),
    Key(
        "external",
        "gravity",
        Each(Number(), 3),
        (0.0, 0.0, 0.0),
        "acceleration of all beads; not while a start grows [length / time^2]",
    ),
    Key("wall", "side", Choice(SIDES), ABSENT, 'side of the box, of an axis whose boundary is "wall"; or else:'),
    Key("wall", "shape", Choice(("sphere", "cylinder")), ABSENT, "wall that encloses all beads, along open axes"),
    Key("wall", "center", Each(Number(tried=PLACES), 3), ABSENT, "shape: a place on its axis or its centre [length]"),
    Key("wall", "radius", Number(above=0.0, tried=EDGES), ABSENT, "shape: of its surface, at time 0 [length]"),
    Key("wall", "axis", Choice(("x", "y", "z")), ABSENT, "cylinder: its direction"),
    Key("wall", "velocity", Number(), 0.0, "along its normal, positive into the box, from time 0 on [length / time]"),
    Key("wall", "temperature", POSITIVE, ABSENT, "of diffuse reflection; none: a mirror [mass length^2 / time^2]"),
    Key("wall", "restitution", Number(least=0.0, most=1.0), ABSENT, "its own; that of [contact] when left out"),
    Key(
        "potential",
        "name",
        Choice(("lennard-jones", "wca", "harmonic", "fene", "center", "module", "steps")),
        REQUIRED,
        'engine "steps": of pairs (the first two), of bonds, of beads about a place; module: a function of your own; '
        'engine "events": steps, square wells and shoulders of pairs',
    ),
    Key(
        "potential",
        "types",
        Each(Text(empty=False), 2),
        ABSENT,
        "pairs, bonds: the two types of beads, names of molecules; all when left out",
    ),
    Key("potential", "epsilon", POSITIVE, ABSENT, "lennard-jones, wca, fene: depth [mass length^2 / time^2]"),
    Key("potential", "sigma", Number(above=0.0, tried=LENGTHS), ABSENT, "the same: size [length]"),
    Key(
        "potential",
        "cutoff",
        Number(above=0.0, word="none", tried=LENGTHS),
        ABSENT,
        "lennard-jones, module on pairs: where forces end; none: nowhere, in boxes without periodic sides [length]",
    ),
    Key("potential", "shift", Flag(), ABSENT, "the same: whether the energy is 0 at the cutoff; true if left out"),
    Key("potential", "stiffness", POSITIVE, ABSENT, "harmonic, fene, center: k of k x^2 / 2 [mass / time^2]"),
    Key(
        "potential",
        "length",
        Number(above=0.0, tried=LENGTHS),
        ABSENT,
        "harmonic: length at rest; fene: greatest length [length]",
    ),
    Key("potential", "center", Each(Number(tried=PLACES), 3), ABSENT, "center, module: the place [length]"),
    Key("potential", "file", Text(empty=False), ABSENT, "module: a file of Python; relative to the input"),
    Key(
        "potential",
        "function",
        Text(empty=False),
        ABSENT,
        "module: its function of a distance, which returns energy and derivative",
    ),
    Key(
        "potential",
        "digest",
        Text(empty=False),
        ABSENT,
        "module: SHA-256 of the file, from which it must not differ; that of the file when left out",
    ),
    Key("potential", "on", Choice(("pair", "bond", "center")), ABSENT, "module: what it acts on"),
    Key(
        "potential",
        "distances",
        Each(Number(above=0.0, tried=LENGTHS)),
        ABSENT,
        "steps: distances beyond contact at which the energy steps, ascending [length]",
    ),
    Key(
        "potential",
        "energies",
        Each(Number()),
        ABSENT,
        "steps: the whole energy between one distance and the next smaller one [mass length^2 / time^2]",
    ),
    Key(
        "thermostat",
        "name",
        Choice(("langevin", "andersen")),
        REQUIRED,
        'velocities of molecules drawn anew; or, engine "steps", friction and random forces on beads',
    ),
    Key("thermostat", "temperature", POSITIVE, REQUIRED, "that it holds [mass length^2 / time^2]"),
    Key("thermostat", "damping", POSITIVE, ABSENT, "langevin: friction [1 / time]"),
    Key(
        "thermostat", "rate", POSITIVE, ABSENT, "andersen: how often velocities of a molecule are drawn anew [1 / time]"
    ),
    Key("run", "end_time", Number(least=0.0, tried=TIMES), REQUIRED, "simulated time at which the run ends [time]"),
    Key("run", "engine", Choice(("events", "steps")), "events", "event-driven or time-stepping"),
    Key(
        "run",
        "window",
        Number(above=0.0, word="auto", tried=TIMES),
        "auto",
        "time between agreements of the ranks; no effect on results",
    ),
    Key(
        "run",
        "sectors",
        Each(Integer(1, MOST_BEADS), 3, words=("auto", "all")),
        "auto",
        "ranks along each axis, at most all; auto: as many ranks as pay, all: every rank; no effect on results",
    ),
    Key(
        "run",
        "cell_size",
        Number(above=0.0, word="auto"),
        "auto",
        "edge of the search cells; no effect on results [length]",
    ),
    Key(
        "run",
        "list_shell",
        Number(above=0.0, word="auto"),
        "auto",
        "shell of the neighbour lists; no effect on results [length]",
    ),
    Key("steps", "step", TIME, REQUIRED, "length of a step; output and the end come at whole steps [time]"),
    Key(
        "steps",
        "integrator",
        Choice(("gvi", "dsi", "contact")),
        "gvi",
        "generalised variational, or discrete-smooth; without hard beads both are velocity Verlet; contact: contact "
        "dynamics, implicit, for heaps and friction",
    ),
    Key(
        "steps",
        "base",
        Choice(("verlet", "midpoint")),
        "verlet",
        "the smooth method that it rests on; midpoint: implicit, solved anew each step",
    ),
    Key(
        "steps",
        "energy",
        Choice(("H", "H2")),
        "H",
        "gvi: the energy that reflections keep; H2: the second-order numerical Hamiltonian",
    ),
    Key("steps", "predictions", Integer(1, 2), 1, "1: contacts are predicted once; 2: until no new one is met"),
    Key("steps", "solver", Choice(("newton", "gauss-seidel")), "newton", "of contacts that hang together"),
    Key("output", "directory", Text(empty=False), "out", "where the results go"),
    Key("output", "frame_every", TIME, 1.0, "simulated time between frames [time]"),
    Key("output", "report_every", TIME, 1.0, "simulated time between reports [time]"),
    Key("output", "checkpoint_every", TIME, 10.0, "simulated time between checkpoints [time]"),
    Key("output", "checkpoint_wall_minutes", POSITIVE, ABSENT, "wall time between checkpoints [minutes]"),
    Key("output", "keep_checkpoints", Integer(1, 10**6), 2, "number of checkpoints kept"),
    Key("output", "events", Flag(), False, "whether every contact is logged"),
)

SECTIONS = (
    "box",
    "molecule",
    "initial",
    "propagator",
    "contact",
    "external",
    "wall",
    "potential",
    "thermostat",
    "run",
    "steps",
    "output",
)

# Keys that mean something for some kinds or names only; anything else about them is an error.
DIRECTOR_KEYS = ("moment", "orientations", "angular_velocities")
KIND_KEYS = {"arms": ("star",), "arm_beads": ("star",), "bonds": ("graph",)}
PROPAGATOR_KEYS = {key.name: users_of(key.name) for key in KEYS if key.section == "propagator" and users_of(key.name)}
POTENTIAL_KEYS = {
    "types": ("lennard-jones", "wca", "harmonic", "fene", "module", "steps"),
    "epsilon": ("lennard-jones", "wca", "fene"),
    "sigma": ("lennard-jones", "wca", "fene"),
    "cutoff": ("lennard-jones", "module"),
    "shift": ("lennard-jones", "module"),
    "stiffness": ("harmonic", "fene", "center"),
    "length": ("harmonic", "fene"),
    "center": ("center", "module"),
    "file": ("module",),
    "function": ("module",),
    "on": ("module",),
    "digest": ("module",),
    "distances": ("steps",),
    "energies": ("steps",),
}
MODULE_KEYS = {"cutoff": "pair", "shift": "pair", "center": "center"}
THERMOSTAT_KEYS = {"damping": "langevin", "rate": "andersen"}
OPTIONAL_OF_POTENTIAL = ("types", "shift", "digest")


def keys_of(section: str) -> dict:
    """Return {name: Key} of a section, in the table's order."""
    return {key.name: key for key in KEYS if key.section == section}


def markdown() -> str:
    """Return the table of all keys as Markdown."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key in KEYS:
        default = "" if key.default is ABSENT else default_text(key.default)
        lines.append(f"| `{key.path}` | {key.value.text.replace('|', 'or')} | {default} | {key.meaning} |")
    return "\n".join(lines) + "\n"


def default_text(default: Any) -> str:
    """Return a default as it would stand in the input."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return "[" + ", ".join(default_text(entry) for entry in default) + "]"
    return f'"{default}"' if isinstance(default, str) else str(default)
