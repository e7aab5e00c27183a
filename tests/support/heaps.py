"""Inputs of contact dynamics: heaps of beads and chains under gravity, and balls in a row."""

from dataclasses import replace

import numpy as np

from hpcchain.layout import arrays as L
from tests.support.stepped import SHAPES, on_lattice, require_equal, run_on, turned

KINDS = ("monomer", "dimer", "chain", "ring", "star")
G = 9.8


def on_floor(positions, velocities=None, gravity=(0.0, 0.0, -G), step=0.01, contact=None, solver="newton", **molecule):
    """Return the input of single beads above a floor at z = 0 in a box that is wide and periodic across.

    Parameters
    ----------
    positions, velocities : lists of rows
        [length], [length / time]; at rest when left out.
    gravity : 3 floats
    step : float
    contact : dict
        Keys of [contact]; no restitution unless there is.
    solver : str
    molecule : keys of the molecule.
    """
    rows = np.asarray(positions, dtype=float)
    velocities = np.zeros_like(rows) if velocities is None else np.asarray(velocities, dtype=float)
    kind = {"name": "A", "kind": "monomer", "count": len(rows), "positions": rows.tolist()}
    return {
        "box": {"size": [40.0, 40.0, 40.0], "boundary": ["periodic", "periodic", "wall"]},
        "molecule": [kind | {"velocities": velocities.tolist()} | molecule],
        "initial": {"method": "explicit"},
        "external": {"gravity": list(gravity)},
        "contact": {"restitution": 0.0} | (contact or {}),
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": step, "integrator": "contact", "solver": solver},
        "output": {"frame_every": step, "report_every": step, "checkpoint_every": step},
    }


def heap(seed=1, count=3, pitch=4.7, kinds=KINDS, hot=1.0, **sections):
    """Return the input of molecules of some of SHAPES, turned at random, that fall into a box of walls.

    Parameters
    ----------
    seed, count : int
        `count` of each kind.
    pitch : float
        Of the lattice that they start on [length].
    kinds : sequence of str
    hot : float
        initial.temperature.
    sections : keys of sections, as for `stepped.liquid`.
    """
    rng = np.random.default_rng(seed)
    total = count * len(kinds)
    side = pitch * np.ceil(total ** (1.0 / 3.0))
    spots = iter(on_lattice(rng, side, total, 0.0))
    molecules = []
    for name in kinds:
        keys, shape = SHAPES[name]
        rows = [next(spots) + 0.9 * (shape - shape.mean(axis=0)) @ turned(rng).T for _ in range(count)]
        keys = keys | {"bond_length": 0.9, "diameter": 0.8} if name != "monomer" else keys
        molecules.append({"name": name, "count": count, "positions": np.concatenate(rows).tolist()} | keys)
    tables = {
        "box": {"size": [side] * 3, "boundary": ["periodic", "wall", "wall"]},
        "molecule": molecules,
        "initial": {"method": "explicit", "temperature": hot, "seed": seed},
        "external": {"gravity": [0.0, 0.0, -3.0]},
        "contact": {"restitution": 0.5, "friction": 0.4},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01, "integrator": "contact"},
    }
    return tables | {
        name: tables.get(name, {}) | keys if isinstance(keys, dict) else keys for name, keys in sections.items()
    }


def require_no_trace(system, end=1.6):
    """Fail unless a heap, in which beads touch, has the same bits on ranks, with other lists, and from stops."""
    once = run_on(system, end, 1)
    assert np.count_nonzero(once[4].extra[:, L.INSIDE :: 4]) >= 5
    for ranks in (2, 3):
        require_equal(once, run_on(system, end, ranks))
    require_equal(once, run_on(system, end, 1, skin=0.9))
    for time, ranks in ((1.1, 2), (1.4, 1)):
        system = replace(system, state=run_on(system, time, ranks)[4])
    require_equal(once, run_on(system, end, 3))
