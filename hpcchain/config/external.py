"""What the keys of gravity and walls must satisfy together with the others, in runs of the engine of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcchain.config.values import Wrong
from hpcchain.config.walls import check_walls

if TYPE_CHECKING:
    from hpcchain.config.sections import Config, MoleculeSection


def check_external(config: Config) -> None:
    """Raise Wrong, with key and reason, when what acts from outside does not fit molecules or one another.

    Parameters
    ----------
    config : Config
        Of the engine of events.
    """
    if any(config.external.gravity):
        check_gravity(config)
    check_walls(config)
    if config.contact.is_rough:
        check_rough(config)
    if config.thermostat is not None:
        check_thermostat(config)


def check_gravity(config: Config) -> None:
    """Check that all molecules fly exactly, so that parabolas are exact, too."""
    for index, kind in enumerate(config.molecules):
        if not flies_exactly(config, kind):
            name = (kind.propagator or config.propagator).name
            raise Wrong(
                f'external.gravity: molecule[{index}] moves in steps of "{name}", which know no gravity; choose '
                'propagator.name = "taylor", or run.engine = "steps"'
            )


def check_thermostat(config: Config) -> None:
    """Check that molecules fly exactly, so that nothing but draws changes their energy."""
    for index, kind in enumerate(config.molecules):
        if not flies_exactly(config, kind):
            raise Wrong(
                'thermostat.name: "andersen" draws no velocities of molecules that move in steps, as '
                f'molecule[{index}] does by "{(kind.propagator or config.propagator).name}"; choose '
                'propagator.name = "taylor"'
            )


def check_rough(config: Config) -> None:
    """Check that beads that spin meet only what has a law for it: walls at rest that are sides, beads that move."""
    for index, wall in enumerate(config.walls):
        if wall.shape is not None or wall.velocity or wall.temperature:
            raise Wrong(
                f"contact.tangential_restitution: rough beads meet no walls that move, are thermal or have shapes, as "
                f"wall[{index}]; set it to 1, or leave the wall a side of the box at rest"
            )
    for index, kind in enumerate(config.molecules):
        if kind.fixed:
            raise Wrong(
                f"contact.tangential_restitution: rough beads meet no fixed ones, as molecule[{index}] has; set it to 1"
            )


def flies_exactly(config: Config, kind: MoleculeSection) -> bool:
    """Whether molecules of a kind fly without steps."""
    name = (kind.propagator or config.propagator).name
    if kind.beads == 1 or name == "taylor":
        return True
    return (name == "collocation" and kind.beads == 2) or (kind.is_line and name != "rattle")
