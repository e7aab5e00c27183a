"""Whether the values of keys with units are such as runs have been tried with, seen in the system's own units.

Most lengths, masses and times have the range of their value (`Tried` in `hpcchain.config.keys.values`). All other keys
are looked at with the least diameter d and the least mass m. That is a velocity v by d / v, an acceleration g by (d /
g)^1/2, a temperature or energy T by d (m / T)^1/2, a stiffness k by (m / k)^1/2, a rate by its inverse. A key's meaning
says its unit in square brackets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hpcchain.config.keys.schema import KEYS
from hpcchain.config.keys.sections import MoleculeSection, WallSection
from hpcchain.config.keys.values import EDGES, Tried, Wrong, wrong_as
from hpcchain.propagators.catalogue import PROPAGATORS

if TYPE_CHECKING:
    from hpcchain.config.keys.key import Key
    from hpcchain.config.keys.sections import Config

NATURAL_TIMES = Tried("natural times", 1e-6, 1e15)
MOMENTS = Tried("moments of inertia over mass and diameter squared", 1e-9, 1e9)

FASTEST = 1e-3
"""Of the thermal time of the start, by which the clock of the engine of events and its sums are set."""

SHORTEST, LONGEST = 2.0**-23, 1e6
"""Of the thermal time of the start, steps of propagators: at least some four times what is one instant, at most."""

Powers: TypeAlias = tuple[int, int, int]
"""Of mass, length and time."""
UNIT = re.compile(r"\[((?:1|mass|length|time)\b[^\],]*)\]")
LEFT = ("initial.temperature", "molecule.velocities")
"""Keys of the start, which is looked at as a whole: by `check_temperature`, and where velocities are given."""


@dataclass(frozen=True)
class Beads:
    """Least diameter [length] and mass [mass] of a system, and its thermal time at the start, 0 if unknown [time]."""

    diameter: float
    mass: float
    thermal: float


def unit_of(key: Key[object]) -> Powers | None:
    """Return the powers of mass, length and time in a key's unit; None where it has none."""
    found = UNIT.search(key.meaning)
    if found is None:
        return None
    power = {"mass": 0, "length": 0, "time": 0, "1": 0}
    for sign, part in zip((1, -1), found[1].split(" / "), strict=False):
        for name, _, exponent in (factor.partition("^") for factor in part.split()):
            power[name] += sign * int(exponent or 1)
    return power["mass"], power["length"], power["time"]


@cache
def derived_keys() -> dict[Key[object], Powers]:
    """Return {key: powers of its unit} of those that are looked at here."""
    units = {key: unit_of(key) for key in KEYS if key.path not in LEFT}
    return {key: unit for key, unit in units.items() if unit and (unit[2] < 0 or not has_range(key))}


def has_range(key: Key[object]) -> bool:
    """Return whether a key's value has a range of its own."""
    return getattr(getattr(key.value, "entry", key.value), "tried", None) is not None


def check_units(config: Config, beads: Beads | None = None) -> None:
    """Raise Wrong, with key and reason, where a value has not been tried.

    Parameters
    ----------
    config : Config
    beads : Beads, optional
        Those of a start file.
    """
    beads = beads or beads_of(config)
    for where, table in config.tables:
        own = beads
        if isinstance(table, MoleculeSection):
            thermal = 0.0 if table.directors else beads.thermal  # directors turn whatever the clock is
            own = Beads(float(np.min(table.diameter)), float(np.min(table.mass)), thermal)
        for key, unit in derived_keys().items():
            if key.section == table.section:
                value = getattr(table, key.name)
                numbers = 0.0 if value is None or isinstance(value, str) else np.abs(value)
                check_value(f"{where}.{key.name}", float(np.max(numbers, initial=0.0)), unit, own, config)
        if isinstance(table, WallSection) and table.oscillation is not None:
            speed = 2.0 * np.pi * float(np.max(np.abs(table.amplitude))) / table.oscillation.period
            check_value(f"{where}.oscillation", speed, (0, 1, -1), own, config)
    check_steps(config, beads.thermal)


def check_steps(config: Config, thermal: float) -> None:
    """Raise Wrong where steps are too long or too short for the thermal time of the start, 0 if unknown [time]."""
    firm = any(not np.all(kind.soft) or (kind.rigid and kind.beads > 1) for kind in config.molecules)
    if config.steps is not None and firm and 0.0 < thermal < config.steps.step:
        raise Wrong(
            f"steps.step: beads at the start move by more than the least diameter in a step of {config.steps.step:g}; "
            f"make it smaller than {thermal:.3g}, a tenth of that or less, or start with slower beads "
            "(initial.temperature, molecule.velocities)"
        )
    for where, one in config.propagators if thermal > 0.0 else ():
        step = one.step
        if step is None:
            continue
        if step < SHORTEST * thermal:
            raise Wrong(
                f"{where}.step: {step:g} is so short that contacts some steps apart are at one instant; make it "
                f"{SHORTEST * thermal:.3g} or more"
            )
        if PROPAGATORS[one.name].stepped and step > LONGEST * thermal:
            raise Wrong(
                f"{where}.step: {step:g} is {step / thermal:.3g} times as long as beads take for a diameter at the "
                f"start; make it shorter, a tenth of that time or less, which is {0.1 * thermal:.3g}"
            )


def beads_of(config: Config) -> Beads:
    """Return the Beads of an input's molecules; their thermal time is a start file's to say."""
    kinds = config.molecules
    diameter, mass = (min(float(np.min(getattr(kind, name))) for kind in kinds) for name in ("diameter", "mass"))
    if config.initial.method == "file":
        return Beads(diameter, mass, 0.0)
    squared = thermal_square(config)
    if kinds[0].velocities is not None:
        squared = float(np.mean(np.sum(np.concatenate([kind.velocities for kind in kinds]) ** 2, axis=1)))
    if squared == 0.0:  # what is at rest begins to fall
        squared = float(np.linalg.norm(config.external.gravity)) * diameter
    return Beads(diameter, mass, diameter / squared**0.5 if squared > 0.0 else 0.0)


def thermal_square(config: Config) -> float:
    """Return the mean square speed of beads at initial.temperature [length^2 / time^2]."""
    slowness = sum(kind.count * kind.beads * float(np.mean(1.0 / np.array(kind.mass))) for kind in config.molecules)
    return 3.0 * config.initial.temperature * slowness / config.beads


def check_value(where: str, greatest: float, unit: Powers, beads: Beads, config: Config) -> None:
    """Raise Wrong where the greatest magnitude of a key's value has not been tried.

    Parameters
    ----------
    where : str
        The key.
    greatest : float
        0 is left to the caller.
    unit : tuple
        As `unit_of` returns it.
    beads : Beads
        By which it is looked at.
    config : Config
    """
    if greatest == 0.0:
        return
    mass, length, time = unit
    reduced = greatest / (beads.mass**mass * beads.diameter**length)
    if time == 0 and mass == 0:
        tried, seen = EDGES, greatest
    elif time == 0:
        tried, seen = MOMENTS, reduced
    else:
        tried, seen = NATURAL_TIMES, reduced ** (1.0 / time)
    whose = f"beads of diameter {beads.diameter:g} and mass {beads.mass:g}"
    with wrong_as(Wrong, f"{where}: {greatest:g} does not fit {whose}: "):
        tried.require(seen)
    if time and config.run.engine == "events" and seen < FASTEST * beads.thermal:
        raise Wrong(
            f"{where}: {greatest:g} acts within a time of {seen:.3g}, and beads take {beads.thermal:.3g} for a "
            f"diameter at the start, by which a run's clock is set. They may differ by a factor of {1.0 / FASTEST:g}: "
            "lower it, or start with faster beads (initial.temperature, molecule.velocities)"
        )
    if config.steps is not None and (mass, length) == (0, 1) and seen < config.steps.step:
        raise Wrong(
            f"{where}: {greatest:g} moves beads by more than the diameter {beads.diameter:g} in a step of steps.step = "
            f"{config.steps.step:g}; lower it, or make the step smaller than {seen:.3g}"
        )
