"""How a sector's arrays (`arrays`) are made from a system: constants, cells, molecules, windows, capacity for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.contact.coefficients import coefficient_table, contact_rate
from hpcchain.contact.laws.joint_rough import SCRATCH
from hpcchain.errors import EngineError
from hpcchain.jit.shared_rows import OWN_COLUMNS, SharedRows
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.memory import aligned, aligned_zeros, blank, side_by_side
from hpcchain.layout.segment_bits import PARTNER_BITS, packed_starts
from hpcchain.layout.workspace import tiles
from hpcchain.model.composition import in_blocks, running_sum
from hpcchain.model.molecules.bodies import body_length
from hpcchain.model.molecules.rods import longest_rod
from hpcchain.model.physics.extended import complete, is_extended, types_of_contacts
from hpcchain.model.physics.external import gravity_of
from hpcchain.model.physics.step_potentials import (
    bead_types,
    beyond_contact,
    farthest,
    limited_pairs,
    potential_table,
)
from hpcchain.model.physics.walls import shapes_of, wall_rows
from hpcchain.model.system import WALL
from hpcchain.sector.prefetch import PARTS, STEPS
from hpcchain.sector.queue.tournament import queue_size
from hpcchain.sector.search.list_place import TURN
from hpcchain.sector.setup.molecule_classes import has_law
from hpcchain.sector.setup.shell import filled

if TYPE_CHECKING:
    from hpcchain.model.system import Box, Physics, State, System, Topology
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses


LEAST_FOUND = 32  # cells about a bead, and rests of fours
FOUND = 4096  # beads that `found` can take, where there are so many, before it is given more
LISTED = 64  # entries of all beads' lists when they are made at first: what nothing is written to takes no memory
LONGEST = 32  # lengths of blocks of lists, in steps, to begin with
# What lines can take that are not the first of their cells, to begin with: of every bead, and at least.
SPARE_ENTRIES, LEAST_ENTRIES = 0.12, 256
INSTANT_RULES = {"joint": L.JOINT, "generalised": L.GENERALISED, "moreau": L.MOREAU}
ORIGIN_ROUNDING = 2.0**-31  # of the box: no list origin is farther from where it should be
MOST_LAYERS = 1 << 28  # of cells along an edge of the box, whose coordinates have 32 bits
SPARE_LAYERS = 2  # of cells around the beads that a sector begins with


def parameters(system: System, shell: float, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the (PARAMETERS,) float64 constants that kernels read, and how many cells fit along each axis."""
    box, physics, composition = system.box, system.physics, system.topology
    topology = composition.prototypes
    contact = float(topology.diameter.max())
    beyond = beyond_contact(topology, physics)
    greatest = max(contact, farthest(physics))
    par = np.zeros(L.PARAMETERS)
    periodic = box.periodic
    wall = box.boundary == WALL
    par[L.TICK] = physics.tick
    par[L.SIZE : L.SIZE + L.AXES] = np.where(periodic, box.size, 0.0)
    par[L.INVERSE : L.INVERSE + L.AXES] = np.where(periodic, 1.0 / box.size, 0.0)
    par[L.GROWTH] = 1.0
    par[L.CAP] = np.min(np.where(periodic, 0.5 * box.size - greatest, np.inf)) / 2
    if not np.isfinite(par[L.CAP]):
        par[L.CAP] = float(np.max(box.size))
    par[L.CAP] *= 1.0 - 1e-9
    par[L.CONTACT_RATE] = contact_rate(physics.longest_contact_time)
    par[L.PAIR_COLUMNS] = len(types_of_contacts(topology.type_names, physics)[0]) + L.SIDES + len(shapes_of(physics))
    par[L.GRAVITY : L.GRAVITY + L.AXES] = gravity_of(physics)
    par[L.FALL] = np.sqrt(np.sum(gravity_of(physics) ** 2))
    par[L.SIMULTANEOUS] = physics.tick * 2.0**-20
    par[L.INSTANT_RULE] = INSTANT_RULES[physics.extended.simultaneous]
    par[L.HORIZON] = physics.tick
    par[L.ORIGIN : L.ORIGIN + L.AXES] = box.origin
    par[L.LAW] = any(has_law(each) for each in physics.every())
    par[L.PERIOD : L.PERIOD + L.AXES] = box.size
    par[L.INVERSE_PERIOD : L.INVERSE_PERIOD + L.AXES] = 1.0 / box.size
    par[L.WIDEST] = contact
    par[L.UNEQUAL] = float(topology.diameter.min() != contact)
    par[L.NOW] = par[L.NOW_REM] = par[L.LATEST] = par[L.LATEST_REM] = -np.inf
    par[L.SWEPT_UNIT] = 2.0**-20 * contact
    par[L.SWEPT_SCALE : L.SWEPT_SCALE + L.AXES] = box.size / par[L.SWEPT_UNIT] / TURN
    par[L.SWEPT_MARGIN] = 2.0 + 2.0**-30 * float(box.size.max()) / par[L.SWEPT_UNIT]
    par[L.QUANTUM], par[L.IMPULSE_QUANTUM] = quanta(system)
    par[L.ENERGY_QUANTUM] = energy_quantum(system)
    thermostat = physics.extended.thermostat
    if thermostat is not None:
        par[L.REDRAW_RATE], par[L.REDRAW_TEMPERATURE] = thermostat.rate, thermostat.temperature
    par[L.WALLS] = float(wall.any() or bool(shapes_of(physics)))
    par[L.TURNS] = float(bool(physics.extended.orientations))
    par[L.BEYOND], par[L.STEP_POTENTIALS] = beyond, float(bool(physics.extended.potentials))
    along_bonds = np.repeat(topology.exclude, np.diff(topology.first_bond)) * topology.bond_length
    longest = max(float(along_bonds.max(initial=0.0)), longest_rod(topology), body_length(topology.site))
    par[L.SMALL_BOX] = float(np.any(periodic & (2.0 * longest >= box.size)))
    par[L.ASTRAY] = L.ROUGHNESS * float(box.size.max()) if periodic.all() and not par[L.SMALL_BOX] else np.inf
    return par, set_shell(par, system, shell, cell)


def set_shell(par: np.ndarray, system: System, shell: float, cell: float) -> np.ndarray:
    """Write the lists' shell into the constants; return how many cells fit along each axis, (3,) int64."""
    par[L.SHELL] = shell
    par[L.SAFE_SHELL] = max(shell - ORIGIN_ROUNDING * float(system.box.size.max()), 0.0)
    width = max((par[L.WIDEST] + par[L.BEYOND] + 2.0 * shell) * (1.0 + 1e-6), cell)
    return np.clip(np.floor(system.box.size / width), 1, MOST_LAYERS).astype(np.int64)


def most_cells(beads: int) -> int:
    """Return how many cells a system of so many beads has at most."""
    return max(1, int(round((4.0 * beads) ** (1 / 3))) + 1) ** 3


def quanta(system: System) -> tuple[float, float]:
    """Return the powers of two in which contacts' virials and walls' impulses are counted: sums are those of any order.

    In units of mass length^2 / time and mass length / time; 2^-36 and 2^-42 of what a heaviest bead has that moves its
    diameter in a tick, or that is thrown back by what acts from outside, if that is more.
    """
    topology = system.topology.prototypes
    length, mass = float(topology.diameter.max()), float(topology.mass.max())
    impulse = max(mass * length / system.physics.tick, 2.0 * (mass * energy_brought(system.physics, mass)) ** 0.5)
    return 2.0 ** (np.floor(np.log2(impulse * length)) - 36.0), 2.0 ** (np.floor(np.log2(impulse)) - 42.0)


BROUGHT = 64.0
"""Of the energy that something outside gives a bead, at least, is what counts as a bead's for sums of work."""


def energy_quantum(system: System) -> float:
    """Return the power of two in which work and heat are counted; 2^-48 of a heaviest bead's of its diameter a tick.

    Where what acts from outside brings in far more than beads have at the start it follows from that, lest sums
    overflow.
    """
    topology = system.topology.prototypes
    mass = float(topology.mass.max())
    energy = mass * (float(topology.diameter.max()) / system.physics.tick) ** 2
    energy = max(energy, BROUGHT * energy_brought(system.physics, mass))
    return float(2.0 ** (np.floor(np.log2(energy)) - 48.0))


def energy_brought(physics: Physics, mass: float) -> float:
    """Return what a wall, a fixed bead or a thermostat gives a bead of a mass, in the mean [mass length^2 / time^2]."""
    acting = physics.extended
    given = [max(wall.temperature, mass * wall.speed**2) for wall in acting.walls]
    given.append(mass * acting.fixed_speed**2)
    return max([0.0 if acting.thermostat is None else acting.thermostat.temperature, *given])


def build_sector(
    classes: MoleculeClasses,
    system: System,
    shell: float,
    cell: float,
    sequence: np.ndarray,
    log_rows: int,
    at: np.ndarray | None = None,
    inside: int = 0,
) -> tuple[Any, np.ndarray]:
    """Allocate a sector for those molecules of a system, and in that order, that `sequence` gives.

    Parameters
    ----------
    classes : MoleculeClasses
        The system's.
    system : System
    shell, cell : float
        Half width of the neighbour lists' shell, and least cell width [length].
    sequence : (M,) int64 array
        Global molecule numbers in local order.
    log_rows : int
        Rows of the contact log, 0 for none.
    at : (n,) int64 array, optional
        The state's row of each local bead; default: its global id, where the state has all beads.
    inside : int
        Entries at least of the table of beads inside a step (`model.physics.extended`).

    Returns
    -------
    Sector, (N,) int64 array
        The arrays, and the global bead id of each local bead.
    """
    composition, state, part = classes.composition, system.state, at is not None
    par, cells = parameters(system, shell, cell)
    beads, ids = composition.size_of(sequence), composition.beads_of(sequence)
    at = ids if at is None else at
    n = len(ids)
    like = composition.prototype_of(ids)
    mol, size = molecule_rows(classes, sequence)
    starting = at[mol[:, L.MOL_FIRST]]
    mol[:, L.MOL_IMAGE : L.MOL_IMAGE + L.AXES] = countable_images(state.image[starting])
    # Molecules of others may come from anywhere to a part, but not before all is built anew.
    cells = folded(cells, system.box, state.position[at] if part else None, most_cells(composition.beads))
    return L.Sector(
        par=par,
        mol_own=mol.own,
        mol_class=mol.common,
        **timing_arrays(state.step[starting], options(classes, system)["stepper"]),
        **bead_arrays(state, at, ids, radii(composition.prototypes, like), mol),
        **list_arrays(mol, n, is_extended(system.physics)),
        **cell_arrays(cells, n, spare_entries(n)),
        series=aligned_zeros(size),
        table=classes.table,
        graph=classes.graph,
        **options(classes, system),
        **extra_arrays(system, at, like, inside),
        **contact_arrays(system),
        **step_arrays(classes, system, like),
        **chain_part_arrays(classes, sequence),
        **bond_arrays(classes, system, like),
        **queue_arrays(len(sequence)),
        **event_arrays(mol, classes.most_moved(beads), log_rows, is_extended(system.physics)),
        **scalar_arrays(n, len(sequence), len(classes.sizes), system.physics.extended.seed or 0),
    ), ids


def timing_arrays(running_length: np.ndarray, stepper: Any) -> dict:
    """Return `timing` of molecules, the running lengths of their segments, and what only steps need."""
    molecules = len(running_length)
    steps = molecules if stepper else 0
    arrays = blank(timing=molecules, running_length=molecules, series_error=steps, step_energy=steps)
    arrays["running_length"][:] = running_length
    return arrays


def bead_arrays(state: State, at: np.ndarray, ids: np.ndarray, radius: np.ndarray, mol: SharedRows) -> dict:
    """Return the arrays that have a row for each bead, with no events and in no cell.

    `at`, `ids`: the state's row and the global id of each bead; the others are of `radii` and `molecule_rows`.
    """
    n = len(ids)
    arrays = blank(bead_id=n, origin_time=n, where=n) | side_by_side(n, "starts", "bounds", "segment")
    arrays |= side_by_side(n, "event_time", "next_event") | {"radius": radius}
    place = state.position[at], state.velocity[at]
    arrays["starts"][:] = np.column_stack([*place, state.ticks[at], state.remainder[at]])
    marks = packed_starts(state.depth[at], state.struck[at], state.in_contact[at])
    arrays["segment"][:, L.START_MARKS] = marks
    arrays["segment"][:, L.MOLECULE] = np.repeat(np.arange(len(mol)), mol[:, L.MOL_BEADS])
    arrays["event_time"][:] = np.inf
    arrays["next_event"][:, L.EVENT_BITS] = L.NO_EVENT << PARTNER_BITS
    arrays["bead_id"][:] = ids
    return arrays


def radii(prototypes: Topology, like: np.ndarray) -> np.ndarray:
    """Return `radius` of beads that are like these of the prototypes [length]."""
    diameter = prototypes.diameter
    return 0.5 * (diameter[:1] if diameter.min() == diameter.max() else diameter[like])


def list_arrays(mol: SharedRows, beads: int, more: bool) -> dict:
    """Return empty neighbour lists of so many beads, and what the first look at those listed reads.

    What none of these molecules needs has no rows. `more`: whether the run has more than smooth hard beads.
    """
    single = mol[:, L.MOL_SOLVER] == L.BALLISTIC
    arrays = blank(swept=0 if single.all() and not more else beads, neighbour=LISTED * beads, free_lists=LONGEST)
    arrays |= side_by_side(beads, "flight", "lists", "origin_fractions")
    arrays["flight"] = arrays["flight"][: beads if single.any() or more else 0]
    arrays["flight"][:] = np.nan  # molecules' beads keep it, which tells them apart
    arrays["origin_fractions"][:], arrays["free_lists"][:], arrays["swept"][:] = -1, -1, L.UNBOUNDED
    return arrays


def chain_part_arrays(classes: MoleculeClasses, sequence: np.ndarray) -> dict:
    """Return which rows are parts of which long chains, for molecules in this order, and what the chains' centres need.

    Of `arms` and `centre_change` they are as small as can be: windows need more.
    """
    arrays = blank(centre_change=0, arms=1, chain_part=0, centre=0)
    return arrays if classes.chain_parts is None else arrays | classes.chain_parts.arrays(sequence)


def extra_arrays(system: System, at: np.ndarray, like: np.ndarray, inside: int) -> dict:
    """Return `extra` of beads with these rows of the state, which are like these of the prototypes."""
    if not is_extended(system.physics):
        return {"extra": np.zeros((1, 1))}
    rows = complete(system.state.extra, system.physics, inside)
    extra = aligned_zeros((len(at), rows.shape[1]))
    extra[:] = rows[at]
    extra[:, L.BEAD_TYPE] = bead_types(system.topology.prototypes, system.physics)[1][like]
    return {"extra": extra}


def contact_arrays(system: System) -> dict:
    """Return the walls, and the coefficients of contacts, one row for all where runs are not extended."""
    types, _ = types_of_contacts(system.topology.type_names, system.physics)
    table = coefficient_table(system.physics, types).reshape(-1, L.PAIR_COEFFICIENTS)
    return {"walls": wall_rows(system), "coefficients": table if is_extended(system.physics) else table[:1].copy()}


def step_arrays(classes: MoleculeClasses, system: System, like: np.ndarray) -> dict:
    """Return the arrays of potentials with steps and of limits of distances, for beads like these of the prototypes.

    Runs that are not extended have neither, and nothing needs them: the arrays are empty.
    """
    if not is_extended(system.physics):
        return blank(potential=1, limited_row=1, limited=0, limits=0)
    prototypes = classes.composition.prototypes
    offsets, partners, distances = limited_pairs(prototypes, system.physics)
    row, bead, entry = _of_beads(offsets, like)
    limited = (bead - like[bead]) + partners[entry]
    table = potential_table(prototypes, system.physics)
    return {"potential": table, "limited_row": row, "limited": limited, "limits": distances[entry]}


def _of_beads(offsets: np.ndarray, like: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where beads' entries begin, and of each entry its bead and its number among those of the prototypes."""
    counts = np.diff(offsets)[like]
    return running_sum(counts), np.repeat(np.arange(len(like)), counts), in_blocks(offsets[:-1][like], counts)


def options(classes: MoleculeClasses, system: System) -> dict:
    """Return which kinds of kernels a sector needs (`layout.arrays`), name -> True or None."""
    return {
        "stepper": True if (classes.rows[:, L.MOL_SOLVER] >= L.BODY).any() else None,
        "extended": True if is_extended(system.physics) else None,
        "stretched": None if classes.chain_parts is None else True,
    }


def bond_arrays(classes: MoleculeClasses, system: System, like: np.ndarray) -> dict:
    """Return the arrays of which beads are bonded, for beads that are like these of the prototypes.

    Nothing needs the bonds of single beads and linear chains (`neighbour_lists.joined`): where there is nothing else,
    the arrays are empty.
    """
    plain = np.isin(classes.rows[:, L.MOL_SOLVER], (L.BALLISTIC, L.CHAIN)).all()
    if plain and not is_extended(system.physics):
        return blank(bonded=0, bond_row=1)
    row, bead, entry = _of_beads(classes.offsets, like)
    return {"bonded": bead + classes.partners[entry], "bond_row": row}


def queue_arrays(molecules: int) -> dict:
    """Return the arrays of the event queue, empty."""
    arrays = side_by_side(queue_size(molecules), "key", "winner")
    arrays["key"][:], arrays["winner"][:] = np.inf, -1
    return arrays | {"holder": aligned(L.AT_END, molecules, np.int32)}


def event_arrays(mol: SharedRows, most: int, log_rows: int, rough: bool) -> dict:
    """Return counters, the contact log, and the scratch of one event, which moves at most so many beads together."""
    responses = 2 * L.MOST_TIES * int(tiles(most)) * W.ROW  # velocity changes of both sides
    return blank(
        count=L.COUNTS,
        log=log_rows,
        virial_tensor=L.TENSOR_COMPONENTS,
        work=(L.MOST_MEMBERS + 1) * int(mol[:, L.MOL_WORKSPACE].max(initial=0)),
        impulse_response=max(responses, SCRATCH if rough else 0),
        member=L.MOST_MEMBERS,
        **dict.fromkeys(("contacts", "tied", "normals", "growths", "impulses"), L.MOST_TIES + 1),
        matrix=L.PUSH_ROWS,
    )


def scalar_arrays(beads: int, molecules: int, sizes: int, seed: int = 0) -> dict:
    """Return the whole numbers of a sector without windows, and the arrays of windows as small as can be."""
    arrays = blank(scalars=L.SCALARS, free_rows=sizes, window_event=1, owner_history=1, ahead=L.AHEAD_WORDS, slots=0)
    scalars = arrays["scalars"]
    scalars[L.SCALAR_MOLECULES], scalars[L.SCALAR_BEADS] = molecules, beads
    scalars[L.SCALAR_SEED] = np.array([seed], dtype=np.uint64).view(np.int64)[0]
    arrays["free_rows"][:, L.SPARE_HEAD] = -1
    return {
        **arrays,
        "owner_history_at": np.zeros((1, 1), dtype=np.int64),
        "prefetch_state": np.full(PARTS + STEPS, -1, dtype=np.int64),
        **window_arrays(0, 0),
    }


def folded(cells: np.ndarray, box: Box, position: np.ndarray | None, most: float = np.inf) -> np.ndarray:
    """Return `cells` of a sector, of which beads in a part of the box need only some.

    Cells k, k + n, k + 2n, ... along an axis are one, where the n cells per axis divide those of the box's edge; beads
    are told apart by their places. So memory goes with the part of the box that the beads are in, and with how many
    they are.

    Parameters
    ----------
    cells : (3,) int64 array
        Cells per edge of the box.
    box : Box
    position : (N, 3) float64 array or None
        None where beads may be anywhere [length].
    most : float
        Cells at most.
    """
    few, edge = np.array(cells), np.array(cells)
    for c, count in enumerate(cells if position is not None else ()):
        layers = np.unique(np.floor(np.nan_to_num((position[:, c] - box.origin[c]) / box.size[c] % 1.0) * count))
        gap = np.diff(np.append(layers, layers[0] + count)).max() if len(layers) else 0
        turns = int(count // max(count - gap + 1 + 2 * SPARE_LAYERS, 3))
        if turns > 1:
            few[c] = count // turns
            edge[c] = few[c] * turns
    if np.prod(few.astype(np.float64)) > most:
        few = np.minimum(few, max(int(filled(few, most) * (1.0 + 1e-9)), 1))
        edge = few * (edge // few)
    return np.array([*few, np.prod(few), *edge], dtype=np.int64)


def spare_entries(beads: int) -> float:
    """Return the entries that a sector's further lines of cells may hold of each of its beads, to begin with."""
    return SPARE_ENTRIES + LEAST_ENTRIES / max(beads, 1)


def cell_arrays(cells: np.ndarray, beads: int, entries: float) -> dict:
    """Return the arrays of cells (`folded`): a line each, and as many more as that many entries of every bead can fill.

    A bead has one entry at most, and in a window those that it had before, too.
    """
    lines = int(cells[L.CELL_COUNT]) + 1 + int(entries * beads) // L.CELL_LINE
    found = int(max(entries, 1.0) * min(beads, FOUND)) + LEAST_FOUND
    return {
        "cells": cells,
        **blank(cell_entries=L.CELL_LINE * lines, next_line=lines, slabs=L.SLABS, found=found),
    }


def window_arrays(beads: int, molecules: int) -> dict:
    """Return the arrays that windows need for so many beads and molecules; without windows they are not read."""
    least = max(molecules, 1)
    arrays = blank(
        window_molecule=molecules,
        top_speed=molecules,
        away=molecules,
        altered=least,
        rolled_back=least,
        rolled_back_to=least,
        drifted_pairs=4 * beads + 64,
        stale_cells=max(beads, 1),
    )
    rows = arrays["window_molecule"]
    rows[:, L.WINDOW_PREVIOUS] = rows[:, L.WINDOW_TARGET] = -1
    rows[:, L.WINDOW_HIGHER] = L.SEGMENT_END
    rows[:, L.WINDOW_MATCH] = 1
    arrays["away"][:] = np.inf
    return arrays


MOST_COUNTED = 1 << 30  # half of what a column can hold, so that counts may grow between two looks at them


def molecule_rows(classes: MoleculeClasses, sequence: np.ndarray) -> tuple[SharedRows, int]:
    """Return the `mol` table of these molecules, and the length of `series`."""
    own = aligned_zeros((len(sequence), OWN_COLUMNS), np.int32)
    mol = SharedRows(own, np.ascontiguousarray(classes.rows[:, OWN_COLUMNS:]))
    mol[:, L.MOL_CLASS] = classes.composition.class_of(sequence)
    beads = mol[:, L.MOL_BEADS]
    mol[:, L.MOL_FIRST] = np.cumsum(beads) - beads
    floats = W.series_floats(beads)
    begin = (np.cumsum(floats) - floats) // W.UNIT
    if begin.max(initial=0) >= MOST_COUNTED:
        raise EngineError(f"{len(sequence)} molecules have more series than one rank can address: take more ranks")
    mol[:, L.MOL_SERIES] = begin
    return mol, int(floats.sum()) or W.UNIT


def countable_images(image: np.ndarray) -> np.ndarray:
    """Return image counts, which a molecule's row can hold; an EngineError is raised where it cannot."""
    if np.abs(image).max(initial=0) >= MOST_COUNTED:
        raise EngineError(f"a molecule is {MOST_COUNTED} box lengths or more from image 0: shift its image counts")
    return image
