"""Contacts of rough spheres: velocities and spins against 40-digit arithmetic, and what contacts keep."""

from decimal import Decimal, getcontext

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.layout import arrays as L
from hpcchain.model.starts.constraints import project_velocities
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.starts.spins import with_spins
from hpcchain.model.starts.start import build_system
from hpcchain.model.topology import build_box, build_composition
from hpcchain.sector.serial import Engine
from tests.support.run_folders import write_input

getcontext().prec = 40
GAP = 1e-13
"""Of the pair that is about to touch [length]."""

KINDS = {
    "monomer": {"kind": "monomer"},
    "dimer": {"kind": "chain", "beads": 2},
    "chain": {"kind": "chain", "beads": 5, "exclude": 3, "bond_length": 0.8},
    "ring": {"kind": "ring", "beads": 5, "exclude": 3, "bond_length": 0.8},
    "star": {"kind": "star", "arms": 3, "arm_beads": 2, "exclude": 3},
}


def shape(kind, rng):
    """Return places of the beads of a kind on its bonds [length]."""
    if kind["kind"] == "monomer":
        return np.zeros((1, 3))
    if kind["kind"] == "ring":
        angle = 2 * np.pi * np.arange(5) / 5
        ring = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle]) * 0.4 / np.sin(np.pi / 5)
        return ring @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    if kind["kind"] == "star":
        ways = [np.repeat(u[None], 2, 0) for u in unit(rng.normal(size=(3, 3)))]
        return np.concatenate([np.zeros((1, 3)), *(np.cumsum(way, axis=0) for way in ways)])
    steps = unit(rng.normal(size=(kind["beads"] - 1, 3)) + [2.0, 0.0, 0.0]) * kind.get("bond_length", 1.0)
    return np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])


def unit(rows):
    """Return rows of length 1."""
    return rows / np.sqrt((rows**2).sum(axis=-1, keepdims=True))


def touching(folder, names, e, et, rng, rate=None, spin=1.0):
    """Return a system of two molecules of which a random pair of beads is about to touch, and that pair.

    Parameters
    ----------
    rate : None or float
        How fast they approach [length / time]; None for at random.
    spin : float
        Size of angular velocities [1 / time].
    """
    while True:
        kinds = [KINDS[name] for name in names]
        places = [shape(kind, rng) for kind in kinds]
        pick = [int(rng.integers(len(x))) for x in places]
        radii = [0.5 * rng.uniform(0.7, 1.0, len(x)) for x in places]
        reach = radii[0][pick[0]] + radii[1][pick[1]] + GAP
        places[1] += places[0][pick[0]] - places[1][pick[1]] - reach * unit(rng.normal(size=3))
        tables = {
            "box": {"size": [50.0] * 3, "origin": [-25.0] * 3, "boundary": ["open"] * 3},
            "molecule": [
                kind
                | {
                    "positions": x.tolist(),
                    "velocities": (0 * x).tolist(),
                    "angular_velocities": (spin * rng.normal(size=x.shape)).tolist(),
                    "mass": rng.uniform(0.5, 3.0, len(x)).tolist(),
                    "moment": rng.uniform(0.02, 0.4, len(x)).tolist(),
                    "diameter": (2 * r).tolist(),
                }
                for kind, x, r in zip(kinds, places, radii, strict=True)
            ],
            "initial": {"method": "explicit"},
            "contact": {"restitution": e, "tangential_restitution": et},
            "run": {"end_time": 1.0},
        }
        path = write_input(folder / "in.toml", tables)
        config = load_config(path)
        topology = build_composition(config).whole()
        if bead_overlap(build_box(config.box), topology, np.concatenate(places)) is not None:
            continue
        x = np.concatenate(places)
        i, j = pick[0], len(places[0]) + pick[1]
        v = rng.normal(size=x.shape)
        v[: len(places[0])] -= 3.0 * (x[i] - x[j])
        v = project_velocities(topology, x, v)
        first = len(places[0])
        n = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
        if rate is not None:
            v[:first] -= ((v[i] - v[j]) @ n + rate) * n
        elif (x[i] - x[j]) @ (v[i] - v[j]) > -1.0:
            continue
        for table, part in zip(tables["molecule"], (v[:first], v[first:]), strict=True):
            table["velocities"] = part.tolist()
        config = load_config(write_input(folder / "in.toml", tables))
        return with_spins(build_system(config), config), i, j


def solved(matrix, right):
    """Return x of matrix x = right by elimination in Decimal, both as lists."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        best = max(range(k, n), key=lambda r: abs(rows[r][k]))
        rows[k], rows[best] = rows[best], rows[k]
        for r in range(n):
            if r != k:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


def cross(a, b):
    """Return the vector product of lists."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a, b):
    """Return the scalar product of lists."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def reference(system, i, j, e, et):
    """Return velocities and spins after the contact of beads i and j, by equations of all beads and bonds at once."""
    decimals = np.vectorize(Decimal, otypes=[object])
    top = system.topology.whole()
    x, v = decimals(system.state.position), decimals(system.state.velocity)
    w, mass = decimals(system.state.extra[:, L.SPIN : L.SPIN + 3]), decimals(top.mass)
    moment, radius = decimals(top.moment), decimals(top.diameter) / 2
    apart = x[i] - x[j]
    n = apart / dot(apart, apart).sqrt()
    beads, bonds = top.beads, top.bonds

    def response(impulse):
        """Return the changes of all velocities by an impulse on i and its opposite on j, bonds kept."""
        free = np.full((beads, 3), Decimal(0), dtype=object)
        free[i] = free[i] + impulse / mass[i]
        free[j] = free[j] - impulse / mass[j]
        if len(bonds) == 0:
            return free
        rods = [x[a] - x[b] for a, b in bonds]
        matrix = [[Decimal(0)] * len(bonds) for _ in bonds]
        for k, (a, b) in enumerate(bonds):
            for m, (c, d) in enumerate(bonds):
                for bead, sign in ((a, 1), (b, -1)):
                    for other, sign2 in ((c, 1), (d, -1)):
                        if bead == other:
                            matrix[k][m] += sign * sign2 * dot(rods[k], rods[m]) / mass[bead]
        right = [-dot(rods[k], free[a] - free[b]) for k, (a, b) in enumerate(bonds)]
        for (a, b), rod, force in zip(bonds, rods, solved(matrix, right), strict=True):
            free[a] = free[a] + force * rod / mass[a]
            free[b] = free[b] - force * rod / mass[b]
        return free

    eye = np.array([[Decimal(int(r == c)) for c in range(3)] for r in range(3)], dtype=object)
    columns = [response(eye[c]) for c in range(3)]
    inverse = radius[i] ** 2 / moment[i] + radius[j] ** 2 / moment[j]
    whole = [
        [columns[c][i][r] - columns[c][j][r] + inverse * (eye[r][c] - n[r] * n[c]) for c in range(3)] for r in range(3)
    ]
    u = v[i] - v[j] - np.array(cross(radius[i] * w[i] + radius[j] * w[j], n), dtype=object)
    un = dot(u, n)
    along = [dot(row, n) for row in whole]
    stiff = dot(n, along)
    coupled = [(along[c] - stiff * n[c]) / stiff for c in range(3)]
    rest = [u[c] - un * n[c] - coupled[c] * un for c in range(3)]
    e, et = Decimal(e), Decimal(et)
    change = [-(1 + e) * un * (n[c] + coupled[c]) - (1 - et) * rest[c] for c in range(3)]
    impulse = np.array(solved(whole, change), dtype=object)
    smooth = -(1 + e) * un / stiff
    if not 0 < dot(impulse, n) < 2 * smooth:
        impulse = smooth * n
    turn = np.array(cross(n, impulse), dtype=object)
    w = w.copy()
    w[i] = w[i] - radius[i] / moment[i] * turn
    w[j] = w[j] - radius[j] / moment[j] * turn
    return (v + response(impulse)).astype(float), w.astype(float), impulse.astype(float), n.astype(float)


def after(system, time=0.0):
    """Return the engine, velocities and spins at a time just after the contact."""
    engine = Engine(system, log_events=True)
    engine.advance(4.0 * GAP + time)
    state, order = engine.state(), np.argsort(engine.ids)
    return engine, state.velocity[order], state.extra[order, L.SPIN : L.SPIN + 3]


def sums(system, x, v, w):
    """Return energy, momentum and angular momentum, those of spins included."""
    m, moment = system.topology.whole().mass[:, None], system.topology.whole().moment[:, None]
    energy = 0.5 * np.sum(m * v**2) + 0.5 * np.sum(moment * w**2)
    return energy, np.sum(m * v, axis=0), np.sum(m * np.cross(x, v) + moment * w, axis=0)


PAIRS = [("monomer", "monomer"), ("monomer", "chain"), ("dimer", "ring"), ("star", "chain"), ("ring", "star")]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
@pytest.mark.parametrize(("e", "et"), [(1.0, -1.0), (0.7, 0.4), (0.0, -0.5), (1.0, 0.999)])
def test_contacts_are_those_of_forty_digits(tmp_path, names, e, et):
    rng = np.random.default_rng(PAIRS.index(names) + 17)
    system, i, j = touching(tmp_path, names, e, et, rng)
    velocity, spin, impulse, n = reference(system, i, j, e, et)
    engine, v, w = after(system)
    events = engine.drain_events()
    assert events["bead"].tolist() == [[i, j]]
    assert np.abs(v - velocity).max() < 1e-11
    assert np.abs(w - spin).max() < 1e-11 * max(1.0, np.abs(spin).max())
    assert abs(events["impulse"][0] - impulse @ n) < 1e-11 * np.abs(impulse).max()


@pytest.mark.parametrize(("e", "et"), [(1.0, -1.0), (0.7, 0.4), (0.0, -0.5)])
def test_beads_that_would_pull_are_smooth(tmp_path, e, et):
    """Fast slip of beads that hardly approach, with bonds across: of some the rough contact would pull."""
    rng, kinds = np.random.default_rng(3), []
    for _ in range(24):
        names = [str(name) for name in rng.choice(["dimer", "chain", "ring", "star"], 2)]
        system, i, j = touching(tmp_path, names, e, et, rng, 0.1, 8.0)
        velocity, spin, impulse, n = reference(system, i, j, e, et)
        engine, v, w = after(system, 2e-12)
        log = engine.drain_events()
        assert log["bead"].tolist() == [[i, j]]
        assert log["impulse"][0] > 0.0
        assert abs(log["impulse"][0] - impulse @ n) < 1e-9  # they fly 1e-12 first, with slips of 10
        assert np.abs(v - velocity).max() < 1e-9
        assert np.abs(w - spin).max() < 1e-9
        kinds.append(bool(np.any(log["tangential"])))
        if not kinds[-1]:
            np.testing.assert_array_equal(w, system.state.extra[:, L.SPIN : L.SPIN + 3])
    assert 3 < np.count_nonzero(kinds) < 21


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
@pytest.mark.parametrize("et", [1.0 - 1e-9, -1.0])
def test_momenta_are_kept_and_energy_by_smooth_and_perfectly_rough_contacts(tmp_path, names, et):
    rng = np.random.default_rng(5)
    for _ in range(5):
        system, _, _ = touching(tmp_path, names, 1.0, et, rng)
        state = system.state
        energy, momentum, angular = sums(system, state.position, state.velocity, state.extra[:, : L.SPIN + 3])
        engine, v, w = after(system)
        x = engine.frame(4.0 * GAP)[0][np.argsort(engine.ids)]
        found = sums(system, x, v, w)
        assert engine.counters["contacts"] == 1
        assert abs(found[0] / energy - 1.0) < (1e-13 if et == -1.0 else 1e-7)
        assert np.abs(found[1] - momentum).max() < 1e-13 * system.topology.whole().mass.sum() * 10
        assert np.abs(found[2] - angular).max() < 1e-10
