"""Random systems of beads with potentials, and runs of them by the engine of steps on ranks that are threads."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from hpcchain.config import load_config
from hpcchain.model.composition import composition_of
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
    return tables | {name: tables.get(name, {}) | keys if isinstance(keys, dict) else keys
                     for name, keys in sections.items()}  # fmt: skip


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
    beads = composition_of(system.topology).beads_of(held)
    state = State(**{name: getattr(system.state, name)[beads] for name in State.ARRAYS})
    return replace(system, state=state, held=held)
