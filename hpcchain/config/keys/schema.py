"""The table of all keys of the input: value, default and meaning, in one place for reading, writing and the manual."""

from __future__ import annotations

from typing import Any

from hpcchain.config.keys.key import ABSENT
from hpcchain.config.keys.keys_of_motion import MOTION_KEYS
from hpcchain.config.keys.keys_of_the_run import RUN_KEYS
from hpcchain.config.keys.keys_of_the_system import SYSTEM_KEYS
from hpcchain.propagators.catalogue import users_of

KEYS = (*SYSTEM_KEYS, *MOTION_KEYS, *RUN_KEYS)


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
KIND_KEYS = {"arms": ("star",), "arm_beads": ("star",), "bonds": ("graph",), "sites": ("rigid",)}
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
