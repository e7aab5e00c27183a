"""Random systems of beads with potentials, and runs of them by the engine of steps on ranks that are threads."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from hpcchain.config import load_config
from hpcchain.model.starts.start import build_system
from hpcchain.model.system import State
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.steps.engine import SteppedEngine
from tests.support.identity import whole

SOFT = {"hard": False, "rigid": False}
LJ = {"name": "lennard-jones", "epsilon": 1.0, "sigma": 1.0, "cutoff": 2.0}
FENE = {"name": "fene", "stiffness": 30.0, "length": 1.5, "epsilon": 1.0, "sigma": 1.0}


def toml(tables):
    """Return nested tables as TOML."""
    text = ""
    for name, value in tables.items():
        for one in value if isinstance(value, list) else [value]:
            text += f"[[{name}]]\n" if isinstance(value, list) else f"[{name}]\n"
            text += "".join(f"{key} = {inline(item)}\n" for key, item in one.items())
    return text


def inline(value):
    """Return a value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return json.dumps(value)


def config_of(tables):
    """Return the Config of tables of an input."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.toml"
        path.write_text(toml(tables), encoding="utf-8")
        return load_config(path)


def on_lattice(rng, side, beads, jitter):
    """Return positions (beads, 3) near the sites of a cubic lattice in a box of a side, in random order."""
    sites = int(np.ceil(beads ** (1.0 / 3.0)))
    grid = np.stack(np.meshgrid(*[np.arange(sites)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = grid[rng.permutation(len(grid))[:beads]]
    return (grid + 0.5 + rng.uniform(-jitter, jitter, (beads, 3))) * side / sites


def snakes(rng, side, chains, beads, bond=1.0):
    """Return positions (chains * beads, 3) of straight chains, side by side, that reach through the box's faces."""
    per = int(np.ceil(np.sqrt(chains)))
    rows = []
    for c in range(chains):
        start = np.array([rng.uniform(0.0, side), (c // per + 0.5) * side / per, (c % per + 0.5) * side / per])
        rows.append(start + np.arange(beads)[:, None] * [bond, 0.0, 0.0])
    return np.concatenate(rows) + rng.uniform(-0.02, 0.02, (chains * beads, 3))


def liquid(seed=1, beads=200, chains=6, **sections):
    """Return the input of monomers of two types and flexible chains in a periodic box.

    Parameters
    ----------
    seed : int
    beads : int
        Of the monomers.
    chains : int
        Of twelve beads.
    sections : dict
        Further sections of the input, or keys of the present ones.
    """
    rng, side = np.random.default_rng(seed), 12.0
    spots = on_lattice(rng, side, beads + 30, 0.05)
    line = snakes(rng, side, chains, 12) if chains else np.zeros((0, 3))
    apart = spots[:, None] - line[None]
    apart -= side * np.rint(apart / side)
    free = spots[(np.sum(apart**2, axis=2).min(axis=1, initial=9.0) > 0.8)][:beads]
    half = len(free) // 2
    kinds = [
        {"name": "A", "kind": "monomer", "count": half, "positions": free[:half].tolist()},
        {"name": "B", "kind": "monomer", "count": len(free) - half, "mass": 2.0, "positions": free[half:].tolist()},
    ]
    if chains:
        kinds.append({"name": "C", "kind": "chain", "beads": 12, "count": chains, "positions": line.tolist()})
    tables = {
        "box": {"size": [side] * 3},
        "molecule": [kind | SOFT for kind in kinds],
        "initial": {"method": "explicit", "temperature": 1.0, "seed": seed},
        "potential": [LJ, FENE] if chains else [LJ],
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.005},
    }
    return tables | {
        name: tables.get(name, {}) | keys if isinstance(keys, dict) else keys for name, keys in sections.items()
    }


def system_of(tables):
    """Return the System of tables of an input with an explicit start."""
    return build_system(config_of(tables))


def outcome(engine, time):
    """Return a rank's ids, frame, state and energies after a run to a time [time]."""
    engine.advance(time)
    return engine.ids, *engine.frame(time), engine.state(), engine.energies()


def run_on(system, time, ranks, **options):
    """Return position, velocity, image, energies and State of all beads after a run on ranks that are threads.

    Parameters
    ----------
    system : System
    time : float
        [time]
    ranks : int
        1: the engine of one rank.
    options :
        As `SteppedEngine` takes them.
    """
    if ranks == 1:
        parts = [outcome(SteppedEngine(system, **options), time)]
    else:
        parts = on_ranks(ranks, lambda comm: outcome(SteppedEngine(dealt(system, comm), comm, **options), time))
    ids, position, velocity, image, states, energies = zip(*parts, strict=True)
    frame = [whole(ids, rows) for rows in (position, velocity, image, energies)]
    return *frame, State(**{name: whole(ids, [getattr(s, name) for s in states]) for name in State.ARRAYS})


def dealt(system, comm):
    """Return what a rank is given of a system: every so many-th molecule."""
    held = np.arange(comm.rank, system.topology.molecules, comm.size)
    beads = system.topology.beads_of(held)
    state = State(**{name: getattr(system.state, name)[beads] for name in State.ARRAYS})
    return replace(system, state=state, held=held)


def ring(beads):
    """Return positions of a flat ring with bonds of 1."""
    angle = 2.0 * np.pi * np.arange(beads) / beads
    radius = 0.5 / np.sin(np.pi / beads)
    return radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(beads)])


def zigzag(beads):
    """Return positions of a flat zigzag chain with bonds of 1."""
    n = np.arange(beads)
    return np.column_stack([0.8 * n, 0.6 * (n % 2), np.zeros(beads)])


STAR = np.array([[0, 0, 0], *[[k, 0, 0] for k in (1, 2)], *[[0, k, 0] for k in (1, 2)], *[[0, 0, k] for k in (1, 2)]])
SHAPES = {
    "chain": ({"kind": "chain", "beads": 6}, zigzag(6)),
    "ring": ({"kind": "ring", "beads": 5, "mass": [1.0, 2.0, 1.0, 3.0, 1.0]}, ring(5)),
    "star": ({"kind": "star", "arms": 3, "arm_beads": 2, "mass": [4.0, *[1.0] * 6]}, STAR.astype(float)),
    "rod": ({"kind": "rod", "beads": 4, "mass": [1.0, 2.0, 1.0, 5.0]}, np.arange(4)[:, None] * [1.0, 0.0, 0.0]),
    "dimer": ({"kind": "chain", "beads": 2, "mass": [1.0, 3.0]}, np.arange(2)[:, None] * [1.0, 0.0, 0.0]),
    "monomer": ({"kind": "monomer"}, np.zeros((1, 3))),
}
"""Name -> keys of a kind with rigid bonds, and positions of one molecule."""


def rigid(seed=1, count=3, pitch=4.0, **sections):
    """Return the input of rigid molecules of all SHAPES, turned at random, on a lattice; `sections` as for `liquid`."""
    rng = np.random.default_rng(seed)
    total = count * len(SHAPES)
    side = pitch * np.ceil(total ** (1.0 / 3.0))
    spots = iter(on_lattice(rng, side, total, 0.0))
    kinds = []
    for name, (keys, shape) in SHAPES.items():
        rows = [next(spots) + (shape - shape.mean(axis=0)) @ turned(rng).T for _ in range(count)]
        kinds.append({"name": name, "count": count, "hard": False, "positions": np.concatenate(rows).tolist()} | keys)
    tables = {
        "box": {"size": [side] * 3},
        "molecule": kinds,
        "initial": {"method": "explicit", "temperature": 1.0, "seed": seed},
        "potential": [LJ],
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.005},
    }
    return tables | {
        name: tables.get(name, {}) | keys if isinstance(keys, dict) else keys for name, keys in sections.items()
    }


def turned(rng):
    """Return a random rotation (3, 3)."""
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def require_equal(one, other):
    """Fail unless frames, energies and states are the same to the bit."""
    for name, a, b in zip(("position", "velocity", "image", "energies"), one, other, strict=False):
        assert a.tobytes() == b.tobytes(), f"{name} differ first at bead {np.argwhere(a != b)[0]}"
    for name in one[4].ARRAYS:
        assert getattr(one[4], name).tobytes() == getattr(other[4], name).tobytes(), name


def total(parts, system):
    """Return the energy after a run."""
    return 0.5 * system.topology.whole().mass @ np.sum(parts[1] ** 2, axis=1) + parts[3][:, 0].sum()


def stepping(system, step):
    """Return a system with another step."""
    return replace(system, physics=replace(system.physics, steps=replace(system.physics.steps, step=step)))
