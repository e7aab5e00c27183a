"""Seeded small systems that between them hold every kind of molecule, box and contact law."""

import numpy as np

from .systems import Molecule, System, place, thermal

CASES = {
    "monomers": (
        (4.2, 4.0, 4.4),
        ("periodic",) * 3,
        1.0,
        [Molecule("monomer", 1, 18), Molecule("monomer", 1, 8, mass=2.5, diameter=0.7)],
    ),
    "dimers": (
        (4.0, 4.4, 4.2),
        ("periodic",) * 3,
        1.0,
        [Molecule("chain", 2, 10), Molecule("chain", 2, 3, mass=[1.0, 3.0], diameter=[1.0, 0.6], bond_length=0.9)],
    ),
    "chains between walls": (
        (4.6, 5.0, 4.8),
        ("wall",) * 3,
        1.0,
        [
            Molecule("chain", 8, 2),
            Molecule("chain", 4, 2, [1.0, 2.0, 0.5, 1.0], [1.0, 0.8, 1.1, 0.9], [1.0, 1.05, 1.2]),
        ],
    ),
    "everything": (
        (5.0, 4.6, 5.4),
        ("periodic", "wall", "periodic"),
        1.0,
        [
            Molecule("ring", 6, 1),
            Molecule("star", 7, 1, arms=3),
            Molecule("chain", 3, 2, [2.0, 1.0, 2.0]),
            Molecule("chain", 2, 3),
            Molecule("monomer", 1, 5, 0.5, 0.8),
            Molecule(
                "graph", 5, 1, [1.0, 2.0, 1.0, 1.0, 0.7], 0.9, [1.0, 1.1, 0.95, 1.3], ((0, 1), (1, 2), (1, 3), (3, 4))
            ),
        ],
    ),
    "longer than its box": (
        (3.6, 3.4, 3.5),
        ("periodic",) * 3,
        1.0,
        [Molecule("chain", 12, 1)],
    ),
    "bonds past half the box": (
        (3.4, 3.6, 3.5),
        ("periodic",) * 3,
        1.0,
        [Molecule("chain", 2, 3, bond_length=2.9), Molecule("monomer", 1, 3)],
    ),
    "phantom chains": (
        (4.2, 4.4, 6.0),
        ("periodic", "periodic", "wall"),
        1.0,
        [Molecule("chain", 4, 5, self_contact=False), Molecule("monomer", 1, 6)],
    ),
    "losing energy": (
        (4.4, 4.4, 4.4),
        ("periodic", "periodic", "wall"),
        0.9,
        [Molecule("chain", 5, 3), Molecule("monomer", 1, 8)],
    ),
    "contacts that last": (
        (4.4, 4.6, 4.4),
        ("periodic", "wall", "periodic"),
        (0.5, 0.2),
        [Molecule("chain", 5, 3), Molecule("chain", 2, 3), Molecule("monomer", 1, 8, 2.0, 0.9)],
    ),
    "rods": (
        (5.0, 5.2, 5.4),
        ("periodic", "wall", "periodic"),
        1.0,
        [
            Molecule("rod", 4, 5, [1.0, 2.0, 0.5, 3.0], [1.0, 0.8, 1.0, 0.7], [0.9, 1.1, 0.85]),
            Molecule("rod", 3, 3, diameter=0.8, bond_length=[0.8, 1.0]),
            Molecule("chain", 4, 2),
            Molecule("monomer", 1, 5, 0.5, 0.8),
        ],
    ),
    "a rod longer than its box": (
        (3.6, 3.4, 3.5),
        ("periodic",) * 3,
        1.0,
        [
            Molecule("rod", 7, 1, [1.0, 1.2, 1.4, 2.0, 0.5, 1.0, 1.0], 0.7, [0.8, 0.93, 0.71, 1.02, 0.87, 0.76]),
            Molecule("monomer", 1, 3, 2.0, 0.8),
        ],
    ),
    "open chain": (
        (30.0,) * 3,
        ("open",) * 3,
        1.0,
        [Molecule("chain", 14, 1, bond_length=1.0)],
    ),
}

OUTSIDE = {
    "falling": (
        (4.4, 4.6, 6.0),
        ("periodic", "periodic", "wall"),
        1.0,
        [Molecule("chain", 5, 3), Molecule("rod", 3, 2), Molecule("monomer", 1, 8, 2.0, 0.9)],
        {"gravity": (0.3, 0.0, -1.0)},
    ),
    "between walls that move": (
        (4.4, 4.6, 5.0),
        ("periodic", "wall", "wall"),
        1.0,
        [Molecule("chain", 5, 3), Molecule("monomer", 1, 8, 2.0, 0.9)],
        {
            "gravity": (0.0, 0.4, -0.6),
            "walls": (
                {"side": "z-", "velocity": 0.3},
                {"side": "y+", "velocity": -0.2},
                {"side": "z+", "velocity": 0.1},
            ),
        },
    ),
    "between walls that oscillate": (
        (4.4, 4.6, 5.0),
        ("periodic", "wall", "wall"),
        1.0,
        [Molecule("chain", 5, 3), Molecule("monomer", 1, 8, 2.0, 0.9)],
        {
            "gravity": (0.0, 0.4, -0.6),
            "walls": (
                {"side": "z-", "velocity": -0.1, "oscillation": {"amplitude": 0.2, "period": 0.7}},
                {"side": "y+", "oscillation": {"amplitude": -0.1, "period": 1.3}},
            ),
        },
    ),
    "in a sphere": (
        (6.0,) * 3,
        ("open",) * 3,
        1.0,
        [Molecule("chain", 5, 3), Molecule("ring", 5, 1), Molecule("monomer", 1, 8, 2.0, 0.9)],
        {"walls": ({"shape": "sphere", "center": [2.7, 3.2, 4.0], "radius": 3.0, "velocity": 0.1},)},
    ),
    "falling in a cylinder": (
        (6.0, 5.0, 6.0),
        ("open", "periodic", "open"),
        1.0,
        [Molecule("chain", 5, 2), Molecule("monomer", 1, 8, 2.0, 0.9)],
        {
            "gravity": (0.5, 0.2, -0.8),
            "walls": ({"shape": "cylinder", "axis": "y", "center": [2.7, 0.0, 4.0], "radius": 2.8, "velocity": -0.1},),
        },
    ),
    "wells": (
        (5.4, 5.6, 5.5),
        ("periodic",) * 3,
        1.0,
        [Molecule("chain", 5, 3), Molecule("rod", 3, 2), Molecule("monomer", 1, 10)],
        {"wells": ((1.2, 1.5, 1.8), (-1.0, 0.4, -0.3))},
    ),
    "wells that fall on fixed beads": (
        (5.4, 5.6, 6.5),
        ("periodic", "periodic", "wall"),
        1.0,
        [
            Molecule("chain", 5, 3, fixed=(0,)),
            Molecule("ring", 5, 1, fixed=(2,)),
            Molecule("monomer", 1, 3, fixed=(0,)),
            Molecule("monomer", 1, 8),
        ],
        {"wells": ((1.3,), (-0.8,)), "gravity": (0.2, 0.0, -0.7), "walls": ({"side": "z+", "velocity": 0.2},)},
    ),
}
"""The same in fields, between walls that move, in shapes, with wells and fixed beads."""


def build(name, seed=0):
    """Return the System of a case: placed at random and thermal, a function of name and seed alone."""
    size, boundary, restitution, molecules, *more = (CASES | OUTSIDE)[name]
    random = np.random.default_rng([seed, *name.encode()])
    law = restitution if isinstance(restitution, tuple) else (restitution, 0.0)
    outside = more[0] if more else {}
    system = System(molecules, size, boundary, (-0.3, 0.2, 1.0), law[0], contact_time=law[1], **outside)
    return thermal(place(system, random), random)
