"""What `Physics.steps` says of a run of the engine of steps: plain numbers, texts and lists, as JSON has them."""

from dataclasses import asdict
from typing import Any

from hpcchain.model.physics.extended import coefficients

OF_MODULES = ("file", "function", "on", "digest")
"""Keys that runs begun before there were modules do not know."""


def stepping(config: Any) -> dict:
    """Return the table of a run's steps, potentials, field and thermostat; {} for the engine of events.

    Parameters
    ----------
    config : Config
        A checked input.
    """
    if config.steps is None:
        return {}
    reflections = {} if config.contact.simultaneous == "joint" else {"simultaneous": config.contact.simultaneous}
    friction = {"friction": config.contact.friction} if config.steps.integrator == "contact" else {}
    own = [coefficients(one, "tangential_restitution", "contact_time") for one in config.contact.pairs]
    sides = [one for one in config.walls if one.side is not None]
    walls = {one.side: one.restitution for one in sides if one.restitution is not None}
    return {
        **asdict(config.steps),
        **reflections,
        **friction,
        **({"pairs": own} if own else {}),
        **({"walls": walls} if walls else {}),
        "potentials": [plain(asdict(one)) for one in config.potentials],
        "gravity": list(config.external.gravity),
        "thermostat": None if config.thermostat is None else asdict(config.thermostat),
        "seed": config.initial.seed,
        "damping": [kind.damping for kind in config.molecules],
    }


def plain(table: dict) -> dict:
    """Return a table with lists in place of tuples, without keys of a module where it is of none."""
    kept = {name: value for name, value in table.items() if value is not None or name not in OF_MODULES}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}
