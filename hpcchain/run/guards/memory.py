"""Whether the memory that a run needs is there, seen to before any of it is taken.

What a run needs was measured on runs of 1e3 to 1e6 beads on 1 to 4 ranks: monomers and chains at packing fraction .3,
soft beads at density .8 in steps. It is the bytes of each process's own at the highest, which is while the start grows
or the sectors are set up. The numbers below are chosen so that the estimate is 1.1 to 1.8 times that. A process has
pages of libraries besides, which count for what a user sees of it (`peak`), not for what a node must have.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain import machine
from hpcchain.config.keys.values import counted
from hpcchain.config.packing import bead_volume
from hpcchain.errors import ConfigError, HpcchainError
from hpcchain.io.checkpoint.checkpoint import read_config, read_extent
from hpcchain.io.hdf5.collective import root_does
from hpcchain.model.physics.extended import is_extended
from hpcchain.model.physics.step_potentials import beyond_contact
from hpcchain.model.starts.start import in_stretches, physics_with
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel.agreement import agree
from hpcchain.sector.setup.shell import default_shell, is_dilute

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.machine import Available, Bound
    from hpcchain.parallel.comm import Single, World

BYTES_PER_RANK = 180_000_000
"""Of a rank that has hardly a bead: the interpreter and the compiled kernels, while a start of chains grows."""

BYTES_SHARED = 130_000_000
"""Of a rank besides its own: pages of libraries, which the ranks of a node share."""

BYTES_ALONE, BYTES_AMONG = 1_500, 2_100
"""Of each bead that a rank has: on one rank; on several, its own and ghosts, with the history of a window."""

SINGLE, SINGLE_WHOLE = 1_050, 450
"""The same of single smooth hard beads on one rank, which have neither series nor bonds; `BYTES_WHOLE` of these."""

BYTES_SOFT, BYTES_PER_RANK_SOFT = 700, 120_000_000
"""The same of soft beads that move in steps, beyond lists, and of a rank where none of them grow."""

LAYER, COILS, SWELLING = 11.6, 3.1, 0.6
"""Of so many times its number of beads to the power 2/3 are the ghosts of a rank whose sector is cut off on all sides:
of single beads, and how much more for each bead of the largest molecule to the power that coils swell by."""

SHORT = 10
"""Beads of the largest molecule where they are not known."""

BYTES_WHOLE = 600
"""Of each bead of the whole system on every rank, where each makes or reads the whole start."""

LARGE, BYTES_OF_LARGE = 1_000, 4_000
"""Beads from which on a molecule is large, and what each of these takes beyond others."""

BYTES_OF_PARTS = 2_200
"""Of each bead where long chains move in stretches, beyond others: the segments of parts, which files have, too."""

LISTED, MOST_LISTED = 400, 1_000_000
"""Bytes of neighbour lists that beads have in runs that `BYTES_ALONE` was measured on; beads of an input's molecules up
to which it is looked how long their lists are."""

CLOSE, LONGEST = 0.55, 1.2
"""Packing fraction that beads with wells come to where they condense; the longest list over the mean there."""

CLOSE_SOFT, SPARE_SOFT = 0.45, 1.3
"""The same in steps, with what longer lists can take."""

BYTES_INSIDE = 60
"""Of each bead that a bead is within the steps of a potential of: the table of them, in states, messages and files."""

BYTES_CLOSED = 40
"""Of each pair of beads of a ring, or of a graph with rings, while its conformation is made."""


@dataclass(frozen=True)
class Extent:
    """How large a run is.

    Attributes
    ----------
    beads : int
        Of the whole system.
    whole : bool
        Whether every rank makes or reads the whole start.
    largest : int
        Beads of the largest molecule, 0 where only a file knows it.
    closed : int
        Beads of the largest molecule with rings whose conformation is to be made.
    parts : bool
        Whether long chains move in stretches.
    alone : bool
        Whether one rank may have all beads, however many there are, as it may where chains move in stretches.
    lists : float
        What a bead's list of neighbours, and of beads within a step of it, takes in the mean, 0 where only a file knows
        [byte].
    soft : bool
        Whether all are soft beads that nothing but potentials joins, which do not grow.
    smooth : bool
        Whether nothing is asked for beyond smooth hard beads.
    """

    beads: int
    whole: bool
    largest: int = 0
    closed: int = 0
    parts: bool = False
    alone: bool = False
    lists: float = 0.0
    soft: bool = False
    smooth: bool = False

    @property
    def _single(self) -> bool:
        return self.smooth and self.largest == 1

    def own(self, ranks: int) -> int:
        """Return what a rank needs for the beads that it owns, of so many ranks [byte]."""
        ranks = 1 if self.alone else ranks
        each = BYTES_AMONG
        if self.soft:
            each = BYTES_SOFT + LISTED
        elif ranks == 1:
            each = SINGLE if self._single else BYTES_ALONE
        if self.parts:
            each += BYTES_OF_PARTS
        elif self.largest >= LARGE:
            each += BYTES_OF_LARGE
        each += int(max(self.lists - LISTED, 0.0))
        own = max(-(-self.beads // ranks), min(self.largest, self.beads))
        return each * (own + min(self._ghosts(own), self.beads - own))

    def _ghosts(self, own: int) -> int:
        """Return how many beads ghosts have at most, as a rule, of a rank with so many of its own."""
        layer = LAYER + COILS * (self.largest or SHORT) ** SWELLING
        return int(layer * own ** (2.0 / 3.0))

    def start(self) -> int:
        """Return what every rank needs for the start, beyond the beads that it owns [byte]."""
        each = SINGLE_WHOLE if self._single else BYTES_WHOLE
        return (each * self.beads if self.whole else 0) + BYTES_CLOSED * self.closed**2

    def need(self, ranks: int) -> int:
        """Return what a rank needs of its own in all, of so many ranks [byte]."""
        rank = BYTES_PER_RANK_SOFT if self.soft else BYTES_PER_RANK
        return rank + self.own(ranks) + self.start()

    def peak(self, ranks: int) -> int:
        """Return the most that a rank has resident, of so many ranks, libraries that it shares among it [byte]."""
        return self.need(ranks) + BYTES_SHARED


def extent_of(config: Config) -> Extent:
    """Return the Extent of a run that begins with an input."""
    kinds, method = config.molecules, config.initial.method
    whole = method != "file" or read_extent(str(config.initial.file))[1] > 0.0
    closed = [kind.beads for kind in kinds if method == "grow" and kind.beads > 1 and kind.bond_count >= kind.beads]
    found = _extent(config, config.beads, whole, max(closed, default=0))
    return replace(found, soft=found.soft and method != "grow")


def resumed_extent(path: Path) -> Extent:
    """Return the Extent of a run that goes on from a checkpoint, as far as this can be read; it is checked later."""
    beads, _ = read_extent(path)
    try:
        return _extent(read_config(path), beads, whole=False)
    except HpcchainError:
        return Extent(beads, whole=False)


def _extent(config: Config, beads: int, whole: bool, closed: int = 0) -> Extent:
    kinds, parts = config.molecules, any(in_stretches(kind, config) for kind in config.molecules)
    return Extent(
        beads=beads,
        whole=whole,
        largest=max((kind.beads for kind in kinds), default=0),
        closed=closed,
        parts=parts,
        alone=parts and config.run.sectors == "auto",
        lists=list_bytes(config) if sum(kind.beads for kind in kinds) <= MOST_LISTED else 0.0,
        soft=config.steps is not None
        and all(bool(np.all(kind.soft)) and not (kind.rigid and kind.beads > 1) for kind in kinds),
        smooth=config.steps is None and not is_extended(physics_with(config, 1.0)),
    )


def list_bytes(config: Config) -> float:
    """Return what the lists of neighbours of a bead of an input's molecules take, in the mean [byte]."""
    composition, physics = build_composition(config), physics_with(config, 1.0)
    one, copies = composition.prototypes, np.repeat(composition.copies, np.diff(composition.prototypes.first_bead))
    shell = None if config.run.list_shell == "auto" else config.run.list_shell
    density = composition.beads / math.prod(config.box.size)
    packed = CLOSE if config.steps is None else CLOSE_SOFT
    close = max(density, packed * composition.beads / bead_volume(config.molecules)) * 4.0 / 3.0 * math.pi
    if physics.steps is not None:
        ranges = [potential.range for potential in physics.steps.potentials]
        farthest = max([*ranges, *one.diameter[~one.soft].tolist()], default=0.0)
        mean = float(np.sum(copies * one.diameter)) / composition.beads
        list_radius = farthest + (shell or max(0.1 * farthest, 0.35 * mean))  # as `steps.skin`, which has kernels
        return 4.0 * min(SPARE_SOFT * close * list_radius**3, composition.beads) if farthest else 0.0
    within = max((one.distances[-1] for one in physics.extended.potentials), default=0.0)
    inside = BYTES_INSIDE * min(LONGEST * close * within**3, composition.beads)
    system = System(build_box(config.box), composition, State.at_time_zero(*np.zeros((2, 0, 3))), physics)
    if shell is None:
        if is_dilute(system):  # its shell goes by the distance of beads, and few are on a list
            return inside
        shell = default_shell(system, np.zeros((0, 3)))
    far = 0.5 * (one.diameter + one.diameter.max()) + beyond_contact(one, physics) + 2.0 * shell
    packed = 3.0 * (far / max(float(one.diameter.min()), 1e-300)) ** 3  # as many as fit in, or 1.5 times the mean
    listed = np.clip(8 + np.ceil(np.minimum(packed, 1.5 * density * (4.0 * np.pi / 3.0) * far**3)), 16, 4096)
    entries = np.minimum(listed, composition.beads)
    return inside + 4.0 * float(np.sum(copies * entries)) / composition.beads


def require_memory_for(config: Config, comm: Single | World) -> Extent:
    """Return the Extent of a run; raise ConfigError on every rank where it does not fit on the nodes; collective."""
    extent = root_does(comm.mpi, config.source, "measuring it", lambda: extent_of(config))
    way = "use more nodes, or fewer molecules (molecule.count)"
    if config.initial.method == "grow" and extent.start() > extent.own(comm.size):
        way += "; or grow a small box and copy it ('hpcchain build --replicate'): every rank grows the whole box"
    key = "initial.file" if config.initial.method == "file" else "molecule.count"
    require_memory(extent, comm, f"{config.source}: {key}", way)
    return extent


def require_memory_to_resume(path: Path, comm: Single | World) -> None:
    """Raise ConfigError on every rank where the run of a checkpoint does not fit on the ranks' nodes; collective."""
    extent = root_does(comm.mpi, path, "measuring it", lambda: resumed_extent(path))
    require_memory(extent, comm, str(path), "use more nodes")


def short_of_memory(need: int) -> tuple[str, Bound] | None:
    """Return (what is needed, the Bound) in words and bytes where this process alone cannot take so much, or None."""
    return lacking(need, [machine.available()])


def require_memory(
    extent: Extent,
    comm: Single | World,
    name: str,
    way: str,
    ranks: int | None = None,
) -> None:
    """Raise ConfigError on every rank unless each node has the memory that its ranks need; collective.

    Parameters
    ----------
    extent : Extent
    comm : Single or World
    name : str
        What needs it, for the message.
    way : str
        What to change.
    ranks : int, optional
        Of each run, where groups of so many have one each; by default all have one.
    """
    ranks = ranks or comm.size
    need = extent.need(ranks)
    lack = lacking(need, comm.on_node(machine.available()))
    text = None
    if lack is not None:
        wanted, there = lack
        text = (
            f"{name}: {counted(extent.beads, 'bead')} on {counted(ranks, 'rank')} need about "
            f"{machine.size(need)} of memory per rank: on node {os.uname().nodename} {wanted}, where "
            f"{machine.size(there.bytes)} are {there.reason}; {way}"
        )
    agree(comm.mpi, None if text is None else ConfigError(text))


def lacking(need: int, ranks: list[Available]) -> tuple[str, Bound] | None:
    """Return (what is needed in words, the Bound) where memory is lacking, None where all is there.

    Parameters
    ----------
    need : float
        Of each rank, what it has taken already among it [byte].
    ranks : list of machine.Available
        Of the ranks on one node.
    """
    more = [max(need - rank.taken, 0.0) for rank in ranks]
    several = "in all" if len(ranks) == 1 else f"for {len(ranks)} ranks"
    node = machine.Bound.least([rank.node for rank in ranks if rank.node is not None])
    if node is not None and sum(more) > node.bytes:
        return f"{machine.size(sum(more))} more {several}", node
    job = machine.Bound.least([rank.job for rank in ranks if rank.job is not None])
    if job is not None and need * len(ranks) > job.bytes:
        return f"{machine.size(need * len(ranks))} {several}", job
    for rank, one in zip(ranks, more, strict=True):
        if rank.own is not None and one > rank.own.bytes:
            return f"{machine.size(one)} more for one rank", rank.own
    return None
