"""The engine's generalised variational steps against dense ones of the paper, on both bases and with both energies."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import EngineError, StepError
from hpcchain.papers import inclusion_systems, inclusions
from hpcchain.papers.inclusions import Mechanics, Method
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.local_beads import LocalBeads
from tests.support.stepped import (
    FENE,
    LJ,
    liquid,
    require_equal,
    rigid,
    run_on,
    stepping,
    system_of,
    turned,
    zigzag,
)

COMBINATIONS = [(base, energy) for base in ("verlet", "midpoint") for energy in ("H", "H2")]
SIDE, RADIUS, SIGMA, CENTER = 6.0, 0.3, 0.56, np.array([3.0, 2.5, 3.2])


def pogo(base, energy):
    """Return the input of two beads on a spring above the ground."""
    places = [[20.0, 20.0, 6.25], [20.0, 20.0, 1.25]]
    kind = {"name": "A", "kind": "chain", "beads": 2, "count": 1, "rigid": False, "diameter": 0.5, "bond_length": 5.0}
    return {
        "box": {"size": [40.0] * 3, "boundary": ["open", "open", "wall"]},
        "molecule": [kind | {"positions": places, "velocities": [[0.0, 0.0, 0.0]] * 2}],
        "potential": [{"name": "harmonic", "stiffness": 10.0, "length": 5.0}],
        "external": {"gravity": [0.0, 0.0, -9.8]},
        "initial": {"method": "explicit", "seed": 1},
        "run": {"engine": "steps", "end_time": 1.0},
        "output": {"frame_every": 1.0, "report_every": 1.0, "checkpoint_every": 1.0},
        "steps": {"step": 0.1, "base": base, "energy": energy},
    }


@pytest.mark.parametrize("base, energy", COMBINATIONS)
def test_a_pogo_stick_moves_as_in_the_dense_integrator(base, energy):
    engine = SteppedEngine(system_of(pogo(base, energy)), skin=5.0)
    mechanics, q, p = inclusion_systems.pogo()
    for k in range(1, 201):
        q, p = inclusions.step(mechanics, Method(0.1, base, energy), q, p)
        engine.advance(round(0.1 * k, 1))
        position, velocity, _ = engine.frame(engine.time)
        assert np.abs(position[:, 2] - 0.25 - q).max() < 1e-11 and np.abs(velocity[:, 2] - p).max() < 1e-11
    assert engine.counters["wall_contacts"] > 35


@pytest.mark.parametrize("base, energy", COMBINATIONS)
def test_the_energy_of_a_pogo_stick_stays_in_its_band(base, energy, request):
    """NUMERICS: E = H stays in [0, +2.3 %], E = H2 in [-1.0, +1.3 %] of Verlet; --long: over 1e5 steps."""
    engine = SteppedEngine(system_of(pogo(base, energy)), skin=5.0)
    energies = []
    for k in range(1, 10001 if request.config.getoption("--long") else 61):
        engine.advance(float(k))
        energies.append(0.5 * np.sum(engine.frame(engine.time)[1] ** 2) + engine.energies()[:, 0].sum())
    rise = (np.array(energies) - 4.9) / 68.6 - 1.0
    low, high = {"H": (-1e-3, 0.025), "H2": (-0.0125, 0.0155)}[energy]
    assert low < rise.min() and rise.max() < high


def chain(base, energy, beads=4):
    """Return the input of a chain with rigid bonds and of beads, which attract, in a box of walls with a spring."""
    rng = np.random.default_rng(5)
    bound = zigzag(beads) @ turned(rng).T * 0.8
    bound += CENTER - bound.mean(axis=0)
    free = np.array([[1.0, 4.5, 1.5], [4.8, 4.6, 4.4], [1.2, 1.0, 4.9], [4.9, 1.1, 1.0]])
    kinds = [
        {
            "name": "A",
            "kind": "chain",
            "beads": beads,
            "count": 1,
            "bond_length": 0.8,
            "diameter": 2.0 * RADIUS,
            "mass": [1.0, 2.0, 1.0, 3.0],
            "positions": bound.tolist(),
        },
        {"name": "B", "kind": "monomer", "count": 4, "diameter": 2.0 * RADIUS, "positions": free.tolist()},
    ]
    return {
        "box": {"size": [SIDE] * 3, "boundary": ["wall"] * 3},
        "molecule": kinds,
        "potential": [
            {"name": "lennard-jones", "epsilon": 2.0, "sigma": SIGMA, "cutoff": 9.0, "shift": False},
            {"name": "center", "stiffness": 9.0, "center": CENTER.tolist()},
        ],
        "initial": {"method": "explicit", "temperature": 12.0, "seed": 2},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01, "base": base, "energy": energy},
    }


def mechanics_of(system):
    """Return the Mechanics of such a chain and beads."""
    n = system.topology.beads
    bonds = [tuple(pair) for pair in system.topology.whole().bonds.tolist()]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in bonds]
    first, second = np.array(pairs).T

    def parts(q):
        x = q.reshape(n, 3)
        apart = x[first] - x[second]
        s = SIGMA**2 / np.sum(apart**2, axis=1)
        return apart, s, s**3

    def slope(q):
        apart, s, s6 = parts(q)
        force = -48.0 * (2.0 * s6 * s6 - s6) * s / SIGMA**2
        out = 9.0 * (q.reshape(n, 3) - CENTER)
        np.add.at(out, first, force[:, None] * apart)
        np.add.at(out, second, -force[:, None] * apart)
        return out.ravel()

    def curvature(q):
        apart, s, s6 = parts(q)
        r2 = SIGMA**2 / s
        one, two = -48.0 * (2.0 * s6 * s6 - s6) / r2, 8.0 * (168.0 * s6 * s6 - 48.0 * s6) / r2**2
        found = 9.0 * np.eye(3 * n).reshape(n, 3, n, 3)
        for k, (i, j) in enumerate(pairs):
            block = one[k] * np.eye(3) + two[k] * np.outer(apart[k], apart[k])
            found[i, :, i] += block
            found[j, :, j] += block
            found[i, :, j] -= block
            found[j, :, i] -= block
        return found.reshape(3 * n, 3 * n)

    def gaps(q):
        values, gradient = inclusion_systems.pair_gaps(q.reshape(n, 3), pairs, 2.0 * RADIUS)
        one = np.eye(3 * n)
        return np.concatenate([values, q - RADIUS, SIDE - RADIUS - q]), np.hstack([gradient, one, -one])

    def holds(q):
        return inclusion_systems.pair_gaps(q.reshape(n, 3), bonds, 0.8)

    return Mechanics(np.repeat(system.topology.whole().mass, 3), lambda q: 0.0, slope, curvature, gaps, holds)


@pytest.mark.parametrize("base, energy", COMBINATIONS)
def test_chains_move_as_in_the_dense_integrator(base, energy):
    """With rigid bonds, walls, pairs in contact and potentials whose second derivatives join contacts."""
    system = system_of(chain(base, energy))
    engine, mechanics = SteppedEngine(system), mechanics_of(system)
    q, p = system.state.position.ravel(), system.state.velocity.ravel() * mechanics.mass
    for k in range(1, 101):
        q, p = inclusions.step(mechanics, Method(0.01, base, energy), q, p)
        engine.advance(round(0.01 * k, 2))
        if k % 20 == 0:
            position, velocity, _ = engine.frame(engine.time)
            error = np.abs(position.ravel() - q).max(), np.abs(velocity.ravel() - p / mechanics.mass).max()
            assert max(error) < 1e-8
    assert engine.counters["contacts"] > 1 and engine.counters["wall_contacts"] > 0


def linked(energy):
    """Return the input of two beads that attract each other and reach the ground in one step."""
    tables = chain("verlet", energy)
    places = [[2.5, 3.0, 0.33], [3.5, 3.0, 0.32]]
    tables["molecule"] = [
        tables["molecule"][1] | {"count": 2, "positions": places, "velocities": [[0.0, 2.0, -4.0], [1.0, 0.0, -3.5]]}
    ]
    tables["potential"] = [tables["potential"][0] | {"epsilon": 100.0, "cutoff": 2.0}]
    tables["box"] = {"size": [SIDE] * 3, "boundary": ["open", "open", "wall"]}
    return tables


@pytest.mark.parametrize("ranks", [1, 2])
def test_contacts_that_potentials_join_are_reflected_together(ranks):
    """Two beads of two ranks at the ground: the metric couples their contacts, as in the dense integrator."""
    system = system_of(linked("H2"))

    def slope(q):
        apart = q[:3] - q[3:]
        s = SIGMA**2 / (apart @ apart)
        force = 100.0 * 24.0 * (2.0 * s**6 - s**3) * s / SIGMA**2 * apart
        return np.concatenate([-force, force])

    def curvature(q):
        return inclusion_systems.differences(slope, q, 1e-4)

    def gaps(q):
        return q[[2, 5]] - RADIUS, np.eye(6)[:, [2, 5]]

    mechanics = Mechanics(np.ones(6), lambda q: 0.0, slope, curvature, gaps)
    q, p = system.state.position.ravel(), system.state.velocity.ravel()
    for _ in range(3):
        q, p = inclusions.step(mechanics, Method(0.01, "verlet", "H2"), q, p)
    parts = run_on(system, 0.03, ranks)
    plain = run_on(system_of(linked("H")), 0.03, 1)
    assert np.abs(parts[1].ravel() - p).max() < 1e-6 and np.abs(plain[1] - parts[1]).max() > 1e-4
    require_equal(parts, run_on(system, 0.03, 1))


def hard(seed, flexible, **steps):
    """Return the input of hard beads with potentials: a liquid with chains, or rigid molecules."""
    if flexible:
        sections = {"steps": {"step": 0.004} | steps, "initial": {"temperature": 8.0}}
        tables = liquid(seed, beads=140, chains=3, potential=[LJ | {"sigma": 0.75}, FENE], **sections)
        diameter = 0.86
    else:
        sections = {"steps": {"step": 0.002} | steps, "initial": {"temperature": 25.0}}
        tables = rigid(3, count=4, pitch=3.3, potential=[LJ | {"sigma": 0.65}], **sections)
        diameter = 0.7
    for kind in tables["molecule"]:
        kind |= {"hard": True, "diameter": diameter}
    return tables


@pytest.mark.parametrize(
    "flexible, base, energy, ranks",
    [
        (True, "verlet", "H2", 2),
        (False, "verlet", "H2", 3),
        (True, "midpoint", "H2", 3),
        (False, "midpoint", "H", 2),
    ],
)
def test_ranks_lists_and_restarts_leave_no_trace(flexible, base, energy, ranks):
    system = system_of(hard(11 + ranks, flexible, base=base, energy=energy))
    engine = SteppedEngine(system)
    engine.advance(0.24)
    assert engine.counters["contacts"] > 5
    alone = run_on(system, 0.24, 1)
    middle = replace(system, state=run_on(system, 0.12, ranks, skin=0.8)[4])
    require_equal(alone, run_on(middle, 0.24, 5 - ranks))


def test_the_midpoint_rule_is_of_order_two_and_keeps_momentum():
    wells = [{"name": "harmonic", "stiffness": 40.0, "length": 1.0}]
    system = system_of(liquid(3, beads=2, chains=3, potential=wells, steps={"step": 0.005, "base": "midpoint"}))
    exact = run_on(stepping(system, 1.0 / 4096), 1.0, 1)
    error = [np.abs(run_on(stepping(system, 2.0**-k), 1.0, 1)[0] - exact[0]).max() for k in (5, 6, 7, 8)]
    assert -2.15 < np.polyfit(range(4), np.log2(error), 1)[0] < -1.85
    drift = system.topology.whole().mass @ (exact[1] - system.state.velocity)
    assert np.abs(drift).max() < 1e-10


@pytest.mark.parametrize("base", ["verlet", "midpoint"])
def test_steps_are_symplectic(base):
    """The derivative J of two steps has J^T S J = S, S the symplectic form."""
    wells = [{"name": "lennard-jones", "epsilon": 1.0, "sigma": 1.0, "cutoff": 3.0}]
    system = system_of(liquid(3, beads=2, chains=0, potential=wells, steps={"step": 0.05, "base": base}))
    places = np.array([[3.0, 3.0, 3.0], [3.9, 3.5, 3.2]])
    n, step = 6, 1e-4
    mass = np.repeat(system.topology.whole().mass, 3)

    def after(z):
        state = replace(system.state, position=z[:n].reshape(2, 3), velocity=(z[n:] / mass).reshape(2, 3))
        parts = run_on(replace(system, state=state), 0.1, 1)
        return np.concatenate([parts[0].ravel(), parts[1].ravel() * mass])

    z = np.concatenate([places.ravel(), np.linspace(-1.0, 1.0, n) * mass])
    columns = []
    for e in np.eye(2 * n):
        near, far = (after(z + k * step * e) - after(z - k * step * e) for k in (1.0, 2.0))
        columns.append((8.0 * near - far) / (12.0 * step))
    j, form = np.array(columns).T, np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.abs(j.T @ form @ j - form).max() < 1e-7 and np.abs(j - np.eye(2 * n)).max() > 1.0


def test_a_step_too_long_for_the_midpoint_rule_is_refused():
    """A step of an input as long as that is refused before; other potentials may become so stiff in a run."""
    system = system_of(pogo("midpoint", "H"))
    steps = system.physics.steps
    stiff = replace(steps.potentials[0], stiffness=2400.0)
    steps = replace(steps, potentials=(stiff, *steps.potentials[1:]))
    system = replace(system, physics=replace(system.physics, steps=steps))
    with pytest.raises(StepError, match='steps.base = "midpoint" finds no step.*steps.step smaller'):
        SteppedEngine(system, skin=1e9).advance(10.0)


def test_potentials_too_stiff_for_reflections_in_h2_are_refused(monkeypatch):
    monkeypatch.setattr(LocalBeads, "require_gentle", lambda beads: None)  # no start has such forces; a step may
    tables = linked("H2")
    tables["molecule"][0] |= {"diameter": 1.4, "positions": [[2.0, 3.0, 3.0], [3.45, 3.0, 3.0]]}
    tables["potential"][0] |= {"epsilon": 3000.0, "sigma": 1.0, "cutoff": 2.5}
    with pytest.raises(EngineError, match='steps.energy: "H2" has no reflections here.*steps.step smaller'):
        SteppedEngine(system_of(tables | {"steps": {"step": 0.02, "energy": "H2"}}), skin=5.0).advance(0.1)


def beads_alone(energy, step, seed):
    """Return the input of eight single beads that attract, in the box of `chain`."""
    tables = chain("verlet", energy)
    bound = tables["molecule"][0] | {"kind": "monomer", "mass": 1.0, "count": 4}
    del bound["bond_length"], bound["beads"]
    bound["positions"] = [[1.2, 1.2, 1.2], [3.0, 3.0, 3.0], [2.9, 1.2, 3.1], [3.1, 4.4, 2.0]]
    tables["molecule"][0] = bound
    tables["initial"]["seed"] = seed
    tables["steps"]["step"] = step
    return tables


def shifts(energy, step, seed, time):
    """Return by how much the numerical Hamiltonian H2 changes in a run, and the sum of its jumps at contacts."""
    system = system_of(beads_alone(energy, step, seed))
    engine, mechanics, mass = SteppedEngine(system), mechanics_of(system), system.topology.whole().mass
    solve, jumps = engine.integrator._solve_contacts, []

    def kinetic(place, velocity):
        bend = velocity.ravel() @ mechanics.curvature(place.ravel()) @ velocity.ravel()
        return 0.5 * mass @ np.sum(velocity**2, axis=1) + step**2 / 12.0 * bend

    def watched(before, velocity, pairs, curved=None):
        done, after = solve(before, velocity, pairs, curved), velocity.copy()
        for one in done:
            ids = one.pool.ids
            after[ids] = one.velocity - 0.5 * step * one.pool.force / mass[ids, None]
        if done:
            jumps.append(kinetic(before, after) - kinetic(before, velocity))
        return done

    def h2():
        place, velocity, _ = engine.frame(engine.time)
        slope = mechanics.slope(place.ravel())
        rest = engine.energies()[:, 0].sum() - step**2 / 24.0 * np.sum(slope**2 / mechanics.mass)
        return kinetic(place, velocity) + rest

    engine.integrator._solve_contacts = watched
    begin = h2()
    engine.advance(time)
    assert len(jumps) > 10
    return h2() - begin, sum(jumps)


def test_reflections_in_h_shift_h2_by_their_jumps_and_those_in_h2_by_nothing():
    """So the energy walks with H, and by what order of the step is known."""
    plain, kept = (np.array([shifts(energy, 0.005, seed, 6.0) for seed in (1, 2, 3)]) for energy in ("H", "H2"))
    walk = np.sqrt(np.mean(plain[:, 1] ** 2))
    assert np.abs(plain[:, 0] - plain[:, 1]).max() < 0.1 * walk and walk > 5e-3
    assert np.abs(kept[:, 1]).max() < 1e-10 and np.abs(kept[:, 0]).max() < 0.25 * walk


def triple_next_to(speed):
    """Return where three balls that come together askew are after a step, next to two that meet at a speed."""
    places = [[2.0, 2.0, 2.0], [3.0, 2.0, 2.0], [2.5, 2.868, 2.05]]
    places += [[500.0, 500.0, 500.0], [500.99 + 0.01 * speed, 500.0, 500.0]]
    velocities = [[1.0, 0.5, 0.0], [-1.0, 0.7, 0.3], [0.1, -2.0, 0.2], [0.0] * 3, [0.0] * 3]
    tables = {
        "box": {"size": [2000.0] * 3},
        "molecule": [
            {"kind": "monomer", "count": 5, "positions": places, "velocities": velocities, "diameter": 0.9955}
        ],
        "initial": {"method": "explicit"},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.005, "integrator": "dsi"},
    }
    system = system_of(tables)
    system.state.velocity[3:, 0] = speed, -speed
    engine = SteppedEngine(system)
    engine.advance(0.005)
    return engine.counters["contacts"], engine.frame(0.005)[0][:3]


def test_an_impulse_has_nothing_of_the_speed_of_others():
    """Which others are solved with it depends on the ranks, so its tolerance must not be theirs."""
    slow, fast = triple_next_to(1.0), triple_next_to(1e4)
    assert slow[0] == fast[0] == 4 and slow[1].tobytes() == fast[1].tobytes()
