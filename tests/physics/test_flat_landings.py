"""Contacts at one instant that depend on one another: flat rods and rigid bodies, through the program, on any ranks.

Rods have two ways to turn and rigid bodies three, so that of more contacts than that with a wall some are redundant.
"""

import numpy as np
import pytest

from tests.reference.program import run
from tests.support.identity import given, parallel, require_same, serial

SIDE, END = 30.0, 3.0
NORMALS = [(axis, side) for axis in range(3) for side in range(2)]
PROPAGATORS = {
    "taylor": {"name": "taylor"},
    "collocation": {"name": "collocation", "step": 0.1},
    "rattle": {"name": "rattle", "step": 0.1},
    "variational": {"name": "variational", "step": 0.1},
    "null-space": {"name": "variational", "solver": "null-space", "step": 0.1},
    "multipliers": {"name": "variational", "solver": "multipliers", "step": 0.1},
}


class Rods:
    """Rods of equal beads that meet walls, each other and a row of balls in 2 to 9 contacts, and 18 in an edge."""

    def __init__(self, restitution):
        self.restitution = restitution
        self.molecules = {}
        for n in range(2, 10):
            for axis, side in NORMALS:
                self._on_wall(n, axis, side)
        for n, y in ((3, 8.0), (6, 15.0), (9, 22.0)):
            self._head_on(n, np.array([15.0, y, 15.0]))
        row = self._line(9, [10.0, 1.6, 1.6], [1.0, 0, 0])
        self._add(row, [0.1, -1.0, -1.0], [0.1, restitution, restitution])
        row = self._line(9, [8.0, 23.0, 20.0], [1.0, 0, 0])
        self._add(row + [0, 0, 2.0], [0, 0, -1.0], [0, 0, -(1 - restitution) / 2])
        for place in row:
            self._add(place[None], [0, 0, 0], [0, 0, -(1 + restitution) / 2])

    def _line(self, n, start, along):
        return np.array(start) + np.arange(n)[:, None] * np.array(along)

    def _add(self, places, velocity, after):
        self.molecules.setdefault(len(places), []).append((places, np.array(velocity, float), np.array(after, float)))

    def _on_wall(self, n, axis, side):
        """Add a rod that falls flat on a wall; on walls that face each other the beads' order is reversed."""
        along, across = (axis + 1) % 3, (axis + 2) % 3
        start, velocity = np.zeros(3), np.zeros(3)
        start[[axis, along, across]] = 2.123 if side == 0 else SIDE - 2.123, 6.0, 4.0 + 2 * (n - 2)
        velocity[[axis, along, across]] = -1.0 if side == 0 else 1.0, 0.3, 0.1
        after = velocity.copy()
        after[axis] *= -self.restitution
        places = self._line(n, start, np.eye(3)[along])
        self._add(places if side == 0 else places[::-1], velocity, after)

    def _head_on(self, n, centre):
        """Add two parallel rods that meet side to side in a direction of no axis."""
        along = np.array([np.cos(0.3), np.sin(0.3) * np.cos(1.0), np.sin(0.3) * np.sin(1.0)])
        normal = np.cross(along, [0.2, 0.3, 1.0])
        normal /= np.linalg.norm(normal)
        for sign in (1.0, -1.0):
            places = self._line(n, centre - 0.5 * (n - 1) * along + 0.8 * sign * normal, along)
            self._add(places, -sign * normal + 0.2 * along, sign * self.restitution * normal + 0.2 * along)

    def tables(self, propagator):
        """Return the input."""
        molecules = []
        for n, group in sorted(self.molecules.items()):
            molecules.append(
                {
                    "kind": "monomer" if n == 1 else "rod",
                    "count": len(group),
                    **({"beads": n} if n > 1 else {}),
                    "positions": np.concatenate([places for places, _, _ in group]).tolist(),
                    "velocities": np.concatenate([np.tile(v, (n, 1)) for _, v, _ in group]).tolist(),
                }
            )
        return tables_of(molecules, self.restitution, propagator)

    def after(self):
        """Return all beads' velocities at the end."""
        return np.concatenate([np.tile(v, (n, 1)) for n, group in sorted(self.molecules.items()) for _, _, v in group])


def tables_of(molecules, restitution, propagator):
    """Return the input of molecules between walls on all sides."""
    return {
        "box": {"size": [SIDE] * 3, "boundary": ["wall"] * 3},
        "molecule": molecules,
        "initial": {"method": "explicit"},
        "propagator": propagator,
        "contact": {"restitution": restitution},
        "run": {"end_time": END},
        "output": {"events": True, "frame_every": END},
    }


def each(names, quick, *more):
    """Return parameters for propagators; those that are not among the quick ones belong to the long tests."""
    return [pytest.param(name, *more, marks=() if name in quick else pytest.mark.long) for name in names]


@pytest.mark.parametrize(
    ("propagator", "restitution"),
    [
        *each(PROPAGATORS, ("variational", "collocation"), 0.5),
        ("taylor", 1.0),
    ],
)
def test_rods_bounce_flat(tmp_path, propagator, restitution):
    """Nothing turns them, whatever their beads, wall and order, and each contact parts with e_n of its rate."""
    rods = Rods(restitution)
    result = run(rods.tables(PROPAGATORS[propagator]), tmp_path)
    velocity = result.frames((SIDE,) * 3).velocity[-1]
    np.testing.assert_allclose(velocity, rods.after(), atol=1e-12)
    log = result.events()
    assert len(log) == 6 * sum(range(2, 10)) + 3 + 6 + 9 + 18 + 9
    on_walls = log.impulse[log.kind == 1]
    np.testing.assert_allclose(on_walls, 1 + restitution, rtol=1e-10)


def test_ranks_agree_on_flat_landings():
    system = given(Rods(1.0).tables(PROPAGATORS["taylor"]))
    require_same(serial(system, END), parallel(system, END, 3), "three ranks")


@pytest.mark.parametrize("propagator", each(list(PROPAGATORS)[1:], ("null-space",)))
def test_dimers_that_meet_when_a_step_ends(tmp_path, propagator):
    """A contact that rounding puts just behind a step's end is brought there as well as any other."""
    rng = np.random.default_rng(0)
    positions, velocities, after = [], [], []
    for k in range(27):
        along, normal, third = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for sign in (1.0, -1.0):
            centre = np.array([5.0 + 10 * (k % 3), 5.0 + 10 * (k // 3 % 3), 5.0 + 10 * (k // 9)]) + 1.1 * sign * normal
            positions += [(centre - 0.5 * along).tolist(), (centre + 0.5 * along).tolist()]
            velocities += 2 * [(0.2 * third - sign * normal).tolist()]
            after += 2 * [0.2 * third + sign * normal]
    chains = {"kind": "chain", "beads": 2, "count": 54, "positions": positions, "velocities": velocities}
    result = run(tables_of([chains], 1.0, PROPAGATORS[propagator]), tmp_path)
    log = result.events()
    assert len(log) == 54
    assert log.time == pytest.approx(0.6, abs=1e-13)
    np.testing.assert_allclose(log.impulse, 2.0, rtol=1e-12)
    np.testing.assert_allclose(result.frames((SIDE,) * 3).velocity[-1], after, atol=1e-12)


def rigid(corners, turn):
    """Return beads and bonds of a rigid pyramid on a regular polygon, with 3 n - 6 bonds."""
    angle = turn + 2 * np.pi * np.arange(corners) / corners
    base = 1.2 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    bonds = [(k, (k + 1) % corners) for k in range(corners)] + [(k, corners) for k in range(corners)]
    bonds += [(0, k) for k in range(2, corners - 1)]
    return np.vstack([base, [0, 0, 1.4]]), sorted(tuple(sorted(bond)) for bond in bonds)


@pytest.mark.parametrize(
    ("propagator", "restitution"),
    [
        ("taylor", 1.0),
        *each(("rattle", "collocation", "variational"), ("rattle",), 0.5),
    ],
)
def test_rigid_bodies_land_flat(tmp_path, propagator, restitution):
    """They turn about the wall's normal, land on 4 to 6 points at once, and go on turning as they rise."""
    molecules, after, bounces = [], [], 0
    for corners in (4, 5, 6):
        beads, bonds = rigid(corners, 0.3)
        length = [float(np.linalg.norm(beads[a] - beads[b])) for a, b in bonds]
        positions, velocities = [], []
        for side, spin in ((0, 0.8), (1, 0.8), (0, -0.5), (1, 0.0)):
            up = 1.0 - 2.0 * side
            centre = [5.0 + 5.0 * len(positions) / len(beads), 5.0 * corners - 13.0, 1.9 if side == 0 else SIDE - 1.9]
            places = beads * [1, 1, up]
            positions += (places + centre).tolist()
            velocities += (np.cross([0, 0, spin], places) + [0.1, 0.2, -up]).tolist()
            after += [up * restitution] * len(beads)
            bounces += corners
        molecules.append(
            {
                "kind": "graph",
                "beads": len(beads),
                "count": 4,
                "bonds": [list(b) for b in bonds],
                "bond_length": length,
                "positions": positions,
                "velocities": velocities,
            }
        )
    result = run(tables_of(molecules, restitution, PROPAGATORS[propagator]), tmp_path)
    frames, log = result.frames((SIDE,) * 3), result.events()
    np.testing.assert_allclose(frames.velocity[-1][:, 2], after, atol=1e-12)
    assert len(log) == bounces
    before, now = (np.sum(v[:, :2] ** 2) for v in (frames.velocity[0], frames.velocity[-1]))
    assert now == pytest.approx(before, rel=1e-12)
