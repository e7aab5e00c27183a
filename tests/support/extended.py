"""Capabilities of extended runs, drawn at random for a System."""

from dataclasses import replace

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import SIDE_NAMES
from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.physics.step_potentials import pairs_apart
from hpcchain.model.system import OPEN, WALL
from tests.support.compositions import composition_of
from tests.support.constant_tables import made, table_of
from tests.support.gases import gas, monomer
from tests.support.kernel_tools import make_system
from tests.support.twins import project


def with_extended(system, **more):
    """Return the System with further things in what its run has."""
    return replace(
        system,
        physics=replace(
            system.physics, extended=made(ExtendedPhysics, table_of(system.physics.extended) | more, "extended")
        ),
    )


def step_potentials(rng, system):
    """Add wells and shoulders, of one to three steps, between some of the types of beads."""
    names, tables = system.topology.type_names, []
    for k, a in enumerate(names):
        for b in names[k:]:
            if rng.random() < 0.6:
                count = int(rng.integers(1, 4))
                distances = np.sort(rng.uniform(0.85, 1.7, count)).tolist()
                tables.append(
                    {"types": [a, b], "distances": distances, "energies": rng.normal(0.0, 0.7, count).tolist()}
                )
    return with_extended(system, potentials=tables)


def bridges(rng, system):
    """Let beads of some of the types form liquid bridges as they touch."""
    names, tables = system.topology.type_names, []
    for k, a in enumerate(names):
        for b in names[k:]:
            if rng.random() < 0.7:
                own = {"distances": [float(rng.uniform(0.85, 1.6))], "bridge": float(rng.exponential(0.3))}
                tables.append({"types": [a, b], "energies": [0.0]} | own)
    return with_extended(system, potentials=tables)


def distance_limits(rng, system):
    """Add limits of distances over two and three bonds, in some molecules, that their starts satisfy."""
    topology, limits = system.topology.whole(), []
    for m in range(topology.molecules):
        first, end = topology.first_bead[m : m + 2]
        bonds = topology.bonds[topology.first_bond[m] : topology.first_bond[m + 1]] - first
        own = []
        for separation in (2, 3):
            pairs = pairs_apart(end - first, bonds, separation) + first
            if len(pairs) and rng.random() < 0.7:
                r = np.linalg.norm(system.state.position[pairs[:, 0]] - system.state.position[pairs[:, 1]], axis=1)
                own.append(
                    [separation, float(rng.uniform(0.6, 0.95) * r.min()), float(rng.uniform(1.05, 1.4) * r.max())]
                )
        limits.append(own)
    return with_extended(system, distance_limits=limits)


def spins(rng, system):
    """Let beads spin at random, but fixed ones, and walls that are there have an e_t of their own, or none."""
    e_t = float(rng.choice([-1.0, 0.3, 1.0]))
    turn = np.where(system.topology.whole().fixed[:, None], 0.0, rng.normal(size=(system.topology.beads, 3)))
    extra = system.state.extra if system.state.extra.shape[1] else first_rows(system.topology.beads)
    extra = extra.copy()
    extra[:, L.SPIN : L.SPIN + 3] = turn
    own = {"rough": {"tangential_restitution": e_t, "seed": 1, "temperature": 1.0}}
    given = table_of(system.physics.extended).get("walls", [])
    walls = [wall | rng.choice([{}, {"tangential_restitution": float(rng.uniform(-1.0, 1.0))}]) for wall in given]
    own |= {"walls": walls} if walls else {}
    return with_extended(replace(system, state=replace(system.state, extra=extra)), **own)


def coefficients(rng, system):
    """Add rough beads, or coefficients of pairs and walls; or both. Contacts may last."""
    names = system.topology.type_names
    system = spins(rng, system) if rng.random() < 0.7 else system
    pairs = []
    for first, second in ((names[0], names[-1]), (names[0], "x-"), (names[-1], "y+")):
        values = rng.choice([None, 1.0, 0.8]), rng.choice([None, 1.0, -0.5]), rng.choice([None, 0.0, 0.01])
        keys = ("restitution", "tangential_restitution", "contact_time")
        left_out = [value is None for value in values]
        left_out[1] |= system.physics.extended.rough is None
        values = [None if none else float(value) for none, value in zip(left_out, values, strict=True)]
        pairs.append({"types": [first, second]} | dict(zip(keys, values, strict=True)))
    return with_extended(system, pairs=pairs)


def gravity(rng, system):
    """Add gravity along any axes, periodic ones too."""
    return with_extended(system, gravity=(rng.normal(size=3) * rng.choice([0.0, 1.0, 1.0], size=3) + 0.01).tolist())


def wall_table(**keys):
    """Return the table of a wall, as files have it."""
    none = {"side": None, "shape": None, "center": None, "radius": None, "axis": None}
    return none | {"velocity": 0.0, "temperature": 0.0, "restitution": 1.0} | keys


def sides(rng, system):
    """Let sides of the box come or go, some of them thermal."""
    walls = [
        wall_table(
            side=side,
            velocity=float(rng.choice([0.0, rng.uniform(-0.2, 0.2)])),
            temperature=float(rng.choice((0.0, 1.0)) * rng.uniform(0.5, 2.0)),
            restitution=float(rng.uniform(0.8, 1.0)),
        )
        for number, side in enumerate(SIDE_NAMES)
        if system.box.boundary[number % 3] == WALL and rng.random() < 0.7
    ]
    walls = table_of(system.physics.extended).get("walls", []) + walls
    return with_extended(system, walls=walls, seed=int(rng.integers(1000))) if walls else system


def slides(rng, system):
    """Let the walls that there are oscillate, and move along themselves."""
    walls = []
    for wall in table_of(system.physics.extended).get("walls", []):
        across = [not (wall["shape"] or name == wall["side"][0]) or name == wall["axis"] for name in "xyz"]
        more = {"sliding": (rng.normal(size=3) * across).tolist()} if rng.random() < 0.7 else {}
        if rng.random() < 0.6:
            more |= {"amplitude": float(rng.uniform(-0.05, 0.05)), "period": float(rng.uniform(0.2, 3.0))}
            more |= {"shaking": (0.3 * rng.normal(size=3) * across).tolist()}
        walls.append(wall | more)
    return with_extended(system, walls=walls) if walls else system


def surface_of(wall, normal, time):
    """Return the velocity (3,) of a wall's surface, of its table, where its normal is this, at a time."""
    angular = 2.0 * np.pi / wall.get("period", np.inf)
    beat = angular * np.cos(angular * time)
    along = np.array(wall.get("sliding", [0.0] * 3)) + beat * np.array(wall.get("shaking", [0.0] * 3))
    return (wall.get("velocity", 0.0) + beat * wall.get("amplitude", 0.0)) * normal + along


def shapes(rng, system):
    """Put all into a sphere or a cylinder that just encloses it, open across; it may move, or be thermal (`sides`)."""
    axis = str(rng.choice(["", "x", "y", "z"]))
    across = np.array([name != axis for name in "xyz"])
    box = replace(system.box, boundary=np.where(across, OPEN, system.box.boundary).astype(np.int8))
    radius = 0.5 * system.topology.whole().diameter + np.linalg.norm(system.state.position[:, across], axis=1)
    table = wall_table(
        shape="cylinder" if axis else "sphere",
        center=[0.0, 0.0, 0.0],
        radius=float(radius.max() + rng.uniform(0.05, 0.3)),
        axis=axis or None,
        velocity=float(rng.choice([0.0, rng.uniform(-0.2, 0.1)])),
        temperature=float(rng.choice((0.0, 1.0)) * rng.uniform(0.5, 2.0)),
        restitution=float(rng.uniform(0.8, 1.0)),
    )
    return with_extended(replace(system, box=box), walls=[table], seed=int(rng.integers(1000)))


def thermostat(rng, system):
    """Add an Andersen thermostat."""
    rate = float(rng.uniform(0.05, 0.6))
    return with_extended(system, thermostat={"temperature": float(rng.uniform(0.5, 2.0)), "rate": rate}, seed=7)


def exclusion(rng, system):
    """Let beads two or three bonds apart of some molecules not collide."""
    exclude = rng.integers(1, 4, system.topology.molecules)
    return with_extended(
        replace(system, topology=composition_of(replace(system.topology.whole(), exclude=exclude))), exclude=True
    )


def fixed_beads(rng, system):
    """Fix some single beads, which may move, and a bead of some molecules; the first molecule stays free."""
    topology = system.topology.whole()
    fixed, velocity = np.zeros(topology.beads, dtype=bool), system.state.velocity.copy()
    for m in range(1, topology.molecules):
        first, end = topology.first_bead[m : m + 2]
        if rng.random() < 0.7:
            continue
        fixed[first + rng.integers(end - first)] = True
        bonds = topology.bonds[topology.first_bond[m] : topology.first_bond[m + 1]] - first
        if len(bonds) or rng.random() < 0.5:
            velocity[first:end][fixed[first:end]] = 0.0
        if len(bonds):
            mass = np.where(fixed, np.inf, topology.mass)[first:end]
            velocity[first:end] = project(bonds, system.state.position[first:end], velocity[first:end], mass)
    topology = composition_of(replace(topology, fixed=fixed))
    system = replace(system, topology=topology, state=replace(system.state, velocity=velocity))
    return with_extended(system, fixed=True) if fixed.any() else system


def rule(rng, system):
    """Add a rule for contacts at one instant."""
    return with_extended(system, simultaneous=str(rng.choice(["generalised", "moreau"])))


def rough(system, spins, e_t, walls=(), **more):
    """Return a system of rough beads with these angular velocities."""
    rows = first_rows(system.topology.beads)
    rows[:, L.SPIN : L.SPIN + 3] = spins
    own = {"rough": {"tangential_restitution": e_t, "seed": 1, "temperature": 1.0}}
    own |= {"walls": [wall_table(**wall) for wall in walls]} if walls else {}
    return with_extended(replace(system, state=replace(system.state, extra=rows)), **own, **more)


def crowd(seed, boundary, e=1.0):
    """Return a gas of molecules of which many touch others at rest: each place of a lattice has a row of four."""
    rng = np.random.default_rng(seed)
    kinds = ["monomer", "dimer", "chain3", "monomer", "chain5", "monomer", "dimer", "monomer"]
    moving = gas([str(kind) for kind in rng.choice(kinds, 18)], seed, 4.2, (3, 3, 2), boundary)
    top, size = moving.topology.whole(), moving.box.size
    molecules = []
    for m in range(top.molecules):
        first, end = top.first_bead[m : m + 2]
        bonds = top.bonds[top.first_bond[m] : top.first_bond[m + 1]] - first
        molecules.append(
            (bonds, moving.state.position[first:end], 3.0 * moving.state.velocity[first:end], top.mass[first:end])
        )
    corner = -0.5 * size + 0.5
    for place in np.ndindex(3, 3, 2):
        way = np.eye(3)[rng.integers(3)]
        origin = corner + 4.2 * np.array(place)
        for k in range(3):
            molecules.append(monomer(origin + 0.8 * k * way, np.zeros(3), rng.uniform(0.5, 2.0)))
    return make_system(molecules, size, boundary, diameter=0.8, restitution=e)
