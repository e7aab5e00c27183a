"""Random placement of all molecules with shrunk beads, from which the diameters then grow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.config.demands.check import walls_of
from hpcchain.config.sizes import table_number
from hpcchain.errors import ConfigError
from hpcchain.model.composition import running_sum
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.molecules.exclusion import BondWalker, adjacency, excluded_in
from hpcchain.model.molecules.independence import require_independent_shapes
from hpcchain.model.molecules.rods import sites
from hpcchain.model.physics.constants import DistanceLimit
from hpcchain.model.physics.step_potentials import pairs_apart
from hpcchain.model.physics.walls import enclosures
from hpcchain.model.random import Stream
from hpcchain.model.starts import placement_kernel as kernel
from hpcchain.model.starts.conformation import (
    CLOSE,
    MOST_BEADS,
    Sought,
    conformation,
    embed,
    is_rigid,
    stiff_conformation,
)
from hpcchain.model.starts.constraints import project_positions
from hpcchain.model.system import WALL

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Box, Topology

# Draws that one molecule may use before it counts as having no room.
DRAWS, DRAWS_PER_BEAD = 200_000, 2_000
# Conformations of a kind with closed bonds; its molecules take them in turn.
CONFORMATIONS = 16
MOST_CELLS = 2**26


class NoArrangement(ConfigError):
    """No arrangement of a kind's beads is found, whatever size they begin with."""


class ToPlace(NamedTuple):
    """A kind of molecules: how messages call its [[molecule]] table, that table, and what arrangements it has."""

    where: str
    kind: MoleculeSection
    sought: Sought

    @property
    def rules(self) -> list[DistanceLimit]:
        """Its limits of distances, with room for contacts.

        Beads keep the distance of full ones from the start on: while they grow, limits are as they are in the end.
        """
        kind = self.kind
        contact = float(np.max(kind.diameter)) if kind.self_contact else 0.0
        return [
            DistanceLimit(separation, max(least, contact) if separation > kind.exclude else least, most)
            for separation, least, most in kind.distance_limits
        ]

    def shapes_within(self, shapes: np.ndarray) -> np.ndarray:
        """Return those of its conformations that keep its limits of distances; NoArrangement where none does."""
        good = np.ones(len(shapes), dtype=bool)
        for separation, least, most in self.rules:
            pairs = pairs_apart(self.kind.beads, self.sought.group.bonds, separation)
            r = np.linalg.norm(shapes[:, pairs[:, 0]] - shapes[:, pairs[:, 1]], axis=2)
            good &= np.all((r > least) & (r < most), axis=1)
        if not good.any():
            raise NoArrangement(
                f"{self.where}.distance_limits: none of {len(shapes)} conformations that were made of "
                f"{self.kind.name!r} keeps them; widen them, or start from positions of your own"
            )
        return shapes[good]

    def conformations(self, scale: float, known: dict[int, np.ndarray]) -> np.ndarray:
        """Return (k, n, 3) random conformations of closed bonds, for full beads or else for shrunk ones.

        `known` keeps those for full beads, by the kind's first molecule, from one scale to the next.
        """
        group, full, one = self.sought.group, self.sought.diameter, self.sought.group.molecules[0]
        if one not in known:
            known[one] = self._full_conformations()
            require_independent_shapes(self.where, self.kind.name, group, known[one])
        if len(known[one]):
            return known[one]
        make = partial(conformation, self.sought._replace(diameter=scale * full))
        first = make(0) if scale < 1.0 else None
        if first is None or is_rigid(group, first):  # beads of a rigid one would never get their room
            final = len(group.mass) <= MOST_BEADS  # least squares have been tried, too
            raise (NoArrangement if final else ConfigError)(self._no_arrangement("without overlaps"))
        shapes = several(group, make)
        require_independent_shapes(self.where, self.kind.name, group, shapes)
        return shapes

    def _full_conformations(self) -> np.ndarray:
        """Return conformations for full beads, none where only shrunk ones might have any.

        Random networks of springs come first; stiff molecules on which these fail are found by least squares. Raises
        NoArrangement when the bonds alone cannot be satisfied.
        """
        for make in (conformation, stiff_conformation):
            shapes = several(self.sought.group, partial(make, self.sought))
            if len(shapes):
                return shapes
        _, error = embed(self.sought._replace(self_contact=False))
        if error > CLOSE:
            found = f"(in the nearest that was found a bond is off by {100.0 * error:.2g} % of its length)"
            raise NoArrangement(self._no_arrangement(found))
        return shapes

    def no_room(self, failed: int, scale: float) -> str:
        """Return the message for a molecule that could not be placed."""
        return (
            f"{self.where}.count: no room was found for molecule {failed} of {len(self.sought.group.molecules)} of "
            f"kind {self.kind.name!r} with beads at {scale:g} of their diameter; enlarge box.size or lower the count"
        )

    def _no_arrangement(self, how: str) -> str:
        """Return the message for a kind of molecules of which the beads find no place."""
        return (
            f"{self.where}.bond_length: no arrangement of the beads was found that satisfies the bonds {how}; change "
            "the bonds, their lengths or the diameters, or set self_contact = false"
        )


def place(
    config: Config,
    box: Box,
    topology: Topology,
    scale: float,
    parallel: bool = False,
    known: dict[int, np.ndarray] | None = None,
) -> np.ndarray:
    """Return random positions without overlaps of beads shrunk by a factor, bonds at full length.

    Trees of bonds grow bead by bead as self-avoiding walks; rods and molecules with closed bonds are placed as rigid
    bodies, in conformations that have room for the full beads where possible. Every bead stays its full radius away
    from walls and within shapes, and open axes are filled up to the box's size.

    Parameters
    ----------
    config : Config
        For the seed and for messages.
    box, topology :
        Its Box, and the tables of its molecules.
    scale : float
        Factor of the diameters, 0 < scale <= 1.
    parallel : bool
        Whether all rods lie along one axis of the box.
    known : dict, optional
        Conformations that were found for another scale; new ones are added.

    Returns
    -------
    (N, 3) float64 array
        Unwrapped positions, each molecule's first placed bead in the box [length].

    Raises
    ------
    ConfigError
        When a molecule finds no room; a NoArrangement where its bonds cannot be satisfied at all.
    """
    grid, known = make_grid(box, topology, scale), {} if known is None else known
    constants = kernel.Constants(
        topology.first_bead[topology.molecule_of_bead],
        scale * topology.diameter,
        0.5 * topology.diameter[:, None] * (box.boundary == WALL),
        0.5 * topology.diameter,
        enclosures(walls_of(config)),
    )
    seed, stream = np.uint64(config.initial.seed), np.uint64(Stream.PLACEMENT)
    for group in sorted(groups_of(topology), key=difficulty):
        kind = to_place(config, topology, group)
        firsts, ids = group.beads[:, 0].copy(), group.molecules.astype(np.uint64)
        budget = DRAWS + DRAWS_PER_BEAD * len(group.mass)
        if group.has_cycles or group.is_stiff:
            shapes = kind.shapes_within(shape_of(group) if group.is_stiff else kind.conformations(scale, known))
            turned = not (group.rod and parallel)
            if not turned:
                shapes = straight(group, longest_axis(box))
            failed = kernel.place_rigids(grid, constants, firsts, ids, shapes, turned, seed, stream, DRAWS)
        else:
            through = not kind.sought.self_contact
            tree = spanning_tree(group)
            limits = tree_limits(group, tree[0], kind.rules)
            tree = (*tree, *adjacency(excluded_in(group), len(group.mass)), limits)
            failed = kernel.place_trees(grid, constants, firsts, ids, tree, through, seed, stream, budget)
        if failed >= 0:
            raise ConfigError(kind.no_room(failed, scale))
    return project_positions(topology, grid.position)


def to_place(config: Config, topology: Topology, group: Group) -> ToPlace:
    """Return the kind of molecules of an input that a Group has."""
    number, diameter = int(topology.kind[group.molecules[0]]), topology.diameter[group.beads[0]]
    sought = Sought(group, diameter, bool(topology.self_contact[group.molecules[0]]), config.initial.seed)
    where = f"{config.source}: molecule[{table_number(config.molecules, number)}]"
    return ToPlace(where, config.molecules[number], sought)


def difficulty(group: Group) -> tuple[bool, int, int]:
    """Sort key: rigid bodies (closed bonds, rods) first, then large molecules before small ones."""
    return (not (group.has_cycles or group.is_stiff), -len(group.mass), int(group.molecules[0]))


def make_grid(box: Box, topology: Topology, scale: float) -> kernel.Grid:
    """Return an empty grid, with cells at least one shrunk contact distance wide."""
    width = max(scale * float(topology.diameter.max()), (box.volume / max(topology.beads, 1)) ** (1.0 / 3.0))
    shape = np.clip(np.floor(box.size / (width * (1.0 + 1e-9))), 1.0, 2.0**20).astype(np.int64)
    while np.prod(shape.astype(np.float64)) > MOST_CELLS:
        shape = np.maximum(shape // 2, 1)
    head = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    after = np.full(topology.beads, -1, dtype=np.int64)
    return kernel.Grid(box.origin, box.size, box.periodic, shape, head, after, np.zeros((topology.beads, 3)))


def spanning_tree(group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return beads, breadth first from bead 0 along the bonds, each one's parent, and the bond between [length]."""
    sequence, parent, bond = np.array(BondWalker(len(group.mass), group.bonds).walk(0)).T.copy()
    return sequence, parent, np.append(group.length, 0.0)[bond]


def tree_limits(
    group: Group, sequence: np.ndarray, rules: list[DistanceLimit]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which distances beads placed in an order keep from those before them.

    Where each bead's begin (n + 1,), the other bead (k,), and squares of the least and the greatest (k, 2) [length^2].
    """
    rank = np.argsort(sequence)
    found = [[] for _ in sequence]
    for separation, least, most in rules:
        for a, b in pairs_apart(len(sequence), group.bonds, separation).tolist():
            later, earlier = (a, b) if rank[a] > rank[b] else (b, a)
            found[rank[later]].append((earlier, least**2, most**2))
    begin = running_sum([len(each) for each in found])
    flat = [each for one in found for each in one]
    return (
        begin,
        np.array([other for other, *_ in flat], dtype=np.int64),
        np.array([squares for _, *squares in flat]).reshape(-1, 2),
    )


def straight(group: Group, axis: int = 0) -> np.ndarray:
    """Return (1, n, 3) positions of a rod's beads about its centre of mass, along an axis."""
    return sites(group.length, group.mass)[None, :, None] * np.eye(3)[axis]


def shape_of(group: Group) -> np.ndarray:
    """Return (1, n, 3) positions of a rod's or rigid body's beads about its centre of mass."""
    return group.site[None] if group.is_body else straight(group)


def longest_axis(box: Box) -> int:
    """Return the axis along which rods have most room: one without walls where there is one, else the longest."""
    return int(np.lexsort((-box.size, box.boundary == WALL))[0])


def several(group: Group, make: Callable[[int], np.ndarray | None]) -> np.ndarray:
    """Return (k, n, 3) conformations `make(number)`, as many as are wanted and found; none without the first."""
    first, wanted = make(0), min(CONFORMATIONS, len(group.molecules))
    found = [] if first is None else [first, *(make(k) for k in range(1, wanted))]
    return np.array([shape for shape in found if shape is not None]).reshape(-1, len(group.mass), 3)
