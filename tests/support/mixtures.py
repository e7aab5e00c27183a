"""Inputs for the identity tests: one box of mixed molecules, and small random systems."""

import json

import numpy as np

MIXED = [
    {"name": "monomer", "kind": "monomer", "count": 50, "mass": 0.7},
    {"name": "dimer", "kind": "chain", "beads": 2, "count": 20, "mass": [1.0, 3.0]},
    {"name": "trimer", "kind": "chain", "beads": 3, "count": 10, "bond_length": [1.0, 1.2]},
    {"name": "decamer", "kind": "chain", "beads": 10, "count": 6},
    {"name": "long", "kind": "chain", "beads": 40, "count": 2},
    {"name": "ring", "kind": "ring", "beads": 6, "count": 3, "mass": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]},
    {
        "name": "rod",
        "kind": "rod",
        "beads": 5,
        "count": 3,
        "bond_length": [1.0, 1.3, 1.0, 1.1],
        "mass": [1.0, 2.0, 1.0, 1.0, 4.0],
    },
    {"name": "star", "kind": "star", "arms": 3, "arm_beads": 3, "count": 2, "mass": [5.0, *[1.0] * 9]},
]
"""Monomers, dimers, chains of 3, 10 and 40, a ring, a rod and a star of unequal masses; all diameters 1."""

WITH_DIRECTORS = {
    "box": {"size": [6.0, 6.0, 6.0], "boundary": ["periodic", "wall", "periodic"]},
    "molecule": [
        {"kind": "chain", "beads": 4, "count": 6},
        {"kind": "monomer", "count": 20, "directors": True, "mass": 2.0},
        {"kind": "monomer", "count": 10},
        {
            "kind": "monomer",
            "count": 8,
            "directors": True,
            "moment": 0.3,
            "diameter": 0.7,
            "propagator": {"name": "variational", "step": 0.02},
        },
    ],
    "initial": {"seed": 3, "temperature": 1.5},
}
"""Chains, monomers, and spheres with directors that turn exactly and in steps."""


def mixed_input(times=1, fraction=0.25, **sections):
    """Return the input of one periodic box of MIXED molecules.

    Parameters
    ----------
    times : int
        Multiplies every count.
    fraction : float
        Packing fraction.
    sections : dict of str -> dict
        Further sections of the input, or keys of the present ones.
    """
    molecules = [dict(kind, count=kind["count"] * times) for kind in MIXED]
    side = (beads_of(molecules) * np.pi / 6.0 / fraction) ** (1.0 / 3.0)
    return with_sections({"box": {"size": [side] * 3}, "initial": {"seed": 7}}, sections) | {"molecule": molecules}


def with_sections(tables, sections):
    """Return tables with further sections, or with further keys in those that are there."""
    return tables | {name: tables.get(name, {}) | keys for name, keys in sections.items()}


def beads_of(molecules):
    """Return the number of beads of [[molecule]] tables."""
    return sum(size_of(kind) * kind["count"] for kind in molecules)


def size_of(kind):
    """Return the beads of one molecule of a [[molecule]] table."""
    return 1 + kind["arms"] * kind["arm_beads"] if kind["kind"] == "star" else kind.get("beads", 1)


def random_input(seed):
    """Return the input of a small random system: kinds, masses, diameters, bonds, boundaries, sides, propagator.

    Parameters
    ----------
    seed : int
        The input is a function of it alone.
    """
    rng = np.random.default_rng([20261, seed])
    molecules = [random_molecule(rng, f"K{i}") for i in range(int(rng.integers(1, 5)))]
    largest = max(np.max(kind["diameter"]) for kind in molecules)
    shape = rng.uniform(0.7, 1.4, 3)
    volume = sum(filled(kind) for kind in molecules) / rng.uniform(0.05, 0.25)
    size = np.maximum(shape * (volume / np.prod(shape)) ** (1.0 / 3.0), 3.2 * largest)
    for kind in molecules:
        stiffen(kind, size)
    propagator = random_propagator(seed, rng.random())
    return {
        "box": {
            "size": size.tolist(),
            "origin": rng.uniform(-50.0, 50.0, 3).tolist(),
            "boundary": rng.choice(["periodic", "periodic", "wall", "open"], 3).tolist(),
        },
        "molecule": molecules,
        "initial": {"seed": int(seed), "temperature": float(rng.uniform(0.2, 5.0))},
        "propagator": propagator,
        "contact": contact_law(seed, float(rng.choice([1.0, 1.0, 0.95]))),
    }


def contact_law(seed, restitution):
    """Return the [contact] table: for one in two seeds of those that lose energy much of it, in contacts that last."""
    lasting = restitution < 1.0 and seed % 2 == 1
    return {"restitution": 0.4, "contact_time": 0.05} if lasting else {"restitution": restitution}


def random_collocation(seed):
    """Return a random [propagator] table of collocation: variant, solver, stages, contact search."""
    rng = np.random.default_rng([20262, seed])
    variant = str(rng.choice(["index2", "index1", "paper"]))
    table = {"name": "collocation", "stages": int(rng.integers(2, 6)), "step": 0.05, "variant": variant}
    if rng.random() < 0.3:
        table["stage_solver"] = str(rng.choice(["newton", "quasi-newton"]))
    if rng.random() < 0.3:
        table["contact_search"] = "nested"
    return table


def random_propagator(seed, draw):
    """Return the [propagator] table that a number from [0, 1) stands for."""
    if draw < 0.2:
        return random_collocation(seed)
    if draw < 0.35:
        return {"name": "rattle", "step": 0.05}
    if draw < 0.55:
        return {"name": "variational", "step": 0.05, "collision": "exact" if draw < 0.4 else "variational"}
    return {"name": "taylor"}


def random_molecule(rng, name):
    """Return a random [[molecule]] table."""
    kind = rng.choice(["monomer", "dimer", "chain", "ring", "star", "graph"])
    table = {"name": name, "kind": "chain" if kind == "dimer" else str(kind)}
    if kind == "star":
        table |= {"arms": int(rng.integers(2, 5)), "arm_beads": int(rng.integers(1, 4))}
    elif kind != "monomer":
        table["beads"] = {"dimer": 2, "ring": int(rng.integers(4, 9))}.get(str(kind), int(rng.integers(3, 20)))
    beads = size_of(table)
    table["count"] = int(rng.integers(1, max(2, 60 // beads)))
    table["mass"] = rng.uniform(0.3, 4.0, beads).tolist() if rng.random() < 0.5 else float(rng.uniform(0.3, 4.0))
    equal = kind in ("ring", "star", "graph") or rng.random() < 0.5
    table["diameter"] = float(rng.uniform(0.5, 1.5)) if equal else rng.uniform(0.5, 1.5, beads).tolist()
    if beads > 1:
        longest = float(np.max(table["diameter"]))
        table["bond_length"] = longest * float(rng.choice([1.0, rng.uniform(1.0, 1.4)]))
    if kind == "graph":
        table["bonds"] = [[int(rng.integers(max(0, b - 3), b)), b] for b in range(1, beads)]
    if rng.random() < 0.15:
        table["self_contact"] = False
    return table


def stiffen(kind, size):
    """Make a rod of unequal distances of a chain that has room to turn; without a draw, so that others stay."""
    beads = size_of(kind)
    if kind["kind"] == "chain" and beads > 2 and 1.1 * beads * kind["bond_length"] < 0.9 * min(size):
        kind["kind"] = "rod"
        kind["bond_length"] = (kind["bond_length"] * np.linspace(1.0, 1.2, beads - 1)).tolist()


def filled(kind):
    """Return the volume of all beads of a [[molecule]] table [length^3]."""
    diameter = np.broadcast_to(kind["diameter"], size_of(kind))
    return kind["count"] * float(np.sum(np.pi / 6.0 * diameter**3))


def to_toml(tables):
    """Return the text of an input given as a dict of sections; "molecule" is a list of them."""
    parts = []
    for name, section in tables.items():
        for table in section if isinstance(section, list) else [section]:
            header = f"[[{name}]]" if isinstance(section, list) else f"[{name}]"
            parts.append("\n".join([header, *(f"{key} = {toml_value(value)}" for key, value in table.items())]))
    return "\n\n".join(parts) + "\n"


def toml_value(value):
    """Return a value as TOML; a dict as a table on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(value)
