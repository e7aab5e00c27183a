"""The list of figures: which there are, and for which molecules and boxes each has a meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.bonds import BondAngles, BondCorrelation, InternalDistances
from hpcchain.analysis.figures.displacement import Displacement
from hpcchain.analysis.figures.order import NEAREST, LocalOrder, NematicOrder
from hpcchain.analysis.figures.pairs import PairDistribution
from hpcchain.analysis.figures.pressure import KineticPressure, PressureTensor
from hpcchain.analysis.figures.profile import Along, Profile, why_none
from hpcchain.analysis.figures.relaxation import EndRelaxation, RouseModes, VelocityCorrelation
from hpcchain.analysis.figures.sizes import Sizes
from hpcchain.analysis.figures.structure_factor import StructureFactor
from hpcchain.analysis.figures.transport import BULK, FEWEST, HEAT, SHEAR, FluxSeries, trace, traceless
from hpcchain.io.tools.configurations import library
from hpcchain.observe.observables import total_energy

if TYPE_CHECKING:
    from hpcchain.analysis.figures.figure import Figure, Motion
    from hpcchain.analysis.kinds import Kind
    from hpcchain.io.output.trajectory import Trajectory

OBSERVABLES, STRESS, HEAT_FLUX, CONTACTS, PROFILE = "observables", "stress", "heat_flux", "contacts", "profile"
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
ENDS = "end_correlation"
MOTION = ("displacement", ENDS, "velocity_correlation", "rouse_modes")
FLUXES: dict[str, tuple[str, str]] = {
    STRESS: ("kinetic_pressure", "collisional_pressure"),
    HEAT_FLUX: ("kinetic_heat_flux", "collisional_heat_flux"),
}
"""Families that reports give, and the observables that they need: of centres of mass, and of contacts."""
FIGURES = (OBSERVABLES, *STATIC, *MOTION, *FLUXES, CONTACTS)
"""All families of figures, by the names that --figures takes."""

ON_DEMAND = ("local_order", PROFILE)
"""Those that are found only when they are asked for by name: they need a package more, or a line to be along."""

STILL = 1e-6
"""Parts of the kinetic energy that a closed system at rest changes by, or moves with, at most: round-off is less."""

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
        return [Sizes(kind) for kind in kinds if kind.size > 1]
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
    if "local_order" in names:
        library("freud", "local_order", "analysis")


def motions_of(name: str, kinds: list[Kind]) -> list[Motion] | str:
    """Return the figures of a family that motion gives, one a kind of molecules; or why there are none."""
    if name == "displacement":
        return [Displacement(kind) for kind in kinds]
    if name == ENDS:
        return [EndRelaxation(kind) for kind in kinds if kind.size > 1] or "all molecules are single beads"
    if name == "velocity_correlation":
        return [VelocityCorrelation(kind) for kind in kinds]
    return [RouseModes(kind) for kind in kinds if kind.linear and kind.size > 1] or CHAINS


def fluxes_of(
    name: str, found: Trajectory, kinds: list[Kind], step: float, reports: dict[str, np.ndarray], memory: float = 0.0
) -> list[tuple[FluxSeries, str]] | str:
    """Return the fluxes of a family, each with why it gives no coefficient ("" where it may); or why there are none.

    Parameters
    ----------
    step : float
        From one report to the next [time].
    reports : dict of name -> (R, ...) float64 array
        Observables of reports at even distances of time.
    memory : float
        The longest correlation time of molecules' ends, which the shear stress has, too [time].
    """
    if not reports.keys() >= set(FLUXES[name]):
        return f"the reports have no {' and '.join(FLUXES[name])}"
    if not found.periodic.all():
        return PERIODIC
    kinetic, contacts = (reports[each] for each in FLUXES[name])
    if len(kinetic) <= FEWEST:
        return f"there are not more than {FEWEST} reports at even distances of time"
    temperature = float(np.mean(reports["temperature"]))
    if not (np.all(np.isfinite(kinetic)) and np.all(np.isfinite(contacts[1:])) and temperature > 0.0):
        return f"the reports have no numbers of {' and '.join(FLUXES[name])}"
    scale, why = float(found.edges.prod()) / temperature, not_conserved(reports)
    if name == STRESS:
        shear = FluxSeries(SHEAR, step, traceless(kinetic), traceless(contacts[1:]), scale, memory)
        return [(shear, ""), (FluxSeries(BULK, step, trace(kinetic), trace(contacts[1:]), scale), why)]
    moving = 0.5 * np.sum(np.mean(reports["momentum"], axis=0) ** 2) / found.mass.sum()
    if moving > STILL * np.mean(reports["kinetic_energy"]):
        why = "the centre of mass of all moves, so that energy flows without heat"
    if len(kinds) > 1 or any(np.ptp(found.diameter[kind.beads], axis=0).any() for kind in kinds):
        why = "there are several kinds or sizes of molecules, whose diffusion carries heat, too"
    return why or [(FluxSeries(HEAT, step, kinetic, contacts[1:], scale / temperature), "")]


def not_conserved(reports: dict[str, np.ndarray]) -> str:
    """Return why fluctuations of pressure and energy are not those of a closed system, "" where they are."""
    energy = total_energy(reports)
    if np.ptp(energy) > STILL * np.mean(reports["kinetic_energy"]):
        return "the energy is not conserved: a thermostat, walls, losses of contacts or steps change it"
    return ""
