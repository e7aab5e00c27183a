"""What the keys of gravity and walls must satisfy together with the others, in runs of the engine of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcchain.config.values import Wrong
from hpcchain.config.walls import check_walls

if TYPE_CHECKING:
    from hpcchain.config.sections import Config


def check_external(config: Config) -> None:
    """Raise Wrong, with key and reason, when what acts from outside does not fit molecules or one another.

    Parameters
    ----------
    config : Config
        Of the engine of events.
    """
    check_walls(config)
    if config.contact.is_rough:
        check_rough(config)


def check_rough(config: Config) -> None:
    """Check that beads that spin meet no walls that draw velocities but no spins."""
    for index, wall in enumerate(config.walls):
        if wall.temperature:
            raise Wrong(
                f"contact.tangential_restitution: thermal walls draw no spins, as wall[{index}]; set it to 1, or "
                f"remove wall[{index}].temperature"
            )
