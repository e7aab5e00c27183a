"""What the keys of the engine of steps must satisfy, and what it has no keys for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.capabilities import check_capabilities
from hpcchain.config.demands.contacts import check_walls, require_types
from hpcchain.config.demands.potentials import BONDS, PAIRS, WCA, slowness_of, sort_of, types_in, types_of_beads
from hpcchain.config.keys.key import numbered, required
from hpcchain.config.keys.values import Wrong
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.physics.extended import type_pairs
from hpcchain.model.system import images_between

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PotentialSection, StepsSection


OUTPUTS = {"frame_every": "frames", "report_every": "reports", "checkpoint_every": "checkpoints"}

MIDPOINT = 7.0**0.5
"""Step in units of 2 / omega from which on a linear force q times too strong, q = (step omega / 2)^2, settles nowhere:
an iteration that goes a quarter (`LEAST_SHARE`) of the way multiplies what is wrong by 1 - (1 + q) / 4."""

HOT = 7.0
"""Times the temperature: an energy that one in a thousand meetings has, which every run sees."""

SHARED = 2.0
"""Times the energy of a strained bond: it may get what its neighbour in the chain had."""

UNKNOWN = (math.inf, 0.0)
"""Least and greatest length of bonds [length]."""

FULL = 1e-20
"""1 less the square of a FENE bond's length over its greatest, at least."""

RELAX = "or start with bonds nearer to where they rest (molecule.bond_length), "
BONDS_HAVE = ", or with what bonds of the start have"

ROUND_OFF = 2.0**-52
"""Of a speed: no residual of contacts is smaller but by chance."""


def check_stepping(config: Config) -> None:
    """Raise Wrong, with key and reason, when the keys of steps do not fit the engine or one another."""
    steps = config.steps
    check_walls(config)
    if config.run.engine == "events" or steps is None:
        check_events(config)
        return
    if config.contact.simultaneous == "moreau" and steps.integrator == "dsi":
        raise Wrong(
            'contact.simultaneous: "moreau" means nothing for steps.integrator "dsi", which reflects nothing; remove it'
        )
    if steps.integrator == "contact":
        check_contact_dynamics(config)
    for key in OUTPUTS:
        require_whole(f"output.{key}", getattr(config.output, key), steps.step)
    require_whole("run.end_time", config.run.end_time, steps.step)
    check_potentials(config, steps)
    for where, kind in numbered(config.molecules):
        check_kind(config, kind, where)


def check_contact_dynamics(config: Config) -> None:
    """Check what contact dynamics have no use for, and that there are beads that touch."""
    if config.propagator.tolerance < ROUND_OFF:
        raise Wrong(
            f"propagator.tolerance: {config.propagator.tolerance:g} is below the round-off of speeds, to which no "
            'contact can be solved by steps.integrator "contact"; use 1e-15 or more'
        )
    if all(np.all(kind.soft) for kind in config.molecules):
        raise Wrong('steps.integrator: "contact" is for beads with a hard core; set molecule.hard = true, or use "gvi"')
    for where, kind in numbered(config.molecules):
        if kind.is_line and config.contact.rubs:
            raise Wrong(
                f"{where}.kind: beads of a rod do not spin, nor does it about its line; set contact.friction = 0, or "
                'choose another kind: "chain", or "rigid", of beads that are not all on a line'
            )


def check_events(config: Config) -> None:
    """Check that the engine of events is not asked for what only that of steps has."""
    if config.thermostat is not None and config.thermostat.name != "andersen":
        raise Wrong(
            f'thermostat.name: "{config.thermostat.name}" is for run.engine "steps"; set that, or choose "andersen"'
        )
    if any(one.name != "steps" for one in config.potentials):
        raise Wrong('potential: means nothing for run.engine "events"; set run.engine = "steps" or remove it')
    check_capabilities(config)


def require_whole(key: str, time: float, step: float) -> None:
    """Raise Wrong unless a time is a whole number of steps, both as they are written in decimal."""
    if Fraction(repr(float(time))) % Fraction(repr(step)):
        count = max(round(time / step), 1)
        nearest = float(count * Fraction(repr(step)))
        raise Wrong(f"{key}: {float(time)!r} is not a whole number of steps of steps.step = {step!r}; use {nearest!r}")


def check_potentials(config: Config, steps: StepsSection) -> None:
    """Check types of potentials, and that no pair, bond or bead has two of them."""
    names = type_names(config.molecules)
    taken: dict[tuple[str, tuple[str, ...]], str] = {}
    for where, one in numbered(config.potentials):
        if one.name == "steps":
            raise Wrong(f'{where}.name: "steps" is for run.engine "events"; choose a smooth potential')
        require_types(one.types or (), names, where)
        sort = sort_of(one)
        if one.cutoff == "none" and "periodic" in config.box.boundary:
            raise Wrong(f'{where}.cutoff: "none" is for boxes without periodic sides; give a number')
        if one.name == "module" and steps.energy == "H2":
            raise Wrong(
                f'{where}: has no second derivatives, which steps.energy "H2" needs; set steps.energy = "H" or use '
                "another potential"
            )
        for pair in [()] if sort == "center" else type_pairs(one.types, names):
            if (sort, pair) in taken:
                what = f"{sort} of {pair[0]} and {pair[1]}" if pair else "beads"
                raise Wrong(f"{where}: {what} have {taken[sort, pair]} already; give them one")
            taken[sort, pair] = where
        if one.name == "fene" and required(one.length) <= required(one.sigma):
            raise Wrong(
                f"{where}.length: {one.length:g} leaves bonds no room beyond sigma = {one.sigma:g}; lengthen it"
            )


def check_stable(config: Config) -> None:
    """Check that what oscillates in a potential is not so fast that no run with such steps can be right.

    Verlet steps are unstable beyond 2 / omega. Those of the midpoint rule are stable, but the iteration that looks for
    them ends nowhere beyond `MIDPOINT` times that.
    """
    for where, one, frequency, limit in unstable(config):
        implicit = required(config.steps).base == "midpoint"
        raise Wrong(
            f"steps.step: {required(config.steps).step:g} is too long for {where}, in which beads oscillate "
            f"with angular frequency {frequency:.3g}: steps longer than {limit:.3g} over it, {limit / frequency:.3g}, "
            f"{'are not found by the midpoint rule' if implicit else 'are unstable'}; make it smaller, a tenth of that "
            f"or less, {RELAX * (one.name == 'fene')}or lower {where}."
            f"{'stiffness' if one.stiffness else 'epsilon'}"
        )
    check_near(config)


def check_near(config: Config) -> None:
    """Check that no centre is so far from the box that beads on their way to it move too far in a step for lists.

    These look no farther than half a periodic side.
    """
    sides = [
        size for size, boundary in zip(config.box.size, config.box.boundary, strict=True) if boundary == "periodic"
    ]
    listed = any(one.name in PAIRS for one in config.potentials) or not all(
        np.all(kind.soft) for kind in config.molecules
    )
    for where, one in numbered(config.potentials if config.steps and sides and listed else ()):
        if one.name == "center":
            center, low = np.array(required(one.center)), np.array(config.box.origin)
            away = float(np.linalg.norm(np.maximum(np.maximum(low - center, center - low - config.box.size), 0.0)))
            frequency = max(math.sqrt(stiffness * slowness) for stiffness, slowness in oscillators(config, one))
            step = required(config.steps).step
            moved = away * frequency * step * min(1.0, frequency * config.run.end_time)
            if 4.0 * moved > min(sides):
                raise Wrong(
                    f"{where}.center: is {away:.3g} from the box, so that beads move {moved:.3g} in a step "
                    f"of steps.step = {step:g}. That is too far for the periodic side {min(sides):g} of the box: place "
                    f"it nearer, lower {where}.stiffness, or make steps.step smaller"
                )


def unstable(config: Config, heat: float | None = None) -> Iterator[tuple[str, PotentialSection, float, float]]:
    """Yield name and table of each potential in which steps are too long, greatest angular frequency, and limit.

    Steps longer than the limit over the frequency are unstable. `heat`: see `oscillators`.
    """
    if config.steps is None:
        return
    limit = 2.0 * (MIDPOINT if config.steps.base == "midpoint" else 1.0)
    for where, one in numbered(config.potentials):
        squared = max((stiffness * slowness for stiffness, slowness in oscillators(config, one, heat)), default=0.0)
        if squared * config.steps.step**2 > limit**2:
            yield where, one, squared**0.5, limit


def too_hot(config: Config) -> list[str]:
    """Return a line for each potential in which beads of the input's temperature come to where steps are unstable."""
    drawn = config.initial.method == "grow" or any(kind.velocities is None for kind in config.molecules)
    start = config.initial.temperature if drawn and config.initial.method != "file" else 0.0
    hottest = max(start, config.thermostat.temperature if config.thermostat else 0.0)
    return [
        f"steps.step = {required(config.steps).step:g} is long for temperature {hottest:g}: where beads come with "
        f"{HOT:g} times that energy{BONDS_HAVE * (one.name == 'fene')}, {where} makes steps longer than "
        f"{limit / frequency:.3g} unstable, and the run may end there; make it smaller, or the temperature lower"
        for where, one, frequency, limit in unstable(config, HOT * hottest)
    ]


def oscillators(config: Config, one: PotentialSection, heat: float | None = None) -> Iterator[tuple[float, float]]:
    """Yield (stiffness [mass / time^2], inverse reduced mass [1 / mass]) of what a potential has oscillate.

    While a start is grown beads come as near as their diameters, where a potential of pairs may be stiffer. Bonds that
    can tear may be stiffer where they begin, too, and have energy to give.

    Parameters
    ----------
    config : Config
    one : PotentialSection
    heat : float, optional
        Energy with which beads move in it; without it they begin to move [mass length^2 / time^2].
    """
    grown = config.initial.method == "grow"
    if one.name in PAIRS:
        light = types_in(config)
        for a, b in type_pairs(one.types, list(light)):
            apart = 0.5 * (light[a].least + light[b].least)
            yield (
                curvature(one, apart, grown, light[a].hard and light[b].hard, heat or 0.0),
                light[a].slowness + light[b].slowness,
            )
    elif one.name == "center":
        yield required(one.stiffness), max(bead.slowness for bead in types_in(config).values())
    elif one.name in BONDS:
        for kind in (kind for kind in config.molecules if not kind.rigid and kind.bond_count):
            bonds, names = kind.bond_table, types_of_beads(kind)
            slowness = np.broadcast_to(slowness_of(kind), kind.beads)
            for types in dict.fromkeys(map(tuple, names[bonds].tolist())):
                if one.types is None or set(types) == set(one.types):
                    of_these = np.all(names[bonds] == np.array(types, dtype=object), axis=1)
                    least, most = lengths_at_start(config, kind, of_these)
                    if one.name == "fene" and most >= required(one.length):  # torn, as the start's own check says
                        least, most = UNKNOWN
                    hot = heat or 0.0
                    if heat is not None and most > 0.0 and one.name == "fene":
                        hot += SHARED * strain(one, least, most)
                    found = curvature(one, least, most > 0.0, heat=hot, longest=most)
                    yield found, float(slowness[bonds[of_these]].sum(axis=1).max())


def lengths_at_start(config: Config, kind: MoleculeSection, which: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the least and greatest length at the start of some of a kind's bonds; UNKNOWN where a file says it."""
    if config.initial.method == "file":
        return UNKNOWN
    bonds = kind.bond_table
    length = np.broadcast_to(kind.bond_length, len(bonds))
    if kind.positions is not None:
        places, size = kind.positions.reshape(kind.count, kind.beads, 3), np.array(config.box.size)
        apart = places[:, bonds[:, 1]] - places[:, bonds[:, 0]]
        apart -= images_between(apart, size, np.array(config.box.boundary) == "periodic") * size
        length = np.linalg.norm(apart, axis=2)
    return float(length[..., which].min()), float(length[..., which].max())


def strain(one: PotentialSection, *lengths: float) -> float:
    """Return how much more energy FENE bonds of some lengths have than at rest, the most [mass length^2 / time^2]."""
    greatest, sigma = required(one.length), required(one.sigma)
    r = np.concatenate([lengths, np.linspace(0.0, greatest, 1001)[1:-1]])
    sixth = (sigma / r) ** 6
    push = np.where(r < WCA * sigma, 4.0 * required(one.epsilon) * (sixth**2 - sixth + 0.25), 0.0)
    energy = push - 0.5 * required(one.stiffness) * greatest**2 * np.log(1.0 - (r / greatest) ** 2)
    return float(energy[: len(lengths)].max() - energy.min())


def curvature(
    one: PotentialSection,
    apart: float = math.inf,
    grown: bool = False,
    hard: bool = False,
    heat: float = 0.0,
    longest: float = 0.0,
) -> float:
    """Return a potential's second derivative where beads come to [mass / time^2].

    That is its minimum, or where it ends if that is nearer. It is a smaller distance `apart` if a start is `grown` with
    it, and a larger one if there are two `hard` cores so far apart; or where it is higher by an energy `heat`. A bond
    may be stiffer where it is `longest`, too.
    """
    stiffness = one.stiffness or 0.0
    if one.name == "fene":
        square = required(one.length) ** 2
        left = max(min(math.exp(-2.0 * heat / (stiffness * square)), 1.0 - longest**2 / square), FULL)
        stiffness *= (2.0 - left) / left**2
    if one.sigma is None:
        return stiffness
    distance = (2.0 / (1.0 + (heat / required(one.epsilon)) ** 0.5)) ** (1.0 / 6.0) * one.sigma
    if isinstance(one.cutoff, float):  # where it ends they are pushed apart as far as it acts
        distance = min(distance, one.cutoff)
    if hard:
        distance = max(distance, apart)
    elif grown:
        distance = min(distance, apart)
    inverse = (one.sigma / distance) ** 6
    return stiffness + 4.0 * required(one.epsilon) * (156.0 * inverse - 42.0) * inverse ** (4.0 / 3.0) / one.sigma**2


def check_kind(config: Config, kind: MoleculeSection, where: str) -> None:
    """Check that the engine of steps can move a kind of molecules."""
    if kind.is_line and not kind.rigid:
        raise Wrong(f'{where}.rigid: a rod is rigid; use kind = "chain" for beads that potentials hold together')
    walled = "wall" in config.box.boundary or any(one.shape for one in config.walls)
    if walled and np.any(kind.soft):
        raise Wrong(f'{where}.hard: walls stop only beads with a hard core; use boundary "periodic" or "open"')
