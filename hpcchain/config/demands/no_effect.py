"""Keys that mean nothing where they are given: a table of when, which, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hpcchain.config.keys.values import Wrong
from hpcchain.config.sizes import OF_START
from hpcchain.config.write import value_text

if TYPE_CHECKING:
    from hpcchain.config.keys.key import Section
    from hpcchain.config.keys.sections import Config, MoleculeSection

    When = Callable[[Config, Section], bool]


def of_kind(holds: Callable[[Config, MoleculeSection], bool]) -> When:
    """Return a condition of a [[molecule]] as one of any table."""
    return holds  # type: ignore[return-value]


def engine(name: str) -> When:
    """Return the condition that an input is for an engine."""
    return lambda config, _: config.run.engine == name


def integrator(name: str) -> When:
    """Return the condition that an input is for an integrator of the engine of steps."""
    return lambda config, _: config.steps is not None and config.steps.integrator == name


DSI = 'means nothing for steps.integrator "dsi", which'
EVENTS = 'or set run.engine = "events"'
DIRECTORS = "means nothing without directors; set directors = true"
NO_EFFECT: tuple[tuple[When, str, str], ...] = (
    (
        lambda config, _: config.initial.method != "file",
        "initial.file",
        'means nothing for method "{config.initial.method}"; set initial.method = "file" or remove it',
    ),
    (
        engine("events"),
        "steps molecule.hard molecule.rigid molecule.damping",
        'means nothing for run.engine "events"; set run.engine = "steps" or remove it',
    ),
    (
        lambda config, table: not integrator("contact")(config, table),
        "contact.friction contact.pair.friction",
        'works only with steps.integrator = "contact"; set that with run.engine = "steps", or remove it',
    ),
    (
        engine("steps"),
        "contact.tangential_restitution contact.pair.tangential_restitution",
        f'run.engine "steps" has no rough beads; remove it, {EVENTS}, or give contact.friction under '
        'steps.integrator "contact", which makes beads spin',
    ),
    (
        engine("steps"),
        "contact.contact_time contact.pair.contact_time contact.pair.bridge_distance molecule.distance_limits "
        "molecule.propagator",
        'means nothing for run.engine "steps"; remove it',
    ),
    (
        lambda config, table: config.run.engine == "steps" and getattr(table, "stretches", 0) != 0,
        "propagator.stretches",
        'means nothing for run.engine "steps"; remove it',
    ),
    (engine("steps"), "molecule.directors", 'the engine "steps" turns no spheres; use run.engine = "events"'),
    (
        engine("steps"),
        "wall.temperature",
        f'run.engine "steps" has no walls that draw velocities; give a [thermostat], {EVENTS}',
    ),
    (engine("steps"), "wall.tangential_restitution", f'run.engine "steps" has no rough walls; remove it, {EVENTS}'),
    (
        engine("steps"),
        "wall.oscillation",
        f'run.engine "steps" has no walls that oscillate; give it a velocity, {EVENTS}',
    ),
    (integrator("dsi"), "steps.energy", f'{{value}} {DSI} reflects nothing; use "H"'),
    (integrator("dsi"), "contact.pair wall.restitution", f'{DSI} reflects nothing; remove it, or use "gvi"'),
    (integrator("dsi"), "contact.restitution", f'{DSI} ends all approach; remove it, or use "gvi"'),
    (
        integrator("contact"),
        "steps.base steps.energy steps.predictions contact.simultaneous",
        '{value} means nothing for steps.integrator "contact"; remove it',
    ),
    (
        integrator("contact"),
        "wall.shape",
        'steps.integrator "contact" has only flat walls; use "gvi" or "dsi", or make the shape of beads that are fixed',
    ),
    (
        of_kind(lambda config, kind: kind.is_body and config.steps is not None and config.contact.rubs),
        "molecule.angular_velocities molecule.moment",
        "beads of a rigid body turn with it, as their masses say; remove it",
    ),
    (
        of_kind(lambda _, kind: kind.is_body),
        "molecule.bond_length",
        'means nothing for kind "rigid", whose shape is in sites; remove it',
    ),
    (of_kind(lambda _, kind: not kind.directors), "molecule.orientations", f"{DIRECTORS} or remove it"),
    (
        of_kind(lambda config, kind: not (kind.directors or config.spins)),
        "molecule.moment molecule.angular_velocities",
        f"{DIRECTORS}, contact.tangential_restitution below 1 or contact.friction for beads that spin, or remove it",
    ),
    (
        lambda config, _: config.initial.method != "explicit",
        " ".join(f"molecule.{name}" for name in OF_START),
        'means nothing for initial.method "{config.initial.method}"; set initial.method = "explicit"',
    ),
    (
        of_kind(lambda _, kind: not kind.fixed),
        "molecule.fixed_velocity",
        "means nothing without {where}.fixed; give that, or remove it",
    ),
    (
        of_kind(lambda _, kind: kind.beads == 1 and not kind.directors),
        "molecule.propagator",
        "means nothing for single beads, which fly exactly; remove it",
    ),
    (
        lambda _, table: getattr(table, "temperature", None) is not None,
        "wall.restitution",
        "means nothing for a wall with a temperature; remove one of the two",
    ),
)
"""When, keys or whole tables, and what is said, which may name the `config`, the `table` (`where`) and the `value`."""


def check_effects(config: Config) -> None:
    """Raise Wrong, with key and reason, for the first key that means nothing where it is given."""
    for where, table in config.tables:
        for holds, keys, why in NO_EFFECT:
            for path in keys.split() if table.section in keys else ():
                section, _, name = path.rpartition(".")
                is_whole = table.section == path
                if (is_whole or (table.section == section and is_given(table, name))) and holds(config, table):
                    key, value = (where, "") if is_whole else (f"{where}.{name}", value_text(getattr(table, name)))
                    raise Wrong(f"{key}: {why.format(config=config, table=table, where=where, value=value)}")


def is_given(table: Section, name: str) -> bool:
    """Return whether a key of a table has another value than its default."""
    if name not in table.keys():  # of another table whose name begins with this one's
        return False
    value, default = getattr(table, name), table.keys()[name].default
    if default is None:
        return value is not None
    return any(one != default for one in value) if isinstance(value, tuple) and value else bool(value != default)
