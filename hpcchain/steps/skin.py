"""How much farther than forces and contacts lists look, and how far beads have moved since lists were made."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError, StepError
from hpcchain.model.starts.start import physics_with
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel.ghosts.molecules import fitting_shell
from hpcchain.sector.setup.shell import is_dilute
from hpcchain.steps.failures import require_wide
from hpcchain.steps.potentials import lists
from hpcchain.steps.potentials.constants import Constants

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.system import System
    from hpcchain.parallel.agreement import Ranks

SKIN, NARROW = 0.35, 0.1
"""How much farther than forces lists look: in mean diameters, and at least, as a part of the range of forces."""
ROUNDING = 1e-9
"""By how much rounding may make two beads nearer than their paths say, relative to the skin."""
WIDER, LEAST = 2.5, 2.0 * (1.0 + 1e-6)
"""How wide a skin is made where a bead moves too far, and how wide at least, in units of what it moves."""
MOST_OF_SIDE = 0.25
"""Of the shortest periodic side: how far lists of dilute systems look at most."""


def farthest_and_skin(constants: Constants, skin: float | None = None) -> tuple[float, float]:
    """Return how far forces and contacts reach, and how much farther lists look [length].

    Parameters
    ----------
    constants : Constants
    skin : float, optional
        That which is requested.
    """
    prototypes = constants.composition.prototypes
    farthest = max(constants.range, 2.0 * float(constants.core_radius.max(initial=0.0)))
    if farthest == 0.0:
        return 0.0, 0.0
    return farthest, skin or max(NARROW * farthest, SKIN * float(np.mean(prototypes.diameter)))


def require_wide_box(config: Config) -> None:
    """Raise ConfigError where a periodic side of an input's box is too short for its lists."""
    constants = Constants(build_composition(config), physics_with(config, 1.0).steps)
    skin = None if config.run.list_shell == "auto" else config.run.list_shell
    try:
        require_wide(build_box(config.box), sum(farthest_and_skin(constants, skin)), constants.apart)
    except ConfigError as error:
        raise ConfigError(f"{config.source}: {error}") from None


class Skin:
    """Says when lists are to be made anew: when a bead has moved by half of `width` since they were made.

    Parameters
    ----------
    system : System
    constants : Constants
    comm : Ranks
    requested : float, optional
        How much farther than forces lists look at first, and never less [length]; default: what suits the system.

    Attributes
    ----------
    width : float
        How much farther lists that are made now look [length]; 0 where nothing acts at a distance.
    farthest : float
        How far forces and contacts reach [length].
    side : float
        The shortest periodic one [length].
    moved : float
        How far the farthest bead of any rank has moved since lists were made [length].
    """

    def __init__(self, system: System, constants: Constants, comm: Ranks, requested: float | None) -> None:
        self.box, self.constants, self.comm = system.box, constants, comm
        self.side = float(self.box.size[self.box.periodic].min(initial=np.inf))
        self.farthest, self.least = farthest_and_skin(constants, requested)
        automatic = requested is None and self.least > 0.0
        self.dilute = replace(system, state=None, held=None) if automatic and is_dilute(system) else None
        self.moved, self.width = 0.0, self.least
        require_wide(self.box, self.list_radius, constants.apart)

    @property
    def list_radius(self) -> float:
        """How far lists look [length]."""
        return self.farthest + self.width

    def fit(self, place: np.ndarray) -> None:
        """Have lists of a dilute system look as far as suits the distances of its molecules, at (k, 3); collective."""
        if self.dilute is None:
            return
        fitting = 2.0 * fitting_shell(self.dilute, place, self.comm)
        most = min(MOST_OF_SIDE * self.side, self.side - self.constants.apart) - self.farthest
        self.width = max(self.least, min(fitting, most))

    def widen(self, time: float, step: float, bead: int) -> None:
        """Have lists look so far that beads may move in a step as one has moved now.

        Parameters
        ----------
        time, step : float
            [time]
        bead : int
            That which has moved farthest.

        Raises
        ------
        StepError
            Where a periodic side is too short for such lists (`require_wide`).
        """
        width = min(WIDER * self.moved, min(0.5 * self.side, self.side - self.constants.apart) - self.farthest)
        if width < LEAST * self.moved:
            raise StepError(
                f"at t {time:.6g} bead {bead} moves {self.moved:.3g} besides what all do in a step of "
                f"steps.step = {step:g}, too far for the periodic side {self.side:g} of the box: make steps.step "
                "smaller, or enlarge the box"
            )
        self.width, self.dilute = width, None

    def start(self, position: np.ndarray, velocity: np.ndarray, step: float) -> None:
        """Take own beads where lists are made, (m, 3), and by how much all beads move in a step; collective.

        That is midway between the fastest to either side. Lists are valid while no bead has moved far besides: beads of
        one velocity stay neighbours, however fast.
        """
        self.reference = position.copy()
        velocity = velocity[np.isfinite(velocity).all(axis=1)]
        most = self.comm.maximum(np.stack([velocity, -velocity], axis=1).max(axis=0, initial=-np.inf).ravel())
        self.common = 0.5 * step * (most[:3] - most[3:]) if np.isfinite(most).all() else np.zeros(3)

    def carry_on(self) -> None:
        """Move the places that lists were made for on with all beads, by a step."""
        self.reference += self.common

    def way(self, position: np.ndarray, local: np.ndarray) -> float:
        """Return how far an own bead has moved since lists were made, squared [length^2]."""
        return lists.farthest(position, local, self.reference)

    def is_left(self, way: float) -> bool:
        """Return whether a bead that has moved so far, squared, may meet one that is not listed; note how far."""
        self.moved = math.sqrt(way)
        return self.width > 0.0 and way > (0.5 * self.width * (1.0 - ROUNDING)) ** 2
