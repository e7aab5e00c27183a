"""Random placement of all molecules with shrunk beads, from which the diameters then grow."""

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model import placement_kernel as kernel
from hpcchain.model.conformation import conformation, is_rigid
from hpcchain.model.constraints import project_positions
from hpcchain.model.groups import groups_of
from hpcchain.model.independence import require_independent_shapes
from hpcchain.model.random import Stream
from hpcchain.model.rods import sites
from hpcchain.model.system import PERIODIC, WALL

# Draws that one molecule may use before it counts as having no room.
DRAWS, DRAWS_PER_BEAD = 200_000, 2_000
# Conformations of a kind with closed bonds; its molecules take them in turn.
CONFORMATIONS = 16
MOST_CELLS = 2**26


def place(config, box, topology, scale):
    """Return random positions without overlaps of beads shrunk by a factor, bonds at full length.

    Trees of bonds grow bead by bead as self-avoiding walks; rods and molecules with closed bonds are placed as rigid
    bodies, in conformations that have room for the full beads where possible. Every bead stays its full radius away
    from walls, and open axes are filled up to the box's size.

    Parameters
    ----------
    config : Config
        For the seed and for messages.
    box, topology :
        `build_box` and `build_topology` of it.
    scale : float
        Factor of the diameters, 0 < scale <= 1.

    Returns
    -------
    (N, 3) float64 array
        Unwrapped positions, each molecule's first placed bead in the box [length].

    Raises
    ------
    ConfigError
        When a molecule finds no room, or its bonds cannot close.
    """
    grid = make_grid(box, topology, scale)
    record = (topology.first_bead[topology.molecule_of_bead], scale * topology.diameter, margins(box, topology))
    seed, stream = np.uint64(config.initial.seed), np.uint64(Stream.PLACEMENT)
    for group in sorted(groups_of(topology), key=difficulty):
        firsts, ids = group.beads[:, 0].copy(), group.molecules.astype(np.uint64)
        budget = DRAWS + DRAWS_PER_BEAD * len(group.mass)
        if group.has_cycles or group.rod:
            shapes = straight(group) if group.rod else conformations(config, topology, group, scale)
            failed = kernel.place_rigids(grid, record, firsts, ids, shapes, seed, stream, DRAWS)
        else:
            through = not topology.self_contact[group.molecules[0]]
            tree = spanning_tree(group)
            failed = kernel.place_trees(grid, record, firsts, ids, tree, through, seed, stream, budget)
        if failed >= 0:
            raise ConfigError(no_room(config, topology, group, failed, scale))
    return project_positions(topology, grid[6])


def no_room(config, topology, group, failed, scale):
    """Return the message for a molecule that could not be placed."""
    kind, count = topology.kind[group.molecules[0]], len(group.molecules)
    return (
        f"{config.source}: molecule[{kind}].count: no room was found for molecule {failed} of {count} of kind "
        f"{topology.names[kind]!r} with beads at {scale:g} of their diameter; enlarge box.size or lower the count"
    )


def difficulty(group):
    """Sort key: rigid bodies (closed bonds, rods) first, then large molecules before small ones."""
    return (not (group.has_cycles or group.rod), -len(group.mass), int(group.molecules[0]))


def make_grid(box, topology, scale):
    """Return the kernel's empty grid, with cells at least one shrunk contact distance wide."""
    width = max(scale * float(topology.diameter.max()), (box.volume / max(topology.beads, 1)) ** (1.0 / 3.0))
    shape = np.clip(np.floor(box.size / (width * (1.0 + 1e-9))), 1.0, 2.0**20).astype(np.int64)
    while np.prod(shape.astype(np.float64)) > MOST_CELLS:
        shape = np.maximum(shape // 2, 1)
    head = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    after = np.full(topology.beads, -1, dtype=np.int64)
    periodic = box.boundary == PERIODIC
    return box.origin, box.size, periodic, shape, head, after, np.zeros((topology.beads, 3))


def margins(box, topology):
    """Return how far each bead's centre stays from the sides of the box: its full radius at walls, (N, 3) [length]."""
    return 0.5 * topology.diameter[:, None] * (box.boundary == WALL)


def spanning_tree(group):
    """Return (order, parent, length) of the beads of a molecule, breadth first from bead 0 along its bonds.

    Parameters
    ----------
    group : Group
        A connected kind.

    Returns
    -------
    tuple of (n,) int64, int64 and float64 arrays
        Beads in the order of placing; each one's parent; the bond between them (0 for the root) [length].
    """
    n = len(group.mass)
    neighbours = [[] for _ in range(n)]
    for (i, j), length in zip(group.bonds.tolist(), group.length.tolist(), strict=True):
        neighbours[i].append((j, length))
        neighbours[j].append((i, length))
    order, parent, lengths, seen = [0], [0], [0.0], [True] + [False] * (n - 1)
    for bead in order:
        for other, length in neighbours[bead]:
            if not seen[other]:
                seen[other] = True
                order.append(other)
                parent.append(bead)
                lengths.append(length)
    return np.array(order), np.array(parent), np.array(lengths)


def straight(group):
    """Return (1, n, 3) positions of a rod's beads about its centre of mass."""
    return sites(group.length, group.mass)[None, :, None] * np.array([1.0, 0.0, 0.0])


def conformations(config, topology, group, scale):
    """Return (k, n, 3) random conformations of a kind with closed bonds, for full beads or else for shrunk ones."""
    one = group.molecules[0]
    diameter = topology.diameter[group.beads[0]]
    contact = bool(topology.self_contact[one])
    seed = config.initial.seed
    found, room = [conformation(group, diameter, contact, seed, 0)], 1.0
    if found[0] is None and scale < 1.0:
        found, room = [conformation(group, scale * diameter, contact, seed, 0)], scale
        if found[0] is not None and is_rigid(group, found[0]):
            found = [None]  # its beads would never get their room
    if found[0] is None:
        kind = topology.kind[one]
        raise ConfigError(
            f"{config.source}: molecule[{kind}].bond_length: no arrangement of the beads was found that satisfies the "
            "bonds without overlaps; change the bond lengths or the diameters, or set self_contact = false"
        )
    kind = topology.kind[one]
    named = config.source, f"molecule[{kind}]", topology.names[kind], group
    require_independent_shapes(*named, np.array(found))
    wanted = min(CONFORMATIONS, len(group.molecules))
    found += [conformation(group, room * diameter, contact, seed, k) for k in range(1, wanted)]
    shapes = np.array([shape for shape in found if shape is not None])
    require_independent_shapes(*named, shapes)
    return shapes
