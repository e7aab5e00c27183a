"""The list of figures: which there are, and for which molecules and boxes each has a meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.bonds import BondAngles, BondCorrelation, InternalDistances
from hpcchain.analysis.figures.displacement import Displacement
from hpcchain.analysis.figures.local_order import NEAREST, LocalOrder, is_installed
from hpcchain.analysis.figures.orientation import NematicOrder
from hpcchain.analysis.figures.pairs import PairDistribution
from hpcchain.analysis.figures.pressure import KineticPressure, PressureTensor
from hpcchain.analysis.figures.profile import Along, Profile, why_none
from hpcchain.analysis.figures.relaxation import EndRelaxation, VelocityCorrelation
from hpcchain.analysis.figures.rouse import RouseModes
from hpcchain.analysis.figures.sizes import Sizes
from hpcchain.analysis.figures.stress import FEWEST, StressSeries, traceless
from hpcchain.analysis.figures.structure_factor import StructureFactor
from hpcchain.errors import UsageError

if TYPE_CHECKING:
    from hpcchain.analysis.figures.figure import Figure
    from hpcchain.analysis.figures.motion import Motion
    from hpcchain.analysis.kinds import Kind
    from hpcchain.io.output.trajectory import Trajectory

OBSERVABLES, STRESS, CONTACTS, PROFILE = "observables", "stress", "contacts", "profile"
STATIC = (
    "sizes",
    "bond_angles",
    "bond_correlation",
    "internal_distances",
    "nematic_order",
    "pair_distribution",
    "structure_factor",
    "kinetic_pressure",
    "pressure_tensor",
    "local_order",
    PROFILE,
)
MOTION = ("displacement", "end_correlation", "velocity_correlation", "rouse_modes")
FIGURES = (OBSERVABLES, *STATIC, *MOTION, STRESS, CONTACTS)
"""All families of figures, by the names that --figures takes."""

ON_DEMAND = ("local_order", PROFILE)
"""Those that are found only when they are asked for by name: they need a package more, or a line to be along."""

CHAINS = "only chains and rods have it, and there are none"
PERIODIC = "the box is not periodic along all axes"


def figures_of(
    name: str,
    found: Trajectory,
    kinds: list[Kind],
    collisional: np.ndarray | None = None,
    along: Along | None = None,
) -> list[Figure] | str:
    """Return the figures of a family that single frames give, one a kind of molecules; or why there are none.

    `collisional`, (R, 3, 3), is what reports say of contacts' part of the pressure tensor, where they do;
    `along` is what profiles are along, by default z.
    """
    chains = [kind for kind in kinds if kind.linear]
    angled = [kind for kind in kinds if kind.size > 2 and len(kind.bonds) > 1]
    if name == "sizes":
        return [Sizes(kind) for kind in kinds]
    if name == "bond_angles":
        return [BondAngles(kind) for kind in angled] or "no molecule has two bonds"
    if name == "bond_correlation":
        return [BondCorrelation(kind) for kind in chains if kind.size > 2] or CHAINS
    if name == "internal_distances":
        return [InternalDistances(kind) for kind in chains if kind.size > 1] or CHAINS
    if name == "nematic_order":
        return [NematicOrder(kind) for kind in chains if kind.size > 1] or CHAINS
    if name == PROFILE:
        along = along or Along()
        return why_none(along, found) or [Profile(along, found, kinds)]
    if name in ("kinetic_pressure", "pressure_tensor") and not found.bounded:
        return "the box has an open axis"
    if name == "kinetic_pressure":
        return [KineticPressure(kinds, float(found.edges.prod()))]
    if name == "pressure_tensor":
        if collisional is None or not len(collisional):
            return "no report has a collisional_pressure"
        return [PressureTensor(kinds, float(found.edges.prod()), collisional)]
    if not found.periodic.all():
        return PERIODIC
    if len(found.mass) < 2:
        return "there is one bead"
    if name == "local_order":
        return [LocalOrder(found)] if len(found.mass) > NEAREST else f"there are not more than {NEAREST} beads"
    return [PairDistribution(found) if name == "pair_distribution" else StructureFactor(found)]


def require_packages(names: tuple[str, ...]) -> None:
    """Raise UsageError when a family that is asked for by name needs a package that is not installed."""
    if "local_order" in names and not is_installed():
        raise UsageError(
            "local_order needs the package freud, which is not installed: pip install 'hpcchain[analysis]'"
        )


def motions_of(name: str, kinds: list[Kind]) -> list[Motion] | str:
    """Return the figures of a family that motion gives, one a kind of molecules; or why there are none."""
    if name == "displacement":
        return [Displacement(kind) for kind in kinds]
    if name == "end_correlation":
        return [EndRelaxation(kind) for kind in kinds if kind.size > 1] or "all molecules are single beads"
    if name == "velocity_correlation":
        return [VelocityCorrelation(kind) for kind in kinds]
    return [RouseModes(kind) for kind in kinds if kind.linear and kind.size > 1] or CHAINS


def stress_of(
    found: Trajectory, step: float, tensors: tuple[np.ndarray, np.ndarray], temperature: np.ndarray
) -> StressSeries | str:
    """Return the stress of reports at even distances, or why there is none.

    Parameters
    ----------
    found : Trajectory
    step : float
        From one report to the next [time].
    tensors : (R, 3, 3) float64 arrays
        `kinetic_pressure` and `collisional_pressure` of the reports.
    temperature : (R,) float64 array
        Of the reports [energy].
    """
    if not found.periodic.all():
        return PERIODIC
    kinetic, contacts = (traceless(tensor) for tensor in tensors)
    if len(kinetic) <= FEWEST:
        return f"there are not more than {FEWEST} reports at even distances of time"
    if not (np.all(np.isfinite(kinetic)) and np.all(np.isfinite(contacts[1:])) and np.mean(temperature) > 0.0):
        return "the reports have no pressure"
    return StressSeries(step, kinetic, contacts[1:], float(found.edges.prod() / np.mean(temperature)))
