"""What sectors of one system share: which code moves a kind of molecule, its static tables, its bond graph.

And how a sector lays out the molecules that it has: along a curve in space, with rows kept free for ghosts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.workspace import tiles
from hpcchain.model.molecules.bond_graph import LANES as STRIDE_LANES
from hpcchain.model.molecules.bond_graph import build_structure
from hpcchain.model.molecules.exclusion import adjacency, excluded_pairs
from hpcchain.model.molecules.rods import molecule_sites
from hpcchain.model.physics.extended import is_extended, types_of_contacts
from hpcchain.model.physics.external import gravity_of
from hpcchain.propagators.catalogue import PROPAGATORS, STEP_SOLVER_CODES
from hpcchain.propagators.collocation.collocation_molecule import SOLVER, stage_table, stages_workspace
from hpcchain.propagators.steps.step_molecule import step_table, steps_workspace
from hpcchain.propagators.taylor.graph_molecule import web_workspace

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Physics, System, Topology
    from hpcchain.sector.setup.chain_parts import ChainParts


class MoleculeClasses:
    """What sectors of one system share: made once, whichever molecules a sector holds.

    Parameters
    ----------
    system : System
        Its topology and physics are used, not its state.
    chain_parts : ChainParts, optional
        See below.

    Attributes
    ----------
    composition : Composition
        Molecules of one of its classes share beads, bonds, masses and lengths.
    rows : (classes, MOL_COLUMNS) int64 array
        What `mol` has in common for a class.
    table, graph : arrays
        Static tables and bond graphs.
    sizes : (k,) int64 array
        The numbers of beads that molecules have.
    offsets, partners : int64 arrays
        The beads of each bead of the prototypes that it never collides with (`excluded_pairs`), relative to it.
    chain_parts : ChainParts or None
        Which molecules are parts of long chains (`chain_parts`), where some are.
    """

    def __init__(self, system: System, chain_parts: ChainParts | None = None) -> None:
        self.composition, self.chain_parts = system.topology, chain_parts
        topology = self.composition.prototypes
        self.rows = np.zeros((topology.molecules, L.MOL_COLUMNS), dtype=np.int64)
        types = types_of_contacts(topology.type_names, system.physics)[1][topology.bead_type]
        tables, graphs = [np.zeros(0)], [np.zeros(1, dtype=np.int64)]
        table_end, graph_end = 0, 1
        self.sizes = np.unique(np.diff(topology.first_bead))
        for m, row in enumerate(self.rows):
            physics = system.physics.of(topology.kind[m])
            n = int(topology.first_bead[m + 1] - topology.first_bead[m])
            table = static_table(topology, m)
            row[L.MOL_BEADS], row[L.MOL_TILES] = n, tiles(n)
            row[L.MOL_SOLVER] = solver_of(topology, m, physics)
            row[L.MOL_BONDS] = topology.first_bond[m + 1] - topology.first_bond[m]
            own = traits(topology, m, types) if is_extended(physics) else np.zeros(0)
            row[L.MOL_TABLE] = table_end + len(own) + L.LIMITS
            row[L.MOL_GRAPH] = graph_end
            row[L.MOL_WORKSPACE] = len(table) // W.TABLE * W.TILE
            row[L.MOL_SELF] = topology.self_contact[m]
            if row[L.MOL_SOLVER] == L.BODY:
                row[L.MOL_WORKSPACE] = tiles(n) * W.TILE
            if row[L.MOL_SOLVER] in (L.GRAPH, L.COLLOCATION, L.STEPPER):
                graphs.append(build_structure(n, molecule_bonds(topology, m)))
                graph_end += len(graphs[-1])
                row[L.MOL_WORKSPACE] = web_workspace(graphs[-1], tiles(n))
            if row[L.MOL_SOLVER] == L.COLLOCATION:
                stages = stages_of(physics)
                table = np.concatenate([table, stages])
                row[L.MOL_WORKSPACE] = stages_workspace(graphs[-1], tiles(n), physics.stages, int(stages[SOLVER]))
            if row[L.MOL_SOLVER] == L.STEPPER:
                solver = physics.options.solver
                steps = step_table(solver, 1e-3 * physics.tolerance, n, molecule_bonds(topology, m))
                table = np.concatenate([table, steps])
                row[L.MOL_WORKSPACE] = steps_workspace(graphs[-1], tiles(n), STEP_SOLVER_CODES[solver])
            tables += [own, limits(physics, row[L.MOL_SOLVER], has_fixed(topology, m)), table]
            table_end = row[L.MOL_TABLE] + len(table)
        self.rows[:, L.MOL_WORKSPACE] = -(-self.rows[:, L.MOL_WORKSPACE] // W.LANES) * W.LANES
        self.table, self.graph = np.concatenate(tables), np.concatenate(graphs)
        self.offsets, partners = adjacency(excluded_pairs(topology), topology.beads)
        self.partners = partners - np.repeat(np.arange(topology.beads), np.diff(self.offsets))

    @property
    def most_rows(self) -> np.ndarray:
        """Return how many molecules, and parts of long chains, of each size an event gives new segments to at most."""
        most = np.full(len(self.sizes), L.MOST_MEMBERS)
        if self.chain_parts is not None:
            most[np.searchsorted(self.sizes, self.chain_parts.sizes_of_parts())] += self.chain_parts.most_parts()
        return most

    def grouped(self, molecules: np.ndarray, first_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return an order of molecules that keeps parts of each long chain together; see `ChainParts.grouped`."""
        if self.chain_parts is None:
            return first_of(np.arange(len(molecules)))
        return self.chain_parts.grouped(molecules, first_of)

    def most_moved(self, beads: np.ndarray) -> int:
        """Return how many beads an event moves together at most: a molecule of these sizes, or a long chain."""
        return int(beads.max(initial=1 if self.chain_parts is None else self.chain_parts.longest))


def limits(physics: Physics, solver: int, fixed: bool = False) -> np.ndarray:
    """Return what stands in front of the static table of molecules that a code moves (STEP_AT and so on).

    `fixed`: whether any bead is.
    """
    values = np.zeros(L.LIMITS)
    values[L.STEP_AT] = physics.step if physics.step > 0.0 else np.inf
    values[L.TOLERANCE_AT] = max(physics.tolerance * 1e-3, 1e-18)
    values[L.LAW_AT] = solver == L.STEPPER and has_law(physics)
    values[L.FALLS_AT] = gravity_of(physics).any() and (solver == L.BALLISTIC) != fixed
    values[L.BISECTS_AT] = solver >= L.STEPPER and physics.options.contact_search == "bisection"
    return values


def has_fixed(topology: Topology, m: int) -> bool:
    """Return whether any bead of molecule m is fixed."""
    return bool(np.any(topology.fixed[topology.first_bead[m] : topology.first_bead[m + 1]]))


def traits(topology: Topology, m: int, types: np.ndarray) -> np.ndarray:
    """Return what stands before that in extended runs: types and moments of molecule m's beads, the last one first.

    `types`: of all beads, those that coefficients tell apart (`types_of_contacts`).
    """
    bead = slice(int(topology.first_bead[m]), int(topology.first_bead[m + 1]))
    found = np.zeros((bead.stop - bead.start, L.TRAITS))
    found[:, L.TRAIT_TYPE] = types[bead]
    found[:, L.TRAIT_INVERSE_MOMENT] = np.where(topology.fixed[bead], 0.0, 1.0 / topology.moment[bead])
    padding = np.zeros(-found.size % W.LANES)  # tables begin where vectors can be loaded
    return np.concatenate([padding, found[::-1].ravel()])


def stages_of(physics: Physics) -> np.ndarray:
    """Return the static table of collocation's stages."""
    chosen = physics.options
    nested = chosen.contact_search == "nested"
    return stage_table(
        physics.stages,
        1e-3 * physics.tolerance,
        variant=chosen.variant,
        solver=chosen.stage_solver,
        width=chosen.contact_interval if nested else 0.0,
        falling=nested and chosen.contact_stages == "falling",
    )


def has_law(physics: Physics) -> bool:
    """Whether molecules with these constants collide by Leyendecker et al. 2012's law."""
    return physics.propagator == "variational" and physics.options.collision != "exact"


def solver_of(topology: Topology, m: int, physics: Physics) -> int:
    """Return which code moves molecule m freely; `physics` is that of its kind."""
    n = int(topology.first_bead[m + 1] - topology.first_bead[m])
    bonds = molecule_bonds(topology, m)
    if n == 1:
        return L.BALLISTIC
    if has_fixed(topology, m) and gravity_of(physics).any():
        return L.GRAPH  # which alone knows of accelerations that are not all beads'
    if topology.rod[m]:
        return L.ROD_STEPPER if physics.propagator == "rattle" else L.ROD
    if topology.body[m]:
        return L.BODY
    if PROPAGATORS[physics.propagator].solvers:
        return L.STEPPER
    if n == 2:
        return L.ROTOR
    if physics.propagator == "collocation":
        return L.COLLOCATION
    starts = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    if bonds.shape == starts.shape and np.array_equal(bonds, starts):
        return L.CHAIN
    return L.GRAPH


def molecule_bonds(topology: Topology, m: int) -> np.ndarray:
    """Return (nb, 2) int64 bonds of molecule m in its own bead numbers."""
    lo, hi = topology.first_bond[m], topology.first_bond[m + 1]
    return np.asarray(topology.bonds[lo:hi] - topology.first_bead[m], dtype=np.int64)


def static_table(topology: Topology, m: int) -> np.ndarray:
    """Return a molecule's tiles of inverse masses, bond mask and squared bond lengths (`workspace`: INVM, MASK, LEN2).

    A rod has the coordinates of its beads in place of squared bond lengths (`rod`: SITE), and no mask. A rigid body has
    neither, and behind all tiles the rows of its beads' coordinates (`body`: SITE), tile by tile.
    """
    first, last = int(topology.first_bead[m]), int(topology.first_bead[m + 1])
    n = last - first
    count = tiles(n)
    padded = np.zeros(count * W.LANES + 1)
    padded[:n] = np.where(topology.fixed[first:last], 0.0, 1.0 / topology.mass[first:last])
    lengths = np.zeros(count * W.LANES)
    mask = np.zeros(count * W.LANES)
    bonds = molecule_bonds(topology, m)
    extra = np.zeros(-(-max(len(bonds), 1) // STRIDE_LANES) * STRIDE_LANES)
    extra[: len(bonds)] = topology.bond_length[topology.first_bond[m] : topology.first_bond[m + 1]] ** 2
    if topology.rod[m]:
        lengths[:n] = molecule_sites(topology, m)
    elif topology.body[m]:
        extra = np.zeros((count * W.LANES, L.AXES))
        extra[:n] = topology.site[first:last]
        extra = extra.reshape(count, W.LANES, L.AXES).transpose(0, 2, 1).ravel()
    elif len(bonds) == n - 1 and np.array_equal(bonds[:, 0] + 1, bonds[:, 1]):
        mask[: n - 1] = 1.0
        lengths[: n - 1] = topology.bond_length[topology.first_bond[m] : topology.first_bond[m + 1]] ** 2
    table = np.zeros((count, W.TABLE))
    for t in range(count):
        table[t, 0:9] = padded[t * W.LANES : t * W.LANES + 9]
        table[t, 16:24] = mask[t * W.LANES : (t + 1) * W.LANES]
        table[t, 24:32] = lengths[t * W.LANES : (t + 1) * W.LANES]
    return np.concatenate([table.ravel(), extra])


def space_sequence(system: System, molecules: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return these molecules' numbers along a space-filling (Morton) curve of their first beads.

    `first`: the state's row of each one's first bead.
    """
    place = (system.state.position[first] - system.box.origin) / system.box.size
    grid = np.floor(np.nan_to_num(place % 1.0) * 1024.0).astype(np.uint64) & np.uint64(1023)
    code = np.zeros(len(first), dtype=np.uint64)
    for bit in range(10):
        for axis in range(3):
            code |= ((grid[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return molecules[np.argsort(code, kind="stable")].astype(np.int64)


VACANCY = 8  # one free row for so many molecules of a class that are there
LEAST_VACANT = 8


def vacant_like(classes: MoleculeClasses, molecules: np.ndarray) -> np.ndarray:
    """Return molecules like which rows are kept free for ghosts, where these are; a chain's parts are in a row."""
    parts, composition = classes.chain_parts, classes.composition
    firsts = composition.firsts if parts is None else parts.whole.firsts
    kinds = composition.class_of(firsts if parts is None else parts.first_part[firsts])
    here = np.bincount(composition.class_of(molecules), minlength=composition.prototypes.molecules)[kinds]
    like = np.repeat(firsts, here // VACANCY + LEAST_VACANT)
    return like if parts is None else parts.sequence(like)


def vacant_rows(composition: Composition, free: np.ndarray, like: np.ndarray, molecules: np.ndarray) -> np.ndarray:
    """Return rows for molecules that come in, of free ones that are for molecules like others; -1 where there is none.

    Chains' parts come chain by chain, as rows for them lie: each chain's get rows side by side.
    """
    rows, kinds, its = np.full(len(molecules), -1), composition.class_of(molecules), composition.class_of(like)
    for kind in np.unique(kinds):
        at, there = np.flatnonzero(kinds == kind), free[its == kind]
        rows[at[: len(there)]] = there[: len(at)]
    return rows
