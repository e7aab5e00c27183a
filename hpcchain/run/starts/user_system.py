"""Systems made from arrays, for Python programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcchain.config.keys.schema import SECTIONS, keys_of
from hpcchain.config.keys.sections import OF_BEADS, BoxSection, Config
from hpcchain.config.keys.values import counted, wrong_as
from hpcchain.config.load import config_from_table, named, read_named
from hpcchain.errors import ConfigError
from hpcchain.io.tools.configurations import digits_of
from hpcchain.model.starts.start import build_system
from hpcchain.model.topology import build_box
from hpcchain.run.starts.bead_arrays import Beads

if TYPE_CHECKING:
    from hpcchain.model.system import Box

SOURCE = "System.from_arrays"
OF_ALL = ("exclude", "self_contact", "rigid", "damping", "distance_limits", "directors", "fixed_velocity")
"""Keys of [[molecule]] that all molecules of arrays may have, where they mean something (`with_keys`)."""
Entry = TypeVar("Entry", np.float64, np.int64)
ARGUMENTS = {"positions": "position", "velocities": "velocity", "bond_length": "bonds"}
"""What `from_arrays` calls keys of [[molecule]] that have another name there."""


@dataclass(frozen=True)
class System:
    """A start made from arrays; give it to `Simulation`.

    Attributes
    ----------
    config : Config
        The input of the same system, all defaults resolved.
    """

    config: Config

    @classmethod
    def from_arrays(
        cls,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        bonds: ArrayLike = (),
        box: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        diameter: ArrayLike = 1.0,
        molecule: ArrayLike | None = None,
        boundary: str | Sequence[str] = "periodic",
        origin: ArrayLike = (0.0, 0.0, 0.0),
        fixed: ArrayLike = (),
        bond_length: float | None = None,
        **more: object,
    ) -> System:
        """Return a System of beads at given positions.

        Molecules that periodic sides cut are made whole. Neighbours whose bond lengths, diameters and masses differ by
        less than 1e-5 relative, as single precision makes them, are one kind with the numbers of its first. Positions
        and velocities are then put on its bonds. The log says where this changes anything beyond 1e-9. With
        `bond_length` or `tolerance` beads go onto the bonds by the least move, weighted by mass, and velocities lose
        what would lengthen bonds.

        Parameters
        ----------
        position : (N, 3) array
            Bonds must be shorter than half a periodic side; nothing may overlap [length].
        velocity : (N, 3) array, optional
            No bond may lengthen, to 1e-5 of the speed; drawn at initial.temperature when left out [length / time].
        bonds : (B, 2) array
            Bead numbers from 0; each bond keeps the length that it has, to 10 digits.
        box : number or (3,) array
            Edge of a cube, or edge lengths [length].
        mass, diameter : number or (N,) array
            [mass], [length]
        molecule : (N,) array, optional
            Which molecule each bead is of; those of one stand together. Default: what bonds join.
        boundary : str or (str, str, str)
            "periodic", "wall" or "open", of all axes or of each.
        origin : (3,) array
            The box's lower corner [length].
        fixed : (n,) array
            Numbers of beads that stay where they are.
        bond_length : number, optional
            All bonds get this length; none may be farther from it than `tolerance`, 0.1 without it [length].
        more : dicts and keys
            The input's other sections, as contact={"restitution": 0.9}; wall, potential, contact["pair"] are lists of
            dicts. Keys of [[molecule]] for all molecules: exclude, self_contact, rigid, damping, directors,
            distance_limits (of three beads and more), fixed_velocity (with fixed beads). One value, or one for each
            bead, of types, hard and moment. `tolerance`: bonds whose lengths differ by less, relative, have one.

        Raises
        ------
        ConfigError
            When the arrays do not fit one another or the start is impossible; the message names key or beads.
        """
        of_beads = {name: more.pop(name) for name in OF_BEADS if name in more} | {"mass": mass, "diameter": diameter}
        beads = Beads(SOURCE, position, velocity, bonds, fixed, of_beads)
        if box is None:
            raise ConfigError(f"{SOURCE}: box: is missing; give three edge lengths")
        tolerance = more.pop("tolerance", None)
        of_all = {name: plain(more.pop(name)) for name in OF_ALL if name in more}
        table = {name: section_of(name, section) for name, section in more.items()}
        table["box"] = {"size": plain(box), "origin": plain(origin), "boundary": plain(boundary)}
        table["initial"] = {"method": "explicit", **named("initial", table)}
        table["run"] = {"end_time": 0.0, **named("run", table)}
        with named_in_python():
            beads.make_whole(box_of(SOURCE, table))
            beads.set_lengths(bond_length, tolerance, of_all.get("rigid") is not False)
            table["molecule"] = with_keys(beads.kinds(molecule), of_all)
            config = beads.on_bonds(config_from_table(table, SOURCE))
            build_system(config)  # says what is wrong with places and bonds now, not when it is to move
        return cls(config)

    def __repr__(self) -> str:
        box, kinds = self.config.box, self.config.molecules
        size = " x ".join(f"{edge:.6g}" for edge in box.size)
        what = f"{counted(self.config.beads, 'bead')} in {counted(sum(kind.count for kind in kinds), 'molecule')}"
        return f"<System: {what}, box {size} ({', '.join(box.boundary)})>"

    @property
    def position(self) -> NDArray[np.float64]:
        """(N, 3) positions, a read-only copy [length]."""
        return read_only(np.concatenate([kind.positions for kind in self.config.molecules]))

    def to_toml(self) -> str:
        """Return the input file of the same system."""
        return self.config.to_toml()


def with_keys(kinds: list[dict[str, object]], of_all: Mapping[str, object]) -> list[dict[str, object]]:
    """Return [[molecule]] tables with keys of all molecules, each where it means something, or where it does nowhere.

    Limits of distances are of molecules of three beads and more, a velocity of those with fixed beads.
    """
    needs: dict[str, Callable[[dict[str, object]], bool]] = {
        "distance_limits": lambda kind: kind.get("beads", 1) not in (1, 2),
        "fixed_velocity": lambda kind: "fixed" in kind,
    }
    found = list(kinds)
    for key, value in of_all.items():
        meant = [key not in needs or needs[key](kind) for kind in kinds]
        found = [kind | {key: value} if own or not any(meant) else kind for kind, own in zip(found, meant, strict=True)]
    return found


@contextmanager
def named_in_python() -> Iterator[None]:
    """Raise ConfigErrors of what arrays make with the names that Python gives to keys of the input."""
    try:
        yield
    except ConfigError as error:
        error.args = (in_python(str(error)),)
        raise


def in_python(text: str) -> str:
    """Return a message with arguments of `System.from_arrays` in place of the input's keys."""
    text = re.sub(r"\bmolecule(?:\[\d+\])?\.([a-z]\w*)", lambda key: ARGUMENTS.get(key[1], key[1]), text)
    text, nearest, keys = text.partition("the nearest valid key")
    keys = re.sub(r"\b(wall|potential)\.(\w+)", r'\1=[{"\2": …}]', keys)
    text += nearest + re.sub(rf"\b({'|'.join(SECTIONS)})\.(\w+)", r'\1={"\2": …}', keys)
    text = re.sub(r"\bbox\.(origin|boundary)\b", r"\1", text.replace("box.size", "box"))
    words = {"true": "True", "false": "False"}
    setting = rf"\b({'|'.join(SECTIONS)})\.(\w+) = (\"[^\"]*\"|[-\w.]+)"
    text = re.sub(setting, lambda key: f'{key[1]}={{"{key[2]}": {words.get(key[3], key[3])}}}', text)
    text = re.sub(r"= (true|false)\b", lambda value: f"= {words[value[1]]}", text)
    return re.sub(r"\[\[([\w.]+)\]\]", r"\1", text)


def read_only(array: NDArray[Entry]) -> NDArray[Entry]:
    """Return an array that cannot be written to: it is a copy, and changing it would change nothing else."""
    array.flags.writeable = False
    return array


def section_of(name: str, section: object) -> object:
    """Return a section of the input as TOML would have it; raises ConfigError where it is no dict, or list of dicts."""
    if name in ARGUMENTS:
        raise ConfigError(f"{SOURCE}: {name}: is called {ARGUMENTS[name]} here")
    if name in keys_of("molecule") and name not in SECTIONS:
        raise ConfigError(
            f"{SOURCE}: {name}: cannot be given for all molecules of arrays; write the input that says the same with "
            "to_toml() and change it there"
        )
    if name in ("wall", "potential", "contact.pair"):
        if not isinstance(section, (list, tuple)) or not all(isinstance(one, Mapping) for one in section):
            example = {"wall": "'side': 'z-'", "potential": "'name': 'steps'"}.get(name, "'types': ['A', 'B']")
            raise ConfigError(f"{SOURCE}: {name}: is {section!r:.60}; it is a list of dicts, as [{{{example}, …}}]")
    elif name in SECTIONS and not isinstance(section, Mapping):
        raise ConfigError(f"{SOURCE}: {name}: is {section!r}; sections are dicts, as contact={{'restitution': 0.9}}")
    elif name == "contact" and isinstance(section, Mapping) and "pair" in section:
        section_of("contact.pair", section["pair"])
    return plain(section)


def plain(value: object) -> object:
    """Return a value with dicts, lists and numbers of Python for like ones of others."""
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if hasattr(value, "tolist"):
        return digits_of(value).tolist()
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def box_of(source: str, table: Mapping[str, object]) -> Box:
    """Return the Box of an input's table; raises ConfigError where it is none."""
    with wrong_as(ConfigError, f"{source}: "):
        return build_box(read_named(BoxSection, table))
