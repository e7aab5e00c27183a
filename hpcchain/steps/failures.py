"""What is said when steps cannot go on: one message, the same on every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from hpcchain.errors import ConfigError, StepError

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.parallel.agreement import Ranks


def raise_worst(comm: Ranks, time: float, torn: tuple | None, stuck: tuple | None, bad: np.ndarray) -> NoReturn:
    """Raise StepError, on every rank, of what has gone wrong on some; collective.

    Parameters
    ----------
    comm : Ranks
    time : float
        [time]
    torn : (int, int) or None
        The beads of a bond of this rank that is torn.
    stuck : (int, str) or None
        The first bead of a molecule that cannot be moved, and why.
    bad : (n,) int64 array
        Beads of this rank whose forces or places are no numbers.
    """
    every = comm.allgather((torn, stuck, int(bad.min()) if len(bad) else None))
    torn_bonds, stuck_molecules, worst = (
        [one for one in those if one is not None] for those in zip(*every, strict=True)
    )
    if torn_bonds:
        raise StepError(
            f"at t {time:.6g} the bond of beads {min(torn_bonds)[0]} and {min(torn_bonds)[1]} is torn: it is as long "
            "as its potential allows, or longer; make steps.step smaller, or start from relaxed bonds"
        )
    if stuck_molecules and not worst:
        raise StepError(
            f"at t {time:.6g} the molecule of bead {min(stuck_molecules)[0]} has no next step, as "
            f"{min(stuck_molecules)[1]}; make steps.step smaller"
        )
    raise StepError(
        f"at t {time:.6g} the force on bead {min(worst)}, or its place, is not a number: make steps.step smaller, or "
        "start without overlaps"
    )


def raise_pushed(bead: int, way: float, step: float, times: float) -> NoReturn:
    """Raise StepError where forces move a bead so far in the first step, `times` as far as any that steps can follow.

    Parameters
    ----------
    bead : int
    way : float
        [length]
    step : float
        [time]
    times : float
    """
    raise StepError(
        f"at the start forces move bead {bead} by {way:.3g} in the first step of steps.step = {step:g}: start without "
        f"overlaps and strained bonds, or make steps.step smaller than {step / times**0.5:.3g}, a tenth of that or less"
    )


def raise_unsettled(time: float) -> NoReturn:
    """Raise StepError where the midpoint rule's forces do not settle."""
    raise StepError(
        f'at t {time:.6g} steps.base = "midpoint" finds no step: its forces do not settle; make steps.step smaller, or '
        'use "verlet"'
    )


def raise_unsolved(time: float, solver: str) -> NoReturn:
    """Raise StepError where contacts have no solution that a solver has found."""
    other = 'set steps.solver = "newton", which finds more of them, ' if solver == "gauss-seidel" else ""
    raise StepError(
        f"at t {time:.6g} contacts that hang together have no solution that was found: {other}make steps.step smaller, "
        "or propagator.tolerance, the residual at which they are solved, larger"
    )


def require_wide(box: Box, list_radius: float, apart: float) -> None:
    """Raise ConfigError when a periodic side is so short that a bead would interact with two images of another.

    Parameters
    ----------
    box : Box
    list_radius, apart : float
        How far lists look, and how far apart beads are that are left out of them [length].
    """
    periodic = box.periodic
    close = np.flatnonzero(periodic & (box.size < list_radius + apart))
    if list_radius > 0.0 and apart > 0.0 and len(close):
        axis = int(close[0])
        raise ConfigError(
            f"box.size: the periodic side {box.size[axis]:g} along axis {axis} lets beads that are bonded, or left out "
            f"by molecule.exclude, meet through it; needs at least {list_radius + apart:.6g}"
        )
    short = np.flatnonzero(periodic & (box.size < 2.0 * list_radius))
    if len(short):
        axis = int(short[0])
        raise ConfigError(
            f"box.size: the periodic side {box.size[axis]:g} along axis {axis} is shorter than twice the range of the "
            f"potentials and contacts with the neighbour lists' skin, {list_radius:.6g}; enlarge the box, or lower "
            "potential.cutoff or run.list_shell"
        )
