"""What a key of the input may hold: each class reads one TOML value or says in a few words why it cannot be."""

import datetime
import difflib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Entry = TypeVar("Entry", np.float64, np.int64)
Word = TypeVar("Word", bound=str)
Read = TypeVar("Read", covariant=True)


class Value(Protocol[Read]):
    """What a key may hold, in words, which its str() is, and read from TOML."""

    def read(self, value: object) -> Read:
        """Return the value as the program has it, or raise Wrong."""


class Wrong(Exception):
    """A value that a key cannot hold; the text says why, the caller adds the file and the key."""


@contextmanager
def wrong_as(error: type[Exception], before: str) -> Iterator[None]:
    """Raise what is Wrong inside as another error, with a text before it."""
    try:
        yield
    except Wrong as wrong:
        raise error(f"{before}{wrong}") from None


def read_as(name: str, rule: Value[T], value: object) -> T:
    """Return a value as a rule reads it; raises Wrong with a name before what is wrong."""
    try:
        return rule.read(value)
    except Wrong as wrong:
        raise Wrong(f"{name}: {wrong}") from None


# Numbers stay within these magnitudes, so that squares and cubes neither overflow nor vanish.
LARGEST, SMALLEST = 1e60, 1e-60


@dataclass(frozen=True)
class Tried:
    """Magnitudes of a quantity within which runs have been tried: beyond, the program's absolute tolerances matter."""

    name: str
    least: float
    most: float

    def require(self, value: float) -> None:
        """Raise Wrong for a number that has not been tried; 0 is left to the caller."""
        if not (value == 0.0 or self.least <= abs(value) <= self.most):
            raise Wrong(
                f"{value:g} is beyond the range {self.least:g} to {self.most:g} of {self.name} that has been tried; "
                "choose other units of mass, length and time, so that diameters, masses and temperatures are near 1"
            )


# Every propagator keeps its energy error with lengths and thermal times of 1e-8 and 1e8, masses of 1e-18 and 1e18.
LENGTHS = Tried("lengths of beads and bonds", 1e-6, 1e6)
EDGES = Tried("the box's edges", 1e-6, 1e12)
PLACES = Tried("coordinates", 0.0, 1e15)
SPEEDS = Tried("velocities", 0.0, 1e15)
MASSES = Tried("masses", 1e-15, 1e15)
TIMES = Tried("times", 1e-15, 1e15)
THERMAL_TIMES = Tried("thermal times (least diameter over root mean square velocity)", 1e-6, 1e6)


MOST_SHOWN = 60
"""Letters of a value in a message."""


def counted(number: int, noun: str) -> str:
    """Return a number of things in words, as "1 frame" and "2 frames"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def shown(value: object) -> str:
    """Return a value as a short text for a message, as TOML has it."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Mapping):
        entries = [f"{key} = {shown(one)}" for key, one in islice(value.items(), MOST_SHOWN)]
        text = f"{{ {', '.join(entries)} }}" if entries else "{}"
    elif isinstance(value, (list, tuple)):
        text = f"[{', '.join(map(shown, value[:MOST_SHOWN]))}]"
    else:
        try:
            text = str(value) if isinstance(value, (datetime.date, datetime.time)) else repr(value)
        except ValueError:  # an integer with more digits than Python will print
            text = f"a {type(value).__name__} with very many digits"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def finite(value: object) -> float:
    """Return a TOML number as a finite float.

    Raises
    ------
    Wrong
        When it is not an integer or float, is nan or infinite, or overflows.
    """
    if not isinstance(value, (int, float)) or type(value) not in (int, float):
        raise Wrong(f"{shown(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise Wrong(f"{shown(value)} is too large for a number") from None
    if not math.isfinite(number):
        raise Wrong(f"{shown(value)} is not a finite number; the largest is {LARGEST:g}")
    if abs(number) > LARGEST or 0.0 < abs(number) < SMALLEST:
        raise Wrong(f"{number:g} is beyond the range {SMALLEST:g} to {LARGEST:g} of numbers")
    return number


@dataclass(frozen=True)
class Number:
    """A finite number within bounds."""

    above: float | None = None
    least: float | None = None
    most: float | None = None
    tried: Tried | None = None

    def __str__(self) -> str:
        bounds = [f"> {self.above:g}"] if self.above is not None else []
        bounds += [f">= {self.least:g}"] if self.least is not None else []
        bounds += [f"<= {self.most:g}"] if self.most is not None else []
        return "number" + (" " + ", ".join(bounds) if bounds else "")

    def read(self, value: object) -> float:
        """Return the value as a float."""
        number = finite(value)
        low = (self.above is not None and number <= self.above) or (self.least is not None and number < self.least)
        if low or (self.most is not None and number > self.most):
            raise Wrong(f"{number:g} is out of range; needs a {self}")
        if self.tried is not None:
            self.tried.require(number)
        return number


@dataclass(frozen=True)
class Integer:
    """A whole number within bounds; with `switch` true and false stand for 1 and 0."""

    least: int = 0
    most: int = 2**63 - 1
    switch: bool = False

    def __str__(self) -> str:
        return f"whole number >= {self.least}" + ", true or false" * self.switch

    def read(self, value: object) -> int:
        """Return the value as an int."""
        if self.switch and isinstance(value, bool):
            return int(value)
        if type(value) is not int:
            meant = value if type(value) is float and value.is_integer() and abs(value) < 2**53 else None
            raise Wrong(
                f"{shown(value)} is not a whole number"
                + (f" as TOML writes it, without point and exponent: write {meant:.0f}" if meant else "")
            )
        if not self.least <= value <= self.most:
            raise Wrong(f"{shown(value)} is out of range; needs a whole number >= {self.least}, at most {self.most}")
        return value


@dataclass(frozen=True)
class Text:
    """A text; unless `empty` is allowed it names something and so holds no control characters either."""

    empty: bool = True

    def __str__(self) -> str:
        return "text"

    def read(self, value: object) -> str:
        """Return the value as a str."""
        if not isinstance(value, str):
            raise Wrong(f"{shown(value)} is not a text in quotes")
        if not self.empty and not value.strip():
            raise Wrong("is empty")
        if not self.empty and any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
            raise Wrong(f"{shown(value)} has control characters")
        return value


@dataclass(frozen=True)
class Choice:
    """One of a few names."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return " | ".join(f'"{name}"' for name in self.names)

    def read(self, value: object) -> str:
        """Return the name."""
        if not isinstance(value, str):
            raise Wrong(f"{shown(value)} is not one of {self}")
        if value not in self.names:
            raise Wrong(f"{shown(value)} is unknown{suggestion(value, self.names)}; use {self}")
        return value


@dataclass(frozen=True)
class Inline:
    """A table whose keys are those of a section."""

    section: str

    def __str__(self) -> str:
        return f"table of [{self.section}] keys"

    def read(self, value: object) -> dict[str, object]:
        """Return the table as it is; its keys are read by whoever knows the section."""
        if not isinstance(value, dict):
            raise Wrong(f"{shown(value)} is not a table; write {{ name = ... }} with the keys of [{self.section}]")
        return value


@dataclass(frozen=True)
class Flag:
    """true or false."""

    def __str__(self) -> str:
        return "true | false"

    def read(self, value: object) -> bool:
        """Return the value as a bool."""
        if type(value) is not bool:
            raise Wrong(f"{shown(value)} is not true or false")
        return value


@dataclass(frozen=True)
class Each(Generic[T]):
    """A list of a fixed length (any when 0), every entry of one kind."""

    entry: Value[T]
    length: int = 0

    def __str__(self) -> str:
        return f"list of {self.length} × ({self.entry})" if self.length else f"list of {self.entry}"

    def read(self, value: object) -> tuple[T, ...]:
        """Return the values as a tuple."""
        if not isinstance(value, list):
            raise Wrong(f"{shown(value)} is not a {self}")
        found = tuple(read_as(f"entry {i}", self.entry, item) for i, item in enumerate(value))
        if self.length and len(found) != self.length:
            raise Wrong(f"is a list of {len(found)}; needs {self.length}")
        return found


@dataclass(frozen=True)
class OrWord(Generic[T, Word]):
    """A number or a list, or one of a few words (such as "auto") in its place."""

    entry: Value[T]
    words: tuple[Word, ...]

    def __str__(self) -> str:
        return " or ".join([str(self.entry), *(f'"{word}"' for word in self.words)])

    def read(self, value: object) -> T | Word:
        """Return the word, or the value as it is read otherwise."""
        for word in self.words:
            if value == word:
                return word
        try:
            return self.entry.read(value)
        except Wrong as wrong:
            raise Wrong(f"{wrong}; or give {' or '.join(map(json.dumps, self.words))}") from None


@dataclass(frozen=True)
class OrList(Generic[T]):
    """One value for all, or a list with one for each, of a fixed length (any when 0)."""

    entry: Value[T]
    length: int = 0

    def __str__(self) -> str:
        return f"{self.entry}, or a list of {self.length or 'them'}"

    def read(self, value: object) -> T | tuple[T, ...]:
        """Return the value, or a tuple of them."""
        if isinstance(value, list):
            return Each(self.entry, self.length).read(value)
        try:
            return self.entry.read(value)
        except Wrong as wrong:
            also = "" if isinstance(value, (int, float)) else f", or a list of {self.length or 'them'}"
            raise Wrong(f"{wrong}{also}") from None


@dataclass(frozen=True)
class Axes(OrList[T]):
    """One value for all three axes, or a list with one for each."""

    length: int = 3

    def read(self, value: object) -> tuple[T, ...]:
        """Return the values of the three axes."""
        found = super().read(value)
        return found if isinstance(found, tuple) else (found,) * 3


class Oscillation(NamedTuple):
    """How a wall oscillates: amplitude, along its normal or of each axis [length], and period [time]."""

    amplitude: float | tuple[float, ...]
    period: float


@dataclass(frozen=True)
class Named(Generic[T]):
    """A table with just these keys, each of its own kind, read into a named tuple that has their names.

    Those with defaults come last and may be left out.
    """

    into: type[T]
    entries: tuple[Value[object], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The keys that are needed."""
        names = tuple(self.into.__annotations__)
        return names[: len(names) - len(getattr(self.into, "_field_defaults", ()))]

    def __str__(self) -> str:
        return f"{{ {', '.join(self.names)} }}"

    def read(self, value: object) -> T:
        """Return the named tuple."""
        entries = dict(zip(self.into.__annotations__, self.entries, strict=True))
        if not isinstance(value, dict):
            raise Wrong(f"{shown(value)} is not a table {self}")
        for name in sorted((value.keys() - entries) | (set(self.names) - value.keys())):
            what = "unknown key" if name in value else "is missing"
            raise Wrong(f"{name}: {what}; needs {', '.join(self.names[:-1])} and {self.names[-1]}")
        given = [(name, entry) for name, entry in entries.items() if name in value]
        return self.into(**{name: read_as(name, entry, value[name]) for name, entry in given})


MOST_SIZES = 128
"""Of the beads of one kind."""
CUT = 3.0
"""Deviations from the mean, of a diameter or its logarithm, beyond which there are none."""


class Spread(NamedTuple):
    """A distribution of the diameters of the beads of one kind, "normal" or "log-normal" [length]."""

    mean: float
    deviation: float
    distribution: str = "normal"


class Shares(NamedTuple):
    """Diameters of the beads of one kind [length], and how many in proportion have each."""

    sizes: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class OrSizes:
    """A number, a list of them, or a table of sizes."""

    entry: Number

    def __str__(self) -> str:
        return f"{OrList(self.entry)}, or {{ mean, deviation }}, or {{ sizes, shares }}"

    def read(self, value: object) -> float | tuple[float, ...] | Spread | Shares:
        """Return the number, a tuple of them, or the table."""
        if not isinstance(value, dict):
            return OrList(self.entry).read(value)
        if "sizes" in value or "shares" in value:
            sizes, shares = listed = Named(Shares, (Each(self.entry), Each(Number(above=0.0)))).read(value)
            if not 1 <= len(sizes) <= MOST_SIZES:
                raise Wrong(f"sizes: is a list of {len(sizes)}; needs 1 to {MOST_SIZES}")
            if len(set(sizes)) < len(sizes):
                raise Wrong("sizes: has the same size twice; give each one share")
            if len(shares) != len(sizes):
                raise Wrong(f"shares: is a list of {len(shares)}; needs {len(sizes)}, one per size")
            return listed
        entries = (self.entry, replace(self.entry, least=0.0, above=None), Choice(("normal", "log-normal")))
        mean, deviation, distribution = spread = Named(Spread, entries).read(value)
        if deviation >= mean:
            raise Wrong(f"deviation: {deviation:g} is not below the mean {mean:g}; make it smaller")
        if distribution == "normal" and mean <= CUT * deviation:
            raise Wrong(
                f"deviation: {deviation:g} makes beads of no size, as the mean is {mean:g}; make it smaller than a "
                f'third of the mean, or set distribution = "log-normal"'
            )
        return spread


@dataclass(frozen=True)
class Rows(Generic[Entry]):
    """A table of numbers with `width` columns, read into one array."""

    width: int
    dtype: type[Entry]
    tried: Tried | None = None

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.dtype is np.int64

    def __str__(self) -> str:
        columns = ("i", "j") if self.whole else ("w", "x", "y", "z")[-self.width :]
        return f"list of [{', '.join(columns)}]"

    def read(self, value: object) -> NDArray[Entry]:
        """Return the rows as an (n, width) array of float64, or of int64 when whole."""
        if not isinstance(value, list):
            raise Wrong(f"{shown(value)} is not a {self}")
        for i, row in enumerate(value):
            if not isinstance(row, list) or len(row) != self.width:
                raise Wrong(f"row {i}: {shown(row)} is not a list of {self.width} numbers")
        if set(map(type, chain.from_iterable(value))) - ({int} if self.whole else {int, float}):
            self._complain(value)
        try:
            rows = np.array(value, dtype=self.dtype).reshape(-1, self.width)
        except OverflowError:
            raise Wrong("holds a number that is too large") from None
        if not self.whole and not (np.abs(rows) <= LARGEST).all():
            self._complain(value)
        if self.tried is not None and len(rows):
            at = int(np.argmax(np.abs(rows).max(axis=1)))
            with wrong_as(Wrong, f"row {at}: "):
                self.tried.require(float(np.abs(rows[at]).max()))
        return rows

    def _complain(self, value: list[list[object]]) -> None:
        read = Integer(least=-(2**63)).read if self.whole else finite
        for i, item in enumerate(chain.from_iterable(value)):
            try:
                read(item)
            except Wrong as wrong:
                raise Wrong(f"row {i // self.width}: {wrong}") from None


ELSEWHERE = {
    "beads": ("length", "n", "n_beads", "nbeads", "chain_length", "degree_of_polymerization", "monomers"),
    "bond_length": ("bond", "b", "r0", "l0", "bond_distance", "kuhn_length"),
    "boundary": ("pbc", "periodic", "periodicity", "bc", "boundary_conditions"),
    "box": ("cell", "domain", "lattice"),
    "chain": ("linear", "polymer", "dimer", "dumbbell", "flexible", "trimer", "freely-jointed", "fjc", "bead-spring"),
    "checkpoint_every": ("restart_every", "restart", "nstcheckpoint"),
    "contact": ("pair", "collision"),
    "count": (
        *("number", "nmol", "nmols", "amount", "molecules", "copies", "nmolecules", "n_molecules", "n_chains"),
        *("nchains", "num_chains", "n_polymers", "num"),
    ),
    "cutoff": ("r_cut", "rcut", "rc", "rvdw"),
    "damping": ("gamma", "friction", "tau", "tau_t", "damp"),
    "diameter": ("radius", "sigma", "d"),
    "directory": ("prefix", "folder", "trajectory", "path"),
    "distance_limits": ("angle", "angles", "bond_angle", "dihedral", "bending_stiffness", "persistence_length"),
    "distances": ("range", "width", "lambda"),
    "end_time": (
        *("nsteps", "steps", "n_steps", "run_time", "t_end", "tmax", "t_max", "max_time", "time", "duration"),
        *("end", "until", "stop"),
    ),
    "energies": ("depth", "well_depth", "u0"),
    "events": ("event-driven", "edmd", "dmd"),
    "external": ("fix", "field"),
    "fene": ("kremer-grest",),
    "exclude": ("special_bonds", "nrexcl", "exclusions"),
    "fixed": ("fix", "frozen", "immobile", "freeze", "tether", "tethered", "anchor", "pinned", "grafted"),
    "file": ("restart", "read_data", "read_restart", "input_file", "read"),
    "frame_every": ("nstxout", "dump", "dump_every", "freq", "period", "every", "stride", "interval", "save_every"),
    "friction": ("mu", "friction_coefficient", "cof", "xmu"),
    "graph": ("tree", "branched", "comb", "dendrimer", "network", "brush", "bottlebrush"),
    "gravity": ("g",),
    "gvi": ("verlet", "velocity-verlet", "leapfrog", "nve", "vv", "md-vv", "langevin"),
    "grow": ("random", "lattice", "insert", "packmol", "generate", "fcc", "bcc", "sc"),
    "harmonic": ("spring", "hookean"),
    "initial": ("start", "velocities", "velocity"),
    "langevin": ("nose-hoover", "nvt", "csvr", "v-rescale", "bussi", "berendsen", "brownian", "nh"),
    "length": ("r0", "rest_length"),
    "lennard-jones": ("lj", "lj/cut", "12-6"),
    "list_shell": ("skin", "neighbor", "buffer", "rlist"),
    "log-normal": ("lognormal",),
    "module": ("table", "tabulated", "morse", "yukawa", "buckingham", "hertz"),
    "mass": ("m", "masses"),
    "molecule": ("polymer", "species", "molecules", "polymers", "particles", "beads", "particle"),
    "monomer": ("sphere", "atom", "bead", "particle", "colloid"),
    "open": ("f", "s", "shrink", "none", "vacuum", "free", "nonperiodic", "non-periodic", "ff"),
    "packing_fraction": ("density", "phi", "number_density", "rho", "volume_fraction"),
    "periodic": ("p", "pp", "p p p", "pbc", "xyz"),
    "positions": ("position", "coordinates", "coords"),
    "potential": ("interaction", "pair_style", "pair_coeff", "forcefield", "force_field", "force", "forces"),
    "rate": ("nu", "tau", "tau_t", "period", "frequency"),
    "rattle": ("verlet", "velocity-verlet", "shake", "lincs", "settle"),
    "report_every": ("thermo", "nstenergy", "log_every", "nstlog", "log"),
    "restitution": ("e", "e_n", "en", "cor", "coefficient_of_restitution", "elasticity", "inelasticity"),
    "rigid": ("constraints", "constraint", "flexible"),
    "ring": ("loop", "cyclic", "circle"),
    "run": ("simulation", "simulate", "control"),
    "self_contact": ("self_avoiding", "self_avoidance", "excluded_volume", "self_interaction"),
    "sectors": ("processors", "domains", "decomposition", "mpi", "ranks", "nprocs"),
    "seed": ("random_seed", "rng", "gen_seed", "ld_seed"),
    "side": ("position", "face"),
    "size": ("dimensions", "length", "lengths", "l", "lx", "xlo", "xhi", "lo", "hi", "bounds", "edge", "edges"),
    "stages": ("order",),
    "step": ("timestep", "dt", "time_step", "delta_t"),
    "steps": ("square-well", "square_well", "well", "md", "time-driven", "square-shoulder", "shoulder"),
    "stiffness": ("k", "spring_constant", "force_constant"),
    "tangential_restitution": ("e_t", "et", "beta", "roughness"),
    "temperature": ("t", "kt", "ref_t", "ref-t", "gen_temp", "gen-temp", "gen_vel", "gen-vel", "temp"),
    "thermostat": ("tcoupl", "fix"),
    "types": ("sequence", "type", "typeid"),
    "velocities": ("velocity", "v"),
    "verlet": ("velocity-verlet", "leapfrog", "leap-frog", "vv"),
    "wall": ("m", "reflect", "reflecting", "hard", "fixed", "walls", "closed", "fix"),
    "z+": ("top", "zhi", "+z", "upper", "zmax"),
    "z-": ("bottom", "zlo", "-z", "lower", "floor", "zmin"),
    "x-": ("left", "-x", "xlo", "xmin"),
    "x+": ("right", "+x", "xhi", "xmax"),
    "y-": ("front", "-y", "ylo", "ymin"),
    "y+": ("back", "+y", "yhi", "ymax"),
}
"""Names and words of this program, each with what other programs and people call it."""
NOWHERE = (
    *("gpu", "cuda", "opencl", "kokkos", "barostat", "npt", "nph", "charge", "charges", "coulomb", "ewald", "pme"),
    *("shear", "shear_rate", "lees-edwards", "lees_edwards", "deform", "tilt", "triclinic", "reaction"),
    *("pressure", "dimension", "2d", "enforce2d", "ellipsoid", "water", "device", "gpu_id"),
    *("electric_field", "efield", "cosine", "bending", "gay-berne"),
)
"""What other programs have and this one has not: the manual says what to take in its place."""
CANNOT = '; see "What it cannot do" in the manual'


def meant(name: str, names: Iterable[str]) -> list[str]:
    """Return those of the names that a word of other programs stands for, or the word itself."""
    found = [one for one in names if name.lower() in ELSEWHERE.get(one, ())]
    return found or [one for one in names if name.lower() == one.lower()] or [name]


def suggestion(name: str, names: tuple[str, ...]) -> str:
    """Return '; did you mean "…"?' with the nearest of the names, or an empty text when none is near.

    A word for each axis, such as "ppf", is a list of names.
    """
    word = meant(name, names)[0]
    axes = [meant(part, names)[0] for part in (name.split() if " " in name else name)[:4]]
    if word == name and len(axes) == 3 and set(axes) <= set(names):
        return f"; did you mean [{', '.join(map(json.dumps, axes))}]?"
    close = difflib.get_close_matches(word[:100], names, n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else CANNOT * (name.lower() in NOWHERE)


def likeness(name: str, other: str) -> float:
    """Return how much two names are alike, 0 to 1."""
    return difflib.SequenceMatcher(None, name[:100].lower(), other).ratio()


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the nearest of the names, however far."""
    return max(names, key=lambda other: likeness(name, other))
