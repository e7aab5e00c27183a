"""What the keys must satisfy together: sizes of lists, bonds, room in the box, what a method needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.contacts import along, check_contact, inwards, largest_diameter
from hpcchain.config.demands.molecules import (
    MOST_FILLED,
    apart_in_body,
    check_apart,
    check_body,
    check_directors,
    check_fits,
    check_fixed,
    check_graph,
)
from hpcchain.config.demands.no_effect import check_effects, is_given
from hpcchain.config.demands.potentials import check_acting, check_limits, check_step_potentials
from hpcchain.config.demands.stepping import check_stable, check_stepping
from hpcchain.config.demands.units import check_units, thermal_square
from hpcchain.config.keys.key import MOST_BEADS, numbered, required
from hpcchain.config.keys.sections import OF_BEADS
from hpcchain.config.keys.values import THERMAL_TIMES, Wrong, wrong_as
from hpcchain.config.packing import cubes
from hpcchain.config.sizes import OF_START, in_tables
from hpcchain.errors import ConfigError
from hpcchain.model.physics.constants import WallConstants
from hpcchain.model.physics.walls import NOT_GIVEN, volume_within
from hpcchain.propagators.catalogue import PROPAGATORS, ROD_PROPAGATORS, SPHERE_PROPAGATORS, solver_for

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PropagatorSection, WallSection


# The densest packing of equal spheres, and what growing diameters still reaches in reasonable time.
DENSEST, GROWN_MONOMERS, GROWN_MOLECULES = 0.7405, 0.60, 0.55

MOST_DIAMETERS = 1e9  # of the smallest bead along an edge of the box

# Of the largest diameter: what walls leave beyond it. A bead that touches both at once would meet them for ever.
LEAST_GAP = 1e-9

# Ratio of the greatest to the least mass up to which contacts and bonds are known to keep the energy to round-off.
# Where bonds of one molecule close on themselves their equations lose as many digits as the masses differ by.
MOST_MASS_RATIO, MOST_IN_CYCLES = 1e12, 1e10

# The same where energy is counted that comes from outside, in units of what the heaviest bead has.
MOST_WHERE_COUNTED = 1e6

# Of the smallest diameter: lists with a thinner shell are made anew so often that nothing else gets done.
THINNEST_SHELL = 1e-4

# Relative: the last bits of a division.
ROUNDING = 1e-12

NO_TEMPERATURE = (
    "initial.temperature: one bead whose momentum is zero has no temperature; give its velocity: "
    'initial.method = "explicit" with molecule.velocities'
)


def check(config: Config) -> None:
    """Raise Wrong, with key and reason, when the input asks for something impossible.

    Parameters
    ----------
    config : Config
        A complete input.
    """
    try:
        check_all(config)
    except Wrong as wrong:
        raise Wrong(in_tables(str(wrong), config.molecules)) from None


def check_all(config: Config) -> None:
    """Do what `check` does, with kinds as they are numbered in the Config."""
    check_effects(config)
    if config.initial.method == "file" and config.initial.file is None:
        raise Wrong('initial.file: is missing; method "file" needs the name of a start file')
    check_stepping(config)
    check_contact(config)
    check_fixed(config)
    check_propagator(config.propagator, "propagator", [kind for kind in config.molecules if kind.propagator is None])
    if config.beads > MOST_BEADS:
        raise Wrong(f"molecule: {config.beads} beads in all are more than {MOST_BEADS}; lower count or beads")
    for where, kind in numbered(config.molecules):
        check_lists(kind, where)
        check_rows(kind, where, config.initial.method)
        check_directors(kind, where, kind.propagator or config.propagator)
        if kind.kind == "graph":
            check_graph(kind.beads, required(kind.bonds), where)
        check_apart(kind, where)
        if kind.kind == "ring":
            check_ring(kind, where)
        if kind.is_line:
            check_fits(kind, where, config.box)
        if kind.is_body:
            check_body(config, kind, where)
        if kind.propagator is not None:
            check_own(kind, where)
    if config.run.engine == "events":
        check_step_potentials(config)
        for where, kind in numbered(config.molecules):
            check_limits(config, kind, f"{where}.distance_limits")
    else:
        check_acting(config)
    check_velocities(config)
    check_masses(config)
    check_box(config)
    check_packing(config)
    check_shell(config)
    check_temperature(config)
    check_units(config)
    check_stable(config)


def check_own(kind: MoleculeSection, where: str) -> None:
    """Check a kind's own propagator."""
    propagator = required(kind.propagator)
    if kind.directors and propagator.name not in SPHERE_PROPAGATORS:
        raise Wrong(
            f'{where}.propagator: spheres with directors have no steps of "{propagator.name}"; choose '
            f"{', '.join(SPHERE_PROPAGATORS)}, or remove it"
        )
    if kind.is_line and propagator.name not in ROD_PROPAGATORS:
        raise Wrong(
            f'{where}.propagator: rods have no steps of "{propagator.name}", they fly exactly; choose '
            f"{', '.join(ROD_PROPAGATORS)}, or remove it"
        )
    check_propagator(propagator, f"{where}.propagator", [kind])


def check_propagator(propagator: PropagatorSection, where: str, kinds: list[MoleculeSection]) -> None:
    """Check that a propagator has what it needs to move the molecules of some kinds."""
    name, solver, search = propagator.name, propagator.solver, propagator.contact_search
    known = PROPAGATORS[name]
    if known.stepped and propagator.step is None:
        raise Wrong(f'{where}.step: is missing; "{name}" needs the longest segment [time]')
    if name == "collocation":
        try:
            solver_for(propagator.variant, propagator.stage_solver)
        except ConfigError as error:
            raise Wrong(f"{where}.{str(error).removeprefix('propagator.')}") from error
    if known.solvers and solver not in known.solvers:
        raise Wrong(f'{where}.solver: "{solver}" is not for "{name}"; choose {", ".join(known.solvers)}')
    if solver == "null-space" and any(kind.beads > 1 and kind.bond_count >= kind.beads for kind in kinds):
        raise Wrong(f'{where}.solver: "null-space" moves molecules without rings only; choose "tridiagonal"')
    if known.contact_searches and search not in known.contact_searches:
        raise Wrong(
            f'{where}.contact_search: "{search}" is not for "{name}"; choose {", ".join(known.contact_searches)}'
        )


def check_lists(kind: MoleculeSection, where: str) -> None:
    """Check that lists have one entry per bead or bond."""
    for name in (*OF_BEADS, "bond_length"):
        value = getattr(kind, name)
        size, item = (kind.bond_count, "bond") if name == "bond_length" else (kind.beads, "bead")
        if isinstance(value, tuple) and len(value) != size:
            raise Wrong(f"{where}.{name}: is a list of {len(value)}; needs {size}, one per {item}, or one for all")


def check_rows(kind: MoleculeSection, where: str, method: str) -> None:
    """Check that an explicit start has positions, and that what it has a row for each bead of has as many."""
    wanted, count = kind.count * kind.beads, "count" if kind.beads == 1 else "count × beads"
    if method != "explicit":
        return
    if kind.positions is None:
        raise Wrong(f'{where}.positions: is missing; initial.method "explicit" needs {wanted} rows [x, y, z]')
    for name in OF_START:
        rows, columns = getattr(kind, name), str(kind.keys()[name].value).removeprefix("list of ")
        if rows is not None and len(rows) != wanted:
            raise Wrong(f"{where}.{name}: has {len(rows)} rows; needs {count} = {wanted} rows {columns}")


def check_velocities(config: Config) -> None:
    """Check that all kinds have velocities or none, as a temperature is that of all, and that there can be one."""
    without = [where for where, kind in numbered(config.molecules) if kind.velocities is None]
    if without and config.beads == 1 and config.initial.method != "file":
        raise Wrong(NO_TEMPERATURE)
    if 0 < len(without) < len(config.molecules):
        raise Wrong(
            f"{without[0]}.velocities: is missing, and other kinds have theirs; give all kinds "
            "velocities, or none, and they are drawn at initial.temperature"
        )


def check_masses(config: Config) -> None:
    """Check that no bead is so much heavier than another that their contacts or bonds round to nothing."""
    extremes = [
        (float(np.max(kind.mass)), float(np.min(kind.mass)), f"{where}.mass")
        for where, kind in numbered(config.molecules)
    ]
    greatest, least = max(extremes), min(extremes, key=lambda each: each[1])
    ratio = greatest[0] / least[1]
    for where, kind in numbered(config.molecules):
        own = float(np.max(kind.mass)) / float(np.min(kind.mass))
        if kind.bond_count >= kind.beads and own > MOST_IN_CYCLES * (1.0 + ROUNDING):
            raise Wrong(
                f"{where}.mass: the greatest is {own:.3g} times the least; masses in a molecule with "
                f"closed bonds may differ by a factor of up to {MOST_IN_CYCLES:g}"
            )
    most, where, outside = MOST_MASS_RATIO, "", brings_energy(config)
    if outside is not None and ratio <= most * (1.0 + ROUNDING):
        most, where = MOST_WHERE_COUNTED, f"where {outside} brings energy in, "
    if ratio > most * (1.0 + ROUNDING):
        raise Wrong(
            f"{greatest[2]}: {greatest[0]:g} is {ratio:.3g} times the least mass {least[1]:g} ({least[2]}); {where}"
            f"masses may differ by a factor of up to {most:g}"
        )


def brings_energy(config: Config) -> str | None:
    """Return the key of what brings in energy from outside, which a run counts, None where nothing does."""
    if config.thermostat is not None:
        return "thermostat"
    keys = {"wall": ("temperature", "velocity", "oscillation"), "molecule": ("fixed_velocity",)}
    given = ((where, one, name) for where, one in config.tables for name in keys.get(one.section, ()))
    return next((f"{where}.{name}" for where, one, name in given if is_given(one, name)), None)


def check_ring(kind: MoleculeSection, where: str) -> None:
    """Check that the bonds of a ring can close."""
    if not isinstance(kind.bond_length, tuple):
        return
    longest = max(kind.bond_length)
    rest = sum(kind.bond_length) - longest
    if longest >= rest:
        raise Wrong(
            f"{where}.bond_length: the ring cannot close: its longest bond {longest} is not shorter than all others "
            f"together, {rest}"
        )


def check_box(config: Config) -> None:
    """Check that the box is large enough for the largest bead along every axis, and near enough to zero."""
    box, largest, smallest = config.box, largest_diameter(config), smallest_diameter(config.molecules)
    for axis, (size, origin, boundary) in enumerate(zip(box.size, box.origin, box.boundary, strict=True)):
        if boundary == "periodic" and size < 3.0 * largest * (1.0 - ROUNDING):
            raise Wrong(
                f"box.size: the periodic side {size} along axis {axis} is shorter than three times the largest contact "
                f"distance {largest}; needs at least {3.0 * largest:g}"
            )
        if boundary == "wall" and size < largest * (1.0 + LEAST_GAP):
            raise Wrong(
                f"box.size: the side {size} between the walls of axis {axis} leaves the largest bead, of diameter "
                f"{largest}, no room to move; needs more than {LEAST_GAP:g} diameters beyond it"
            )
        if abs(origin) > 1e9 * size:
            raise Wrong(f"box.origin: {origin} along axis {axis} is so far from 0 that positions lose their digits")
        if size > MOST_DIAMETERS * smallest:
            raise Wrong(
                f"box.size: {size} along axis {axis} is more than {MOST_DIAMETERS:.0e} times the smallest "
                f"diameter {smallest}, so that positions lose their digits; make the box smaller"
            )


def check_shell(config: Config) -> None:
    """Check that the neighbour lists' shell lets a run get on."""
    shell, least = config.run.list_shell, THINNEST_SHELL * smallest_diameter(config.molecules)
    if shell != "auto" and shell < least:
        raise Wrong(
            f"run.list_shell: {shell} is so thin that lists would be made anew all the time; "
            f"needs at least {least:.6g}, a ten thousandth of the smallest diameter"
        )


def check_temperature(config: Config) -> None:
    """Check that velocities drawn at initial.temperature are such as have been tried."""
    if config.initial.method == "file" or config.molecules[0].velocities is not None:
        return
    temperature = f"{config.initial.temperature:g}"
    with wrong_as(Wrong, f"initial.temperature: {temperature} gives velocities too far from the diameters: "):
        require_tried_speed(smallest_diameter(config.molecules), thermal_square(config))


def require_tried_speed(diameter: float, squared: float) -> None:
    """Raise Wrong for a mean square speed that has not been tried.

    Parameters
    ----------
    diameter : float
        Of the smallest bead [length].
    squared : float
        0: nothing moves [length^2 / time^2].
    """
    if squared > 0.0:
        THERMAL_TIMES.require(diameter / squared**0.5)


def smallest_diameter(kinds: Sequence[MoleculeSection]) -> float:
    """Return the smallest bead's diameter [length]."""
    return min(float(np.min(kind.diameter)) for kind in kinds)


def walls_of(config: Config) -> tuple[WallConstants, ...]:
    """Return the walls of a checked input, with what they have left out."""
    return tuple(
        WallConstants(
            wall.side,
            wall.shape,
            wall.center,
            wall.radius,
            wall.axis,
            inwards(wall, wall.velocity),
            wall.temperature or 0.0,
            own_restitution(config, wall),
            own_tangential(config, wall),
            sliding=along(wall, wall.velocity),
            amplitude=inwards(wall, wall.amplitude) or None,
            shaking=along(wall, wall.amplitude),
            period=None if wall.oscillation is None else wall.oscillation.period,
        )
        for wall in config.walls
    )


def own_restitution(config: Config, wall: WallSection) -> float:
    """Return a wall's own coefficient of restitution; NOT_GIVEN where that of its contacts is [contact]'s to say."""
    if wall.restitution is not None:
        return float(wall.restitution)
    return NOT_GIVEN if wall.shape is None else float(config.contact.restitution)


def own_tangential(config: Config, wall: WallSection) -> float | None:
    """Return a wall's own e_t; None where that of its contacts is [contact]'s to say."""
    own = wall.tangential_restitution
    if own is None and wall.shape is not None and config.is_rough:
        own = config.contact.tangential_restitution
    return None if own is None else float(own)


def check_packing(config: Config) -> None:
    """Check that the beads have room in the box."""
    box = config.box
    grow = config.initial.method == "grow"
    if not grow and "open" in box.boundary:
        return
    volume = volume_within(box.size, walls_of(config))
    fraction = sum(kind.count * filled(kind) for kind in config.molecules) / volume
    equal = len({d for kind in config.molecules for d in np.unique(kind.diameter).tolist()}) == 1
    equal = equal and not any(is_fused(kind) for kind in config.molecules)
    bound, reason = (DENSEST if equal else 1.0), "no arrangement holds more"
    if grow:
        monomers = all(kind.beads == 1 for kind in config.molecules)
        bound, reason = (GROWN_MONOMERS if monomers else GROWN_MOLECULES), "method grow reaches no more"
    if fraction > bound:
        raise Wrong(
            f"box.size: the beads do not fit: packing fraction {fraction:.4g} is above {bound} ({reason}); "
            f"enlarge the box or lower molecule.count"
        )


def filled(kind: MoleculeSection) -> float:
    """Return the volume that the beads of one molecule fill at least [length^3]."""
    if kind.is_body:
        return np.pi / 6.0 * float(np.sum(np.power(apart_in_body(kind), 3)))
    listed = isinstance(kind.diameter, tuple) or isinstance(kind.bond_length, tuple)
    fused = is_fused(kind)
    if kind.is_line and (listed or fused):
        return np.pi / 6.0 * float(np.sum(np.power(apart_on_rod(kind), 3)))
    largest, total = np.pi / 6.0 * float(np.max(np.power(kind.diameter, 3))), np.pi / 6.0 * cubes(kind)
    if not kind.self_contact and not kind.is_line:
        return largest
    return max(largest, total - shared(kind)) if fused else total


def is_fused(kind: MoleculeSection) -> bool:
    """Return whether beads of a molecule may overlap: bonds are shorter than contact distances, or more is excluded."""
    if kind.exclude > 1:
        return True
    if kind.is_body:
        return len(apart_in_body(kind)) < min(kind.beads, MOST_FILLED)
    if kind.bond_count == 0:
        return False
    return bool(np.min(kind.bond_length) < np.max(kind.diameter)) and bool(np.any(overlaps(kind)[2] > 0.0))


def overlaps(kind: MoleculeSection) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the radii (b,) of the two beads of each bond, and by how much these overlap, 0 where they do not."""
    bonds = kind.bond_table
    radius = 0.5 * np.broadcast_to(kind.diameter, kind.beads)
    first, second = radius[bonds[:, 0]], radius[bonds[:, 1]]
    depth = first + second - np.broadcast_to(kind.bond_length, len(bonds))
    return first, second, np.where(depth > ROUNDING * (first + second), depth, 0.0)


def shared(kind: MoleculeSection) -> float:
    """Return a bound of the volume that beads of a fused molecule share, infinite where more than bonds is excluded."""
    if kind.exclude > 1:
        return np.inf
    first, second, depth = overlaps(kind)
    distance = first + second - depth
    small = np.minimum(first, second)
    inner = distance <= np.abs(first - second)
    lens = np.pi * depth**2 * (distance**2 + 2.0 * distance * (first + second) - 3.0 * (first - second) ** 2)
    return float(np.sum(np.where(inner, 4.0 / 3.0 * np.pi * small**3, lens / (12.0 * distance))))


def apart_on_rod(kind: MoleculeSection) -> list[float]:
    """Return diameters of beads of a rod of which no two overlap; beads further apart than neighbours may do that."""
    diameter = np.broadcast_to(kind.diameter, kind.beads)
    place = np.concatenate([[0.0], np.cumsum(np.broadcast_to(kind.bond_length, kind.bond_count))])
    taken, end = [], -np.inf
    for x, d in zip(place.tolist(), diameter.tolist(), strict=True):
        if x - 0.5 * d >= end * (1.0 - ROUNDING):
            taken.append(d)
            end = x + 0.5 * d
    return taken
