"""What the keys of gravity and walls must satisfy together with the others, in runs of the engine of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcchain.config.demands.walls import check_walls

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config


def check_external(config: Config) -> None:
    """Raise Wrong, with key and reason, when what acts from outside does not fit molecules or one another.

    Parameters
    ----------
    config : Config
        Of the engine of events.
    """
    check_walls(config)
