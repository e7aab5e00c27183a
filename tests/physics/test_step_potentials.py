"""Square wells and shoulders: events against brute force, what they keep, and published figures."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import LEVELS
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from tests.support.compositions import composition_of
from tests.support.extended import distance_limits, step_potentials, with_extended
from tests.support.gases import gas
from tests.support.whole import frame_of

WELL = {"distances": [1.5], "energies": [-1.0]}
SHOULDERS = {"distances": [1.2, 1.5, 1.9], "energies": [-2.0, 0.7, -0.4]}


def with_potential(system, *steps):
    """Return a System with one potential for all pairs of types of beads."""
    names = system.topology.type_names
    tables = [{"types": [a, b], **one} for k, a in enumerate(names) for b in names[k:] for one in steps[:1]]
    return with_extended(system, potentials=tables)


def wells(count, seed, steps, pitch=1.83, **settings):
    """Return a System of single beads of diameter 1 with a potential of each pair, on a lattice."""
    return with_potential(gas(["monomer"] * count, seed, pitch, diameter=1.0, **settings), steps)


class Brute:
    """Single beads with one potential, by looking at all pairs after every event.

    Parameters
    ----------
    system : System
        Periodic, with equal diameters of 1.
    distances, energies : lists of float
    """

    def __init__(self, system, distances, energies):
        self.x, self.v = system.state.position.copy(), system.state.velocity.copy()
        self.mass, self.size, self.time = system.topology.whole().mass, system.box.size, 0.0
        self.edges = [*distances[::-1], 1.0]  # between level 0 and 1 ..., and contact
        self.potential = [0.0, *energies[::-1]]
        self.i, self.j = np.triu_indices(len(self.x), 1)
        self.level = np.zeros(len(self.i), dtype=int)
        for edge in self.edges[:-1]:
            self.level += np.sqrt(np.sum(self.apart()[0] ** 2, axis=1)) < edge

    def apart(self):
        """Return vectors and relative velocities of all pairs."""
        r = self.x[self.i] - self.x[self.j]
        return r - self.size * np.rint(r / self.size), self.v[self.i] - self.v[self.j]

    def step(self):
        """Carry out the next event; return its time, beads and kind."""
        r, u = self.apart()
        a, b, rr = np.sum(u * u, axis=1), np.sum(r * u, axis=1), np.sum(r * r, axis=1)
        inner = np.array(self.edges)[self.level]
        outer = np.array([np.inf, *self.edges])[self.level]
        with np.errstate(invalid="ignore", divide="ignore"):
            disc = b * b - a * (rr - inner**2)
            enter = np.where((b < 0) & (disc > 0), (rr - inner**2) / (-b + np.sqrt(disc)), np.inf)
            leave = (-b + np.sqrt(np.maximum(b * b - a * (rr - outer**2), 0.0))) / a
        leave[self.level == 0] = np.inf
        k = int(np.argmin(np.minimum(enter, leave)))
        inward, dt = enter[k] < leave[k], min(enter[k], leave[k])
        self.x += self.v * dt
        self.time += dt
        return self.time, (int(self.i[k]), int(self.j[k])), self.collide(k, inward)

    def collide(self, k, inward):
        """Change the velocities of pair k, at its inner or outer edge; return the event's kind."""
        i, j = self.i[k], self.j[k]
        r, u = (array[k] for array in self.apart())
        n = r / np.sqrt(r @ r)
        un, inverse = n @ u, 1.0 / self.mass[i] + 1.0 / self.mass[j]
        new, kind = self.level[k] + (1 if inward else -1), 2 if inward else 3
        left = -1.0
        if new < len(self.edges):
            left = un**2 - 2.0 * (self.potential[new] - self.potential[self.level[k]]) * inverse
        if left > 0.0:
            after, self.level[k] = np.sign(un) * np.sqrt(left), new
        else:
            after, kind = -un, 4 if new < len(self.edges) else 0
        p = (after - un) / inverse
        self.v[i] += p / self.mass[i] * n
        self.v[j] -= p / self.mass[j] * n
        return kind


@pytest.mark.parametrize("steps, seed", [(WELL, 1), (SHOULDERS, 2), ({"distances": [1.4], "energies": [1.5]}, 3)])
def test_events_are_those_of_brute_force(steps, seed):
    system = wells(27, seed, steps)
    engine = Engine(system, log_events=True)
    engine.advance(3.0)
    found = engine.drain_events()
    brute = Brute(system, **steps)
    expected = [brute.step() for _ in range(len(found))]
    kinds = [kind for _, _, kind in expected]
    assert len(found) > 150 and set(kinds) == {0, 2, 3, 4}
    assert found["kind"].tolist() == kinds and found["bead"].tolist() == [list(pair) for _, pair, _ in expected]
    assert np.allclose(found["time"], [time for time, *_ in expected], rtol=0, atol=1e-6)


def total_energy(engine, system):
    """Return the kinetic and the potential energy of an engine's beads, in whatever order."""
    velocity = engine.frame(engine.time)[1]
    kinetic = 0.5 * float(np.sum(system.topology.whole().mass[engine.ids, None] * velocity**2))
    return kinetic, float(np.sum(engine.energies()[:, 0]))


@pytest.mark.parametrize("steps", [WELL, SHOULDERS])
def test_energy_and_momentum_are_kept(steps):
    system = wells(27, 4, steps)
    engine = Engine(system)
    first = sum(total_energy(engine, system))
    momentum = system.topology.whole().mass @ system.state.velocity
    engine.advance(3.0)
    kinetic, potential = total_energy(engine, system)
    assert potential != 0.0 and abs(kinetic + potential - first) < 1e-11 * kinetic
    assert np.allclose(system.topology.whole().mass[engine.ids] @ engine.frame(3.0)[1], momentum, atol=1e-12)


def test_tables_are_those_of_the_distances_as_long_as_these_are_not_in_doubt():
    system = wells(27, 5, SHOULDERS)
    engine = Engine(system)
    engine.advance(2.0)
    x = engine.frame(2.0)[0][np.argsort(engine.ids)]
    inside = engine.state().extra[np.argsort(engine.ids), L.INSIDE :]
    r = x[:, None] - x[None]
    r -= system.box.size * np.rint(r / system.box.size)
    r = np.sqrt(np.sum(r * r, axis=2))
    level = sum((r < edge).astype(int) for edge in SHOULDERS["distances"]) * (1 - np.eye(27, dtype=int))
    for bead, row in enumerate(inside):
        codes = row[row > 0].astype(int)
        expected = [(other + 1) * LEVELS + level[bead, other] for other in range(27) if level[bead, other]]
        assert codes.tolist() == expected


def molecules(seed):
    """Return a System of molecules of all sorts with potentials and limits, and the distances of pairs of types."""
    rng = np.random.default_rng(seed)
    kinds = rng.permutation([*["chain5"] * 6, *["chain3"] * 6, *["dimer"] * 5, *["monomer"] * 6, *["ring"] * 4])
    system = distance_limits(rng, step_potentials(rng, gas(kinds, seed, 3.7)))
    edges = {frozenset(one.types): one.distances for one in system.physics.extended.potentials}
    return system, edges


def edges_of(system, edges, pair):
    """Return the distances at which two beads may have an event."""
    topology = system.topology.whole()
    m = topology.molecule_of_bead[list(pair)]
    found = [*edges.get(frozenset(topology.type_names[topology.bead_type[k]] for k in pair), []), 0.8]
    if m[0] == m[1]:
        found += [each for one in system.physics.extended.distance_limits[m[0]] for each in one[1:]]
    return np.array(found)


def test_molecules_meet_the_very_distances_and_keep_their_energy():
    system, edges = molecules(7)
    log = Engine(system, log_events=True)
    first = sum(total_energy(log, system))
    log.advance(4.0)
    events = log.drain_events()
    kinetic, potential = total_energy(log, system)
    assert abs(kinetic + potential - first) < 1e-11 * kinetic
    assert len(events) > 150 and set(events["kind"]) == {0, 2, 3, 4, 5}
    engine = Engine(system)
    for event in events[:: max(len(events) // 60, 1)]:
        engine.advance(float(event["time"]))
        x = frame_of(engine, float(event["time"]))[0]
        r = x[event["bead"][0]] - x[event["bead"][1]]
        r -= system.box.size * np.rint(r / system.box.size)
        assert np.abs(edges_of(system, edges, event["bead"]) - np.sqrt(r @ r)).min() < 1e-9


def test_motion_can_be_reversed():
    system, _ = molecules(8)
    end = 0.6
    engine = Engine(system, log_events=True)
    engine.advance(end)
    assert len(engine.drain_events()) > 20
    x, v, _ = frame_of(engine, end)
    inside = engine.state().extra[np.argsort(engine.ids), L.INSIDE :]
    state = system.state.at_time_zero(x, -v)
    state.extra = np.zeros((len(x), L.INSIDE + inside.shape[1]))
    state.extra[:, L.INSIDE :] = inside
    back = Engine(replace(system, state=state))
    back.advance(end)
    y, w, _ = frame_of(back, end)
    gap = y - system.state.position
    gap -= system.box.size * np.rint(gap / system.box.size)
    assert np.abs(gap).max() < 1e-8 and np.abs(w + system.state.velocity).max() < 1e-7


def averages(system, until, every, settle):
    """Return means of kinetic temperature, potential energy per bead and virial rate, each over blocks of a run."""
    engine, rows = Engine(system), []
    engine.advance(settle)
    before = engine.sums[L.SUM_VIRIAL]
    for time in np.arange(settle + every, until, every):
        engine.advance(float(time))
        kinetic, potential = total_energy(engine, system)
        rows.append(
            [2.0 * kinetic / (3 * len(engine.ids) - 3), potential / len(engine.ids), engine.sums[L.SUM_VIRIAL] - before]
        )
        before = engine.sums[L.SUM_VIRIAL]
    rows = np.array(rows)
    rows[:, 2] *= engine.quantum / every
    return rows


def virial_coefficients(width, x):
    """Return B2 / b0 and B3 / b0^2 of the square well of that width, x = exp(depth / kT) - 1 (Kihara 1953)."""
    q = width**2
    second = 1.0 - (width**3 - 1.0) * x
    linear = q**3 - 18 * q**2 + 32 * width**3 - 15
    square = 2 * q**3 - 36 * q**2 + 32 * width**3 + 18 * q - 16
    cube = 6 * q**3 - 18 * q**2 + 18 * q - 6
    return second, (5.0 - linear * x - square * x**2 - cube * x**3) / 8.0


def require_square_well_gas(count, pitch, until):
    """Compare pressure and energy of a square-well gas with its second and third virial coefficients."""
    system = wells(count, 11, WELL, pitch, random_mass=False)
    system.state.velocity *= np.sqrt(2.0 / np.mean(system.state.velocity**2))
    rows = averages(system, until, until / 64, 0.1 * until)
    temperature, energy, virial = rows.mean(axis=0)
    error = rows.std(axis=0) / np.sqrt(len(rows) / 4)
    density = count / np.prod(system.box.size) * 2.0 * np.pi / 3.0  # in units of 1 / b0
    x = np.exp(1.0 / temperature) - 1.0
    second, third = virial_coefficients(1.5, x)
    step = 1e-5
    slope = (np.array(virial_coefficients(1.5, np.exp((1.0 + step) / temperature) - 1.0)) - (second, third)) / step
    expected = temperature * (slope[0] * density + 0.5 * slope[1] * density**2)
    pressure = 1.0 + virial / (3.0 * count * temperature)
    fourth = 2.0 * density**3
    assert abs(pressure - (1.0 + second * density + third * density**2)) < fourth + 4 * error[2] / (
        3 * count * temperature
    )
    assert abs(energy - expected) < fourth + 4.0 * error[1]
    return abs(second * density), pressure


def test_a_thin_square_well_gas_has_its_second_virial_coefficient():
    """B2 / b0 = 1 - (width^3 - 1) (exp(depth / kT) - 1), and the third by Kihara 1953."""
    require_square_well_gas(216, 3.4, 400.0)


@pytest.mark.long
def test_a_larger_square_well_gas_has_its_virial_coefficients():
    require_square_well_gas(1000, 2.9, 1500.0)


def test_limits_give_phantom_trimers_the_stiffness_that_they_imply():
    """The mean cosine of the angle between bonds, with the weight of rigid bonds, (4 - cos^2)^1/2 (Kramers 1946)."""
    system = gas(["chain3"] * 64, 3, random_mass=False)
    topology = replace(system.topology.whole(), self_contact=np.zeros(64, dtype=bool))
    system = with_extended(replace(system, topology=composition_of(topology)), distance_limits=[[[2, 1.3, 1.6]]] * 64)
    engine, means = Engine(system), []
    for time in np.arange(10.0, 400.0, 2.0):
        engine.advance(float(time))
        x = frame_of(engine, float(time))[0].reshape(64, 3, 3)
        bonds = np.diff(x, axis=1)
        cosine = np.sum(bonds[:, 0] * bonds[:, 1], axis=1) / topology.bond_length[0] ** 2
        means.append(cosine.mean())
    low, high = np.array([1.3, 1.6]) ** 2 / (2.0 * topology.bond_length[0] ** 2) - 1.0
    c = np.linspace(low, high, 10001)
    expected = np.average(c, weights=np.sqrt(4.0 - c**2))
    error = np.std(means) / np.sqrt(len(means) / 4)
    assert error < 0.004 and abs(np.mean(means) - expected) < 4.0 * error
    assert abs(np.mean(means) - 0.5 * (low + high)) < 0.03


def stiff_chains(count, beads, least):
    """Return a System of phantom chains with unit bonds whose 1-3 distances are at least so great."""
    kind = {"kind": "chain", "beads": beads, "count": count, "diameter": 0.1, "self_contact": False}
    kind["distance_limits"] = [{"separation": 2, "least": least, "most": 2.0}]
    box = {"size": [60.0] * 3, "boundary": ["periodic"] * 3}
    table = {"box": box, "molecule": [kind], "initial": {"seed": 5}, "run": {"end_time": 1.0}}
    return grown_system(config_from_table(table, "in"))


def mean_cosines(least, bonds, draws=200000):
    """Return the mean products of cosines of 1, 2, ... successive angles, by the weight of rigid bonds, det(T)^1/2.

    Angles are free but for their limit, uniformly in their cosine, and phantom chains turn freely about bonds.
    """
    cosine = np.random.default_rng(1).uniform(0.5 * least**2 - 1.0, 1.0, (draws, bonds - 1))
    pivot, weight = np.full(draws, 2.0), np.full(draws, 2.0)
    for c in cosine.T:
        pivot = 2.0 - c**2 / pivot
        weight = weight * pivot
    weight = np.sqrt(weight)
    found = []
    for lag in range(1, bonds):
        products = [np.prod(cosine[:, k : k + lag], axis=1) for k in range(bonds - lag)]
        found.append(np.average(np.mean(products, axis=0), weights=weight))
    return np.array(found)


@pytest.mark.long
@pytest.mark.parametrize("least", [1.6, 1.85])
def test_limits_of_angles_imply_the_persistence_length_of_phantom_chains(least):
    """Correlations of bonds decay as the limit says; the length is -1 / ln of the mean cosine, by both."""
    beads = 10
    system = stiff_chains(48, beads, least)
    engine, rows = Engine(system), []
    for time in np.arange(40.0, 1240.0, 4.0):
        engine.advance(float(time))
        bonds = np.diff(frame_of(engine, float(time))[0].reshape(48, beads, 3), axis=1)
        every = [np.mean(np.sum(bonds[:, : beads - 1 - lag] * bonds[:, lag:], axis=2)) for lag in range(1, beads - 1)]
        rows.append(every)
    found, error = np.mean(rows, axis=0), np.std(rows, axis=0) / np.sqrt(len(rows) / 4)
    expected = mean_cosines(least, beads - 1)
    assert np.all(np.abs(found - expected) < 4.0 * error + 1e-3)
    lengths = -1.0 / np.log([found[0], expected[0]])
    print(f"least {least}: persistence length {lengths[0]:.3f}, implied {lengths[1]:.3f}")
    assert lengths[0] == pytest.approx(lengths[1], rel=0.05)


LINE = [[0.9 * n, 0.0, 0.0] for n in range(7)]
INNER = {
    "rod": {"kind": "rod", "beads": 7, "bond_length": 0.9},
    "body": {"kind": "rigid", "sites": [*LINE, [0.0, 0.5, 0.0]]},
    "excluded": {"kind": "chain", "beads": 4, "exclude": 3},
    "limited": {
        "kind": "chain",
        "beads": 3,
        "exclude": 3,
        "bond_length": 1.5,
        "distance_limits": [{"separation": 2, "least": 0.5, "most": 2.0}],
    },
}
"""Molecules of which no beads have a potential, and none is ever as near to an image as it reaches."""


@pytest.mark.parametrize("kind", INNER)
def test_a_molecule_longer_than_half_the_box_does_not_meet_itself(kind):
    """Lists then have beads that never meet, whose images could."""
    side = {"excluded": 5.9, "limited": 6.1}.get(kind, 8.0)
    tables = {
        "box": {"size": [side] * 3},
        "molecule": [INNER[kind], {"kind": "monomer", "count": 20}],
        "initial": {"seed": 5},
        "potential": [{"name": "steps", **WELL}],
        "run": {"end_time": 4.0},
    }
    system = grown_system(config_from_table(tables, "in.toml"))
    engine = Engine(system, log_events=True)
    before = sum(total_energy(engine, system))
    engine.advance(4.0)
    found = engine.drain_events()
    own = np.all(system.topology.whole().molecule_of_bead[found["bead"]] == 0, axis=1)
    assert np.all(found["kind"][own] == 5) and np.any(own) == (kind == "limited") and len(found) > 50
    assert sum(total_energy(engine, system)) == pytest.approx(before, rel=1e-10)
