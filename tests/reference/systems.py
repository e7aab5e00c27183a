"""Small systems for the reference engine and the program: molecules, box, start, and the input file that says so."""

import json
from dataclasses import dataclass, field

import numpy as np

from .motion import Mechanics


@dataclass(frozen=True)
class Molecule:
    """One kind of molecule as the input file names it; numbers may be lists (one per bead or bond)."""

    kind: str
    beads: int = 1
    count: int = 1
    mass: object = 1.0
    diameter: object = 1.0
    bond_length: object = 1.0
    bonds: tuple = ()
    arms: int = 0
    self_contact: bool = True
    fixed: tuple = ()

    @property
    def bond_list(self):
        """Pairs of local bead numbers."""
        n = self.beads
        chain = [(i, i + 1) for i in range(n - 1)]
        if self.kind == "star":
            reach = (n - 1) // self.arms
            return [(0 if k == 0 else a * reach + k, a * reach + k + 1) for a in range(self.arms) for k in range(reach)]
        kinds = {"monomer": [], "chain": chain, "rod": chain, "ring": chain + [(0, n - 1)], "graph": list(self.bonds)}
        return kinds[self.kind]

    def keys(self):
        """Return the input-file keys of this molecule."""
        keys = {"kind": self.kind, "count": self.count, "mass": self.mass, "diameter": self.diameter}
        if self.kind == "star":
            keys |= {"arms": self.arms, "arm_beads": (self.beads - 1) // self.arms}
        elif self.kind != "monomer":
            keys |= {"beads": self.beads}
        if self.kind != "monomer":
            keys |= {"bond_length": self.bond_length}
        if self.kind == "graph":
            keys |= {"bonds": [list(bond) for bond in self.bonds]}
        keys |= {"fixed": list(self.fixed)} if self.fixed else {}
        return keys if self.self_contact else keys | {"self_contact": False}


@dataclass
class System:
    """A box of molecules with an explicit start; beads in input order.

    `position` and `velocity` (N, 3) are float64 [length], [length / time]; the other arrays follow from `molecules`.
    `walls` are [[wall]] tables, `wells` the distances and energies of the steps that all pairs of beads have.
    """

    molecules: list
    size: tuple
    boundary: tuple = ("periodic",) * 3
    origin: tuple = (0.0, 0.0, 0.0)
    restitution: float = 1.0
    position: np.ndarray = None
    velocity: np.ndarray = None
    contact_time: float = 0.0
    gravity: tuple = (0.0, 0.0, 0.0)
    walls: tuple = ()
    wells: tuple = ((), ())
    mass: np.ndarray = field(init=False)
    diameter: np.ndarray = field(init=False)
    bonds: np.ndarray = field(init=False)
    bond_length: np.ndarray = field(init=False)
    molecule_of_bead: np.ndarray = field(init=False)
    self_contact: np.ndarray = field(init=False)
    rods: list = field(init=False)

    def __post_init__(self):
        single = [molecule for molecule in self.molecules for _ in range(molecule.count)]
        first = np.cumsum([0] + [molecule.beads for molecule in single])
        self.mass = joined(
            np.where(np.isin(np.arange(m.beads), m.fixed), np.inf, np.broadcast_to(m.mass, m.beads)) for m in single
        )
        self.diameter = joined(np.broadcast_to(m.diameter, m.beads) for m in single)
        self.bond_length = joined(np.broadcast_to(m.bond_length, len(m.bond_list)) for m in single)
        shifted = [np.array(m.bond_list, dtype=int).reshape(-1, 2) + o for m, o in zip(single, first, strict=False)]
        self.bonds = np.concatenate(shifted)
        self.molecule_of_bead = np.repeat(np.arange(len(single)), [molecule.beads for molecule in single])
        self.self_contact = np.array([molecule.self_contact for molecule in single])
        self.rods = [np.arange(o, o + m.beads) for m, o in zip(single, first, strict=False) if m.kind == "rod"]

    @property
    def never(self):
        """Pairs (lower, higher) that collide in other images alone: bonded beads, and any two of one rod."""
        pairs = {tuple(sorted(bond)) for bond in self.bonds.tolist()}
        return pairs | {(int(a), int(b)) for rod in self.rods for a in rod for b in rod if a < b}

    def input(self, end_time, **output):
        """Return the input file's tables for an explicit start that runs to end_time [time]."""
        tables, low = [], 0
        for molecule in self.molecules:
            rows = slice(low, low + molecule.beads * molecule.count)
            start = {"positions": self.position[rows].tolist(), "velocities": self.velocity[rows].tolist()}
            tables.append(molecule.keys() | start)
            low = rows.stop
        return {
            "box": {"size": list(self.size), "origin": list(self.origin), "boundary": list(self.boundary)},
            "molecule": tables,
            "initial": {"method": "explicit"},
            "contact": {"restitution": self.restitution, "contact_time": self.contact_time},
            "run": {"end_time": float(end_time)},
            "output": {"events": True} | output,
            **({"external": {"gravity": list(self.gravity)}} if any(self.gravity) else {}),
            **({"wall": list(self.walls)} if self.walls else {}),
            **({"potential": [self.steps()]} if self.wells[0] else {}),
        }

    def steps(self):
        """Return the [[potential]] table of the wells."""
        return {"name": "steps", "distances": list(self.wells[0]), "energies": list(self.wells[1])}

    @property
    def shapes(self):
        """The tables of walls with shapes, in their order."""
        return [wall for wall in self.walls if "shape" in wall]


def joined(parts):
    """Return float64 arrays one after the other."""
    return np.concatenate([np.zeros(0), *(np.asarray(part, dtype=np.float64) for part in parts)])


def toml(tables):
    """Return TOML text of a dict of tables; a list of dicts becomes an array of tables."""
    lines = []
    for name, table in tables.items():
        rows, header = (table, f"[[{name}]]") if isinstance(table, list) else ([table], f"[{name}]")
        for row in rows:
            lines += [header, *(f"{key} = {value_text(value)}" for key, value in row.items()), ""]
    return "\n".join(lines)


def value_text(value):
    """Return a value as TOML; a dict is an inline table."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {value_text(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def mechanics_of(system, dtype=np.longdouble):
    """Return the Mechanics of a system, its rods apart from the other bonds."""
    in_rod = np.isin(system.bonds[:, 0], np.concatenate([np.zeros(0, dtype=int), *system.rods]))
    rods = [(rod, system.bond_length[np.isin(system.bonds[:, 0], rod)]) for rod in system.rods]
    return Mechanics(system.mass, system.bonds[~in_rod], system.bond_length[~in_rod], dtype, rods, system.gravity)


def thermal(system, random, temperature=1.0, drift=False):
    """Give a placed system Maxwellian velocities that satisfy the bonds; centre-of-mass motion removed unless drift."""
    mechanics = mechanics_of(system)
    position = np.asarray(system.position, dtype=np.longdouble)
    spread = np.sqrt(temperature / system.mass)[:, None]
    velocity = np.asarray(random.normal(size=position.shape) * spread, dtype=np.longdouble)
    if not drift and not np.isinf(system.mass).any():
        velocity = velocity - (mechanics.mass @ velocity) / np.sum(mechanics.mass)
    position, velocity = mechanics.project(position, velocity)
    system.position, system.velocity = position.astype(np.float64), velocity.astype(np.float64)
    return system


def overlaps(system, position, bead, placed):
    """Return whether a bead at `position` (3,) overlaps walls or the beads placed so far [(id, position)]."""
    low, size = np.array(system.origin), np.array(system.size)
    wall = np.array([kind == "wall" for kind in system.boundary])
    periodic = np.array([kind == "periodic" for kind in system.boundary])
    radius = system.diameter[bead] / 2
    for shape in system.shapes:
        across = np.array([axis != shape.get("axis") for axis in "xyz"])
        if np.linalg.norm((position - shape["center"])[across]) > shape["radius"] - radius:
            return True
    if np.any(wall & ((position - low < radius) | (low + size - position < radius))):
        return True
    bonded = {other for pair in system.never if bead in pair for other in pair}
    offsets = np.array(list(np.ndindex(3, 3, 3))) - 1
    for other, place in placed:
        if not system.self_contact[system.molecule_of_bead[bead]]:
            if system.molecule_of_bead[bead] == system.molecule_of_bead[other]:
                continue
        separation = position - place
        images = separation - (np.where(periodic, np.rint(separation / size), 0) + offsets * periodic) * size
        distances = np.sqrt(np.sum(images**2, axis=1))
        if other in bonded:
            distances = distances[np.any(np.abs(images - separation) > 1e-9, axis=1)]
        if np.min(distances, initial=np.inf) < radius + system.diameter[other] / 2 + 1e-6:
            return True
    return False


def place(system, random, trials=60, restarts=400):
    """Place tree-like molecules at random without overlaps, one bead after the other along the bonds.

    Raises
    ------
    RuntimeError
        When no placement was found.
    """
    starts = np.flatnonzero(np.diff(system.molecule_of_bead, prepend=-1))
    placed = []
    for start, stop in zip(starts, [*starts[1:], len(system.mass)], strict=True):
        for _ in range(restarts):
            molecule = grown(system, random, range(start, stop), placed, trials)
            if molecule is not None:
                break
        else:
            raise RuntimeError(f"no room for beads {start}..{stop - 1}")
        placed += molecule
    system.position = np.array([place for _, place in placed])
    return system


def grown(system, random, beads, placed, trials):
    """Return [(bead, position)] of one molecule, or None when a bead found no room."""
    if is_ring(system, beads):
        return ring(system, random, beads, placed)
    if any(beads[0] in rod for rod in system.rods):
        return straight(system, random, beads, placed)
    molecule = []
    for bead in beads:
        parents = [
            (int(min(bond)), length)
            for bond, length in zip(system.bonds, system.bond_length, strict=True)
            if max(bond) == bead
        ]
        for _ in range(trials):
            if parents:
                parent, length = parents[0]
                direction = random.normal(size=3)
                where = dict(molecule)[parent] + length * direction / np.linalg.norm(direction)
            else:
                where = np.array(system.origin) + random.random(3) * np.array(system.size)
            if not overlaps(system, where, bead, placed + molecule):
                molecule.append((bead, where))
                break
        else:
            return None
    return molecule


def is_ring(system, beads):
    """Return whether the molecule of these beads is a closed ring (as many bonds as beads)."""
    return sum(int(bond[0] in beads) for bond in system.bonds) == len(beads)


def ring(system, random, beads, placed):
    """Return a flat regular polygon at a random place and orientation, or None when it overlaps."""
    axes, _ = np.linalg.qr(random.normal(size=(3, 3)))
    centre = np.array(system.origin) + random.random(3) * np.array(system.size)
    angle = 2 * np.pi * np.arange(len(beads)) / len(beads)
    length = next(size for bond, size in zip(system.bonds, system.bond_length, strict=True) if bond[0] in beads)
    radius = length / (2 * np.sin(np.pi / len(beads)))
    places = centre + radius * (np.cos(angle)[:, None] * axes[0] + np.sin(angle)[:, None] * axes[1])
    return whole(system, beads, places, placed)


def straight(system, random, beads, placed):
    """Return a rod at a random place and orientation, or None when it overlaps."""
    place = np.concatenate([[0.0], np.cumsum(system.bond_length[np.isin(system.bonds[:, 0], list(beads))])])
    axis = random.normal(size=3)
    start = np.array(system.origin) + random.random(3) * np.array(system.size)
    return whole(system, beads, start + place[:, None] * axis / np.linalg.norm(axis), placed)


def whole(system, beads, places, placed):
    """Return [(bead, position)] of a molecule at given places, or None when it overlaps."""
    molecule = []
    for bead, where in zip(beads, places, strict=True):
        if overlaps(system, where, bead, placed + molecule):
            return None
        molecule.append((bead, where))
    return molecule
