"""Small boxes that tests make copies of, as inputs with explicit starts: no kernel is needed to make them."""

import numpy as np

SIZE = (7.3, 8.1, 6.7)
LONG_SIZE = (6.1, 7.3, 4.7)
"""Edges that are no sums of few powers of two, so that shifted coordinates are rounded."""


def straight(beads, start, direction, pitch=1.0):
    """Return (beads, 3) places on a line."""
    return np.array(start) + pitch * np.arange(beads)[:, None] * np.array(direction)


def hexagon(centre):
    """Return the (6, 3) places of a ring of bonds of length 1."""
    angle = np.pi / 3.0 * np.arange(6)
    return np.array(centre) + np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)


def table(name, kind, molecules, **keys):
    """Return a [[molecule]] table of molecules at rest at these places (count, beads, 3)."""
    places = np.array(molecules, dtype=float)
    count, beads = places.shape[:2]
    size = {} if kind == "monomer" else {"beads": beads}
    rows = places.reshape(-1, 3).tolist()
    return {
        "name": name,
        "kind": kind,
        **size,
        "count": count,
        "positions": rows,
        "velocities": [[0.0] * 3] * len(rows),
        **keys,
    }


def mixed(boundary=("periodic",) * 3, pitch=1.0, **sections):
    """Return the input of a box of chains, a ring, single beads and a rod; some lie across a side.

    Single beads stand on a square lattice of this pitch; they touch where it is 1.
    """
    chains = [straight(4, (6.0, 1.0 + 2.0 * k, 0.5 + 0.1 * k), (0.6, 0.0, 0.8)) for k in range(3)]
    single = [(0.7 + pitch * x, 0.7 + pitch * y, 5.0) for x in range(3) for y in range(3)]
    return {
        "box": {"size": list(SIZE), "origin": [-3.0, 0.1, 0.0], "boundary": list(boundary)},
        "molecule": [
            table("chain", "chain", chains, mass=[1.0, 2.0, 0.5, 1.0]),
            table("ring", "ring", [hexagon((2.6, 5.0, 3.0))]),
            table("single", "monomer", [[place] for place in single], mass=3.0),
            table("rod", "rod", [straight(3, (3.2, 0.5, 2.0), (0.0, 1.0, 0.0), 1.1)], bond_length=1.1),
        ],
        "initial": {"method": "explicit", "temperature": 1.7, "seed": 5},
        "run": {"end_time": 0.5},
        "output": {"frame_every": 0.25, "report_every": 0.25, "checkpoint_every": 0.25, "events": True},
    } | sections


def longer(kind="chain"):
    """Return the input of a straight molecule that is longer than its periodic box and meets its own images."""
    return mixed() | {
        "box": {"size": list(LONG_SIZE)},
        "molecule": [table("long", kind, [straight(12, (0.3, 0.2, 1.0), (0.8, 0.6, 0.0))])],
    }


def turning(step=0.01):
    """Return `mixed`, not touching, whose single beads are spheres with directors, all with the same start."""
    tables = mixed(pitch=1.02)
    tables["molecule"][2] |= {
        "directors": True,
        "orientations": [[0.6, 0.8, 0.0, 0.0]] * 9,
        "angular_velocities": [[1.0, 2.0, -3.0]] * 9,
        "propagator": {"name": "variational", "step": step},
    }
    return tables
