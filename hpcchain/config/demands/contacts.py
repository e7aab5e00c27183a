"""What the keys of [contact] and [[contact.pair]] must satisfy, and what cannot go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcchain.config.keys.values import Wrong
from hpcchain.layout.arrays import SIDE_NAMES
from hpcchain.model.molecules.bonds import type_names

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, PairSection


def check_contact(config: Config) -> None:
    """Raise Wrong, with key and reason, where coefficients of contacts are impossible.

    Parameters
    ----------
    config : Config
    """
    taken: dict = {}
    for index, one in enumerate(config.contact.pairs):
        where = f"contact.pair[{index}]"
        check_pair(config, one, where)
        pair = tuple(sorted(one.types))
        if pair in taken:
            raise Wrong(f"{where}.types: {' and '.join(one.types)} have contact.pair[{taken[pair]}] already")
        taken[pair] = index
    if config.steps is None or config.steps.integrator != "contact":
        check_no_friction(config)
    if config.steps is not None:
        check_in_steps(config)
    if config.is_rough:
        check_rough(config)


def check_pair(config: Config, one: PairSection, where: str) -> None:
    """Check that a pair's types exist, and that it says something."""
    first, second = one.types
    names = type_names(config.molecules)
    for name in names:
        if name in SIDE_NAMES:
            raise Wrong(f"molecule: {name!r} is a wall's name in {where}.types; give that type of beads another")
    if first in SIDE_NAMES:
        raise Wrong(f"{where}.types: {first!r} is a wall; name it second, behind a type of beads")
    for name in one.types:
        if names and name not in (*names, *SIDE_NAMES):
            raise Wrong(f"{where}.types: {name!r} is no type of beads; types are {', '.join(names)}")
    if second in SIDE_NAMES and config.box.boundary["xyz".index(second[0])] != "wall":
        raise Wrong(f'{where}.types: there is no wall {second!r}; set box.boundary to "wall" along {second[0]}')
    if one.restitution is one.tangential_restitution is one.contact_time is one.friction is None:
        known = "restitution or friction" if config.steps else "restitution, tangential_restitution or contact_time"
        raise Wrong(f"{where}: gives no coefficient; give {known}")


def check_no_friction(config: Config) -> None:
    """Check that nothing has friction, where the integrator knows none."""
    given = {"contact.friction": config.contact.friction}
    given |= {f"contact.pair[{k}].friction": one.friction for k, one in enumerate(config.contact.pairs)}
    for key, value in given.items():
        if value is not None and (value > 0.0 or key != "contact.friction"):
            raise Wrong(
                f'{key}: is of steps.integrator "contact" alone; set that with run.engine = "steps", or remove it'
            )


def check_in_steps(config: Config) -> None:
    """Check that no coefficient is one that only the engine of events knows, and that reflections heed the others."""
    rough = (
        'run.engine "steps" has no rough beads; remove it, or set run.engine = "events", or give contact.friction '
        'under steps.integrator "contact", which makes beads spin'
    )
    given = {"contact.tangential_restitution": (config.contact.tangential_restitution != 1.0, rough)}
    for index, one in enumerate(config.contact.pairs):
        where = f"contact.pair[{index}]"
        given[f"{where}.tangential_restitution"] = one.tangential_restitution is not None, rough
        given[f"{where}.contact_time"] = (
            one.contact_time is not None,
            'means nothing for run.engine "steps"; remove it',
        )
    if config.steps is not None and config.steps.integrator == "dsi":
        given["contact.pair"] = (
            bool(config.contact.pairs),
            'means nothing for steps.integrator "dsi", which reflects nothing; remove it, or use "gvi"',
        )
        given["contact.restitution"] = (
            config.contact.restitution != 1.0,
            'means nothing for steps.integrator "dsi", which ends all approach; remove it, or use "gvi"',
        )
    for key, (there, why) in given.items():
        if there:
            raise Wrong(f"{key}: {why}")


def check_rough(config: Config) -> None:
    """Check that no kind of molecules turns in another way than contacts leave it to."""
    for index, kind in enumerate(config.molecules):
        if kind.directors and (kind.propagator or config.propagator).name == "variational":
            raise Wrong(
                f'molecule[{index}].directors: rough spheres turn exactly, not by the steps of "variational"; '
                "choose another propagator, or set contact.tangential_restitution = 1"
            )
