"""Whether beads at given places, with given velocities, are a possible start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.demands.check import require_tried_speed, walls_of
from hpcchain.config.keys.key import required
from hpcchain.config.keys.values import PLACES, wrong_as
from hpcchain.errors import ConfigError
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.molecules.independence import require_independent
from hpcchain.model.physics.step_potentials import limited_pairs
from hpcchain.model.physics.walls import outside
from hpcchain.model.starts.constraints import bond_vectors, project_group, project_group_velocities
from hpcchain.model.starts.overlap import bead_overlap, wall_overlap
from hpcchain.model.system import FOLLOWS

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.physics.constants import PotentialConstants
    from hpcchain.model.system import Box, Physics, Topology

TOLERANCE = 1e-9


def check_start(source: str, box: Box, topology: Topology, position: np.ndarray, velocity: np.ndarray) -> None:
    """Raise ConfigError unless a start satisfies its bonds and nothing overlaps, to 1e-9 relative.

    Parameters
    ----------
    source : str
        The input's name for messages.
    box, topology :
        The system.
    position, velocity : (N, 3) float64 arrays
        [length], [length / time].
    """
    GivenBeads(source, topology, position, velocity).check(box)
    require_apart(source, bead_overlap(box, topology, position, TOLERANCE), lambda beads: topology.diameter[beads])


def require_apart(
    source: str, pair: tuple[int, int, float] | None, diameters: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Raise ConfigError where there is a pair of overlapping beads, (bead, bead, distance); `diameters`: of beads."""
    if pair is not None:
        i, j, distance = pair
        first, other = diameters(np.array([i, j]))
        raise ConfigError(
            f"{source}: molecule.positions: beads {i} and {j} overlap: their distance {distance:.12g} is below the "
            f"contact distance {0.5 * (first + other):.12g}; move them apart"
        )


@dataclass(frozen=True)
class GivenBeads:
    """The beads of molecules that start as somebody says; methods raise ConfigErrors, which begin with `source`.

    Attributes
    ----------
    source : str
        The input's or file's name.
    topology : Topology
        Of these molecules alone.
    position, velocity : (n, 3) float64 arrays
        [length], [length / time].
    ids : (n,) int64 array
        Global ids; 0, 1, ... when left out.
    squared : float
        Mean square speed of all beads of the system; that of these when left out [length^2 / time^2].
    """

    source: str
    topology: Topology
    position: np.ndarray
    velocity: np.ndarray
    ids: np.ndarray = FOLLOWS
    squared: float = np.nan

    def __post_init__(self) -> None:
        if self.ids is None:
            object.__setattr__(self, "ids", np.arange(self.topology.beads))
        if np.isnan(self.squared):
            squares = np.einsum("ik,ik->i", self.velocity, self.velocity)
            object.__setattr__(self, "squared", float(squares.mean()) if len(squares) else 0.0)

    def check(self, box: Box) -> None:
        """Raise unless each molecule satisfies its bonds, which are independent, and is inside the walls, to 1e-9."""
        self.require_tried()
        self._check_bonds()
        self.check_rates()
        self._check_rigid()
        require_independent(self.source, self.topology, self.position, self.ids)
        wall = wall_overlap(box, self.topology, self.position, TOLERANCE) if len(self.position) else None
        if wall is not None:
            bead, axis, depth = wall
            raise ConfigError(
                f"{self.source}: molecule.positions: bead {self.ids[bead]} reaches {depth:.3g} into a wall of axis "
                f"{axis}; move it inside the box"
            )

    def require_tried(self) -> None:
        """Raise for places and speeds that have not been tried (`hpcchain.config.keys.values`)."""
        if not len(self.position):
            return
        with wrong_as(ConfigError, f"{self.source}: molecule.positions: "):
            PLACES.require(float(np.abs(self.position).max()))
        with wrong_as(ConfigError, f"{self.source}: molecule.velocities: they are too far from the diameters: "):
            require_tried_speed(float(self.topology.diameter.min()), self.squared)

    def require_within(self, config: Config) -> None:
        """Raise unless beads are inside all of an input's walls with shapes, to 1e-9 of their diameters."""
        shapes = [wall for wall in walls_of(config) if wall.shape is not None]
        if not shapes or not len(self.position):
            return
        diameter = self.topology.diameter
        depth = outside(shapes, self.position, 0.5 * diameter)
        bead, shape = np.unravel_index(np.argmax(depth - TOLERANCE * diameter[:, None]), depth.shape)
        if depth[bead, shape] > TOLERANCE * diameter[bead]:
            wall = shapes[shape]
            raise ConfigError(
                f"{config.source}: wall: bead {self.ids[bead]} reaches {depth[bead, shape]:.6g} beyond the "
                f"{wall.shape} of radius {wall.radius:g} about {[*required(wall.center)]}; move it inside, or enlarge "
                "wall.radius"
            )

    def require_limits(self, physics: Physics) -> None:
        """Raise unless distances inside molecules are within limits, to 1e-9, and bonds shorter than FENE's allow."""
        offsets, others, distances = limited_pairs(self.topology, physics)
        first = np.repeat(np.arange(self.topology.beads), np.diff(offsets))
        r = np.sqrt(np.sum((self.position[first] - self.position[others]) ** 2, axis=1))
        bad = np.flatnonzero((r < distances[:, 0] * (1.0 - TOLERANCE)) | (r > distances[:, 1] * (1.0 + TOLERANCE)))
        if len(bad):
            at = bad[0]
            raise ConfigError(
                f"{self.source}: molecule.distance_limits: beads {self.ids[first[at]]} and {self.ids[others[at]]} are "
                f"{r[at]:.9g} apart, not from {distances[at, 0]:g} to {distances[at, 1]:g}; move them, or widen the "
                "limits"
            )
        for index, one in enumerate(physics.steps.potentials if physics.steps else ()):
            if one.name == "fene":
                self._require_shorter(one, f"potential[{index}].length")

    def _require_shorter(self, one: PotentialConstants, key: str) -> None:
        """Raise, naming the beads of the longest bond, where one that a FENE potential holds is torn."""
        topology, bonds = self.topology, self.topology.bonds[~self.topology.rigid]
        if one.types is not None:
            types = np.array(topology.type_names, dtype=object)[topology.bead_type[bonds]]
            bonds = bonds[np.all(np.sort(types.astype(str), axis=1) == sorted(one.types), axis=1)]
        length = np.sqrt(np.sum(bond_vectors(self.position, bonds) ** 2, axis=1))
        if np.max(length, initial=0.0) >= one.length:
            i, j = self.ids[bonds[np.argmax(length)]]
            raise ConfigError(
                f"{self.source}: {key}: {one.length:g} is not above the distance {length.max():.9g} of the bonded "
                f"beads {i} and {j} at the start, so their bond is torn; enlarge it, or move them"
            )

    def _check_bonds(self) -> None:
        topology, length = self.topology, np.linalg.norm(bond_vectors(self.position, self.topology.bonds), axis=1)
        error = np.where(topology.rigid, np.abs(length / topology.bond_length - 1.0), 0.0)
        if np.any(error > TOLERANCE):
            at = np.argmax(error)
            i, j = self.ids[topology.bonds[at]]
            raise ConfigError(
                f"{self.source}: molecule.positions: beads {i} and {j} are {length[at]:.12g} apart, their bond_length "
                f"is {topology.bond_length[at]:.12g}; they must agree to {TOLERANCE:g} relative"
            )

    def check_rates(self, tolerance: float = TOLERANCE) -> None:
        """Raise where velocities change a bond's length, to a tolerance of their speed."""
        rate, excess = self.lengthening(tolerance)
        if np.any(excess > 0.0):
            at = np.argmax(excess)
            i, j = self.ids[self.topology.bonds[at]]
            raise ConfigError(
                f"{self.source}: molecule.velocities: the bond of beads {i} and {j} would lengthen at {rate[at]:.6g}; "
                f"velocities must not change a bond's length, to {tolerance:g} of their speed"
            )

    def lengthening(self, tolerance: float = TOLERANCE) -> tuple[np.ndarray, np.ndarray]:
        """Return how fast each bond's length changes, and by how much that is beyond a tolerance of its speed."""
        topology, bond = self.topology, bond_vectors(self.position, self.topology.bonds)
        rate = np.abs(np.einsum("bk,bk->b", bond, bond_vectors(self.velocity, topology.bonds))) / topology.bond_length
        squares = np.einsum("ik,ik->i", self.velocity, self.velocity)
        speed = np.sqrt(np.maximum(squares[topology.bonds].max(axis=1), self.squared))
        return rate, np.where(topology.rigid, rate - tolerance * speed, 0.0)

    def _check_rigid(self) -> None:
        """Look at rods and rigid bodies: their beads are where these have them, and so are velocities."""
        for group in groups_of(self.topology, self.topology.rod | self.topology.body):
            x, v = self.position[group.beads], self.velocity[group.beads]
            if group.rod:
                has, gives = "the straight line of its rod", "a rigid rod would"
                lie, keep = "beads of a rod must lie there", "velocities must keep a rod straight"
            else:
                has, gives = "its rigid body", "its rigid body would"
                lie, keep = "beads must lie as sites say, not mirrored,", "velocities must be rigid"
            off = self._farthest_off(group, x - project_group(group, x), group.extent)
            if off:
                rule = f"{lie} to {TOLERANCE:g} of its length {group.extent:.12g}"
                raise ConfigError(f"{self.source}: molecule.positions: {off} off where {has} has it; {rule}")
            speed = np.sqrt(np.maximum(np.einsum("cnk,cnk->cn", v, v).max(axis=1), self.squared))[:, None]
            off = self._farthest_off(group, v - project_group_velocities(group, x, v), speed)
            if off:
                rule = f"{keep}, to {TOLERANCE:g} of their speed"
                raise ConfigError(
                    f"{self.source}: molecule.velocities: {off} off the velocity that {gives} give it; {rule}"
                )

    def _farthest_off(self, group: Group, difference: np.ndarray, scale: np.ndarray | float) -> str:
        """Return "bead N is X" of that whose difference is the largest share of the scale; "" where none is large."""
        off = np.sqrt(np.sum(difference**2, axis=2))
        scale = np.broadcast_to(scale, off.shape)
        error = np.divide(off, scale, out=np.zeros_like(off), where=scale > 0.0)
        if np.all(error <= TOLERANCE):
            return ""
        at = np.argmax(np.where(np.isnan(error), np.inf, error))
        return f"bead {self.ids[group.beads.ravel()[at]]} is {off.ravel()[at]:.6g}"
