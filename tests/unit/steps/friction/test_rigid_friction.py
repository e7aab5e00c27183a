"""Rigid bodies with friction under contact dynamics: inclines, sliding, spinning, cones, momenta, energy, bits."""

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.layout import arrays as L
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.friction.cluster_solver import ClusterSolver
from tests.support.bodies import CROSS, TETRAHEDRON, moments, rotation
from tests.support.heaps import heap, require_no_trace
from tests.support.stepped import config_of, system_of

G = 9.8
CUBE = 0.5 * np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 0.5
EDGE = 1.1 * 2.0**0.5
"""Of TETRAHEDRON's edges."""


def on_face():
    """Return places (4, 3) of TETRAHEDRON that lies on a face, one edge along y, its lowest beads at z = 0."""
    away, height = EDGE / 3.0**0.5, EDGE * (2.0 / 3.0) ** 0.5
    base = [[-0.5 * away, 0.5 * EDGE, 0.0], [-0.5 * away, -0.5 * EDGE, 0.0], [away, 0.0, 0.0]]
    mirrored = np.array([*base, [0.0, 0.0, height]])
    order = [0, 1, 2, 3]
    if np.linalg.det(mirrored[1:] - mirrored[0]) * np.linalg.det(TETRAHEDRON[1:] - TETRAHEDRON[0]) < 0.0:
        order = [1, 0, 2, 3]
    return mirrored[order]


def lying(rows, sites, speed=None, gravity=(0.0, 0.0, -G), friction=0.3, solver="newton", **steps):
    """Return the System of a body of eight or four beads of diameter 0.8 that touches a floor at z = 0."""
    rows = np.asarray(rows) + [10.0, 10.0, 0.4 - np.min(np.asarray(rows)[:, 2])]
    still = np.zeros_like(rows) if speed is None else speed(rows)
    kind = {"kind": "rigid", "sites": np.asarray(sites).tolist(), "count": 1, "diameter": 0.8, "mass": 1.5}
    tables = {
        "box": {"size": [20.0] * 3, "boundary": ["periodic", "periodic", "wall"]},
        "molecule": [kind | {"positions": rows.tolist(), "velocities": still.tolist()}],
        "initial": {"method": "explicit"},
        "external": {"gravity": list(gravity)},
        "contact": {"restitution": 0.0, "friction": friction},
        "propagator": {"tolerance": 1e-12},
        "run": {"engine": "steps", "end_time": 100.0},
        "steps": {"step": 0.01, "integrator": "contact", "solver": solver} | steps,
    }
    return system_of(tables)


def tilted(angle):
    return G * np.array([np.sin(np.deg2rad(angle)), 0.0, -np.cos(np.deg2rad(angle))])


BODIES = {"cube": (CUBE, CUBE), "tetrahedron": (on_face(), TETRAHEDRON)}


@pytest.mark.parametrize("solver", ["newton", "gauss-seidel"])
@pytest.mark.parametrize("name", list(BODIES))
@pytest.mark.parametrize("angle", [16.0, 17.5])
def test_an_incline_on_both_sides_of_the_friction_angle(name, angle, solver):
    """The friction of 0.3 is tan 16.7 degrees: bodies that do not tip stay below it, and slide above it."""
    engine = SteppedEngine(lying(*BODIES[name], gravity=tilted(angle), solver=solver))
    before = engine.beads.position.copy()
    engine.advance(0.5)
    wanted = max(0.0, G * (np.sin(np.deg2rad(angle)) - 0.3 * np.cos(np.deg2rad(angle))))
    assert (wanted > 0.0) == (angle > 16.7)
    assert engine.beads.own.velocity == pytest.approx(np.tile([0.5 * wanted, 0.0, 0.0], (len(before), 1)), abs=1e-9)
    moved = sum(0.01 * 0.01 * k * wanted for k in range(1, 51))
    assert engine.beads.position == pytest.approx(before + [moved, 0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("angle", [27.0, 35.0])
def test_a_cube_that_cannot_slide_tips_about_its_lower_beads(angle):
    """Their contacts are 0.5 ahead and 0.9 below its centre: it begins to tip where tan is 5 / 9, at 29.05 degrees."""
    engine = SteppedEngine(lying(CUBE, CUBE, gravity=tilted(angle), friction=2.0))
    engine.advance(0.01)
    radians = np.deg2rad(angle)
    torque = G * (0.9 * np.sin(radians) - 0.5 * np.cos(radians))
    turn = max(0.0, 0.01 * torque / (0.5 + 0.9**2 + 0.5**2))
    assert (turn > 0.0) == (angle > 29.05)
    speed = engine.beads.own.velocity.mean(axis=0)
    assert speed == pytest.approx([0.9 * turn, 0.0, 0.5 * turn], abs=2e-6)


def test_a_body_slides_to_rest():
    engine = SteppedEngine(lying(CUBE, CUBE, lambda rows: np.tile([1.0, 0.5, 0.0], (8, 1))))
    start = engine.beads.position[:8].copy()
    engine.advance(0.2)
    speed = 1.25**0.5
    left = (speed - 0.3 * G * 0.2) / speed
    assert engine.beads.own.velocity == pytest.approx(np.tile([left, 0.5 * left, 0.0], (8, 1)), abs=1e-9)
    engine.advance(1.0)
    assert np.abs(engine.beads.own.velocity).max() < 1e-10
    gone = np.linalg.norm(engine.beads.position - start, axis=1)
    assert gone == pytest.approx(np.full(8, speed**2 / (2.0 * 0.3 * G)), abs=0.5 * speed * 0.01 + 1e-9)


def test_a_body_that_spins_on_its_face_comes_to_rest():
    """Four beads at r from the axis, with all the mass at r: w' = -mu g / r."""
    r, w = 0.5**0.5, 3.0
    turning = lambda rows: np.cross([0.0, 0.0, w], rows - rows.mean(axis=0))  # noqa: E731
    engine = SteppedEngine(lying(CUBE, CUBE, turning))
    engine.advance(0.4)
    away = engine.beads.position - engine.beads.position.mean(axis=0)
    rate = np.mean(np.cross(away, engine.beads.own.velocity), axis=0) / (r * r)
    assert rate == pytest.approx([0.0, 0.0, w - 0.3 * G / r * 0.4], abs=2e-3)
    engine.advance(1.0)
    assert np.abs(engine.beads.own.velocity).max() < 1e-9
    assert engine.beads.position.mean(axis=0) == pytest.approx([10.0, 10.0, 0.9], abs=1e-6)


def momenta(x, v, mass):
    """Return momentum and angular momentum of beads."""
    return np.concatenate([mass @ v, mass @ np.cross(x, v)])


def blow(friction, restitution, seed=1):
    """Return the System of two bodies that touch in two beads and are thrown at each other; one turns."""
    rng = np.random.default_rng(seed)
    one = CROSS @ rotation(rng).T
    lead = int(np.argmax(one[:, 0]))
    ahead = one[lead] + [0.8, 0.0, 0.0]
    far = TETRAHEDRON @ rotation(rng).T
    other = far - far[np.argmin(far[:, 0])] + ahead
    kinds = []
    for name, sites, rows, speed in (("A", CROSS, one, 1.0), ("B", TETRAHEDRON, other, -1.0)):
        turn = np.cross(rng.normal(size=3), rows - rows.mean(axis=0)) + [speed, 0.3 * speed, 0.2]
        kinds.append(
            {"name": name, "kind": "rigid", "sites": sites.tolist(), "count": 1, "diameter": 0.8, "mass": 1.3}
            | {"positions": (rows + 10.0).tolist(), "velocities": turn.tolist()}
        )
    tables = {
        "box": {"size": [20.0] * 3},
        "molecule": kinds,
        "initial": {"method": "explicit"},
        "contact": {"restitution": restitution, "friction": friction},
        "propagator": {"tolerance": 1e-13},
        "run": {"engine": "steps", "end_time": 100.0},
        "steps": {"step": 0.001, "integrator": "contact"},
    }
    return system_of(tables)


@pytest.mark.parametrize("friction, restitution", [(0.0, 1.0), (0.3, 0.0), (0.3, 0.7), (1e6, 0.5), (1e6, 1.0)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_blow_across_two_bodies(friction, restitution, seed):
    """Momenta are kept, energy never grows, the rate along the normal is turned round, friction is against the slip."""
    system = blow(friction, restitution, seed)
    mass = system.topology.whole().mass
    engine = SteppedEngine(system, log_events=True)
    x, v = engine.beads.position.copy(), engine.beads.own.velocity.copy()
    engine.advance(0.001)
    done = engine.drain_events()
    assert len(done) == 1
    i, j = done["bead"][0]
    n = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
    after = engine.beads.own.velocity
    assert momenta(engine.beads.position, after, mass) == pytest.approx(momenta(x, v, mass), abs=1e-11)
    energies = [0.5 * mass @ np.sum(one**2, axis=1) for one in (v, after)]
    assert energies[1] <= energies[0] + 1e-9
    if friction in (0.0, 1e6) and restitution == 1.0:
        assert energies[1] == pytest.approx(energies[0], abs=2e-5)
    before, rate = ((one[i] - one[j]) @ n for one in (v, after))
    assert rate == pytest.approx(-restitution * before, abs=2e-2)
    slip = [surface(x, one, i, j, n) for one in (v, after)]
    if friction > 1.0:
        assert slip[1] == pytest.approx(-restitution * slip[0], abs=2e-2)


def surface(x, v, i, j, n):
    """Return the slip of the surfaces of beads i < 7 and j >= 7 of the two bodies of `blow` that touch."""
    points = []
    for bead, rows, sign in ((i, slice(0, 7), -1.0), (j, slice(7, 11), 1.0)):
        w = spin_of(x[rows], v[rows])
        points.append(v[bead] + np.cross(w, sign * 0.4 * n))
    u = points[0] - points[1]
    return u - (u @ n) * n


def spin_of(x, v):
    """Return the angular velocity of beads of equal mass that move rigidly."""
    away = x - x.mean(axis=0)
    return np.linalg.solve(moments(away, np.ones(len(x))), np.sum(np.cross(away, v - v.mean(axis=0)), axis=0))


def mixed(seed=1, friction=0.4, restitution=0.3, solver="newton", step=0.01, tolerance=1e-11):
    """Return the System of bodies, chains and single beads that fall into a box of walls."""
    tables = heap(seed, 2, 4.7, ("chain", "monomer"), contact={"restitution": restitution, "friction": friction})
    side = tables["box"]["size"][0]
    rng, spots = np.random.default_rng(seed), [2.0 + 2.9 * k for k in range(int((side - 2.0) // 2.9))]
    places = np.array([[x, y, 2.0 + 2.9 * k] for k in range(2) for x in spots for y in spots])
    rows = np.concatenate([place + CROSS @ rotation(rng).T for place in places])
    for one in tables["molecule"]:
        one["positions"] = (np.array(one["positions"]) + [0.0, 0.0, 7.0]).tolist()
        one["velocities"] = np.tile([0.5, 0.4, -2.0], (len(one["positions"]), 1)).tolist()
    speed = np.tile([0.5, 0.4, -2.0], (len(rows), 1))
    kind = {"name": "body", "kind": "rigid", "sites": CROSS.tolist(), "count": len(places), "diameter": 0.8}
    tables["molecule"].append(kind | {"positions": rows.tolist(), "velocities": speed.tolist()})
    tables["box"]["size"][2] = side + 9.0
    tables["initial"] = {"method": "explicit"}
    tables["propagator"] = {"tolerance": tolerance}
    tables["steps"] |= {"solver": solver, "step": step}
    return system_of(tables)


def test_impulses_are_in_their_cones_and_act_on_bodies_where_surfaces_touch(monkeypatch):
    """Of every contact of every step, from places, impulses and velocities alone."""
    seen, step = [], ClusterSolver.step

    def watched(solver, start, begin, bend):
        seen.append((solver, bend, step(solver, start, begin, bend)))
        return seen[-1][-1]

    monkeypatch.setattr(ClusterSolver, "step", watched)
    system = mixed(2, restitution=0.0)
    engine, loaded, slid = SteppedEngine(system), 0, 0
    for k in range(1, 201):
        seen.clear()
        engine.advance(round(0.01 * k, 2))
        for solver, bend, (velocity, spin, _, solved) in seen[-1:]:
            assert solved
            contacts, impulse = solver.pool, solver.contacts.impulse
            pool, geometry, n = contacts.pool, contacts.geometry, contacts.normal
            spin = spin.copy()
            for m in range(len(pool.molecules)):
                rows = slice(*pool.first[m : m + 2])
                if rows.stop - rows.start == 7:
                    assert np.all(spin[rows] == 0.0)
                    require_blows(solver, velocity, impulse, rows)
                    spin[rows] = spin_of(pool.position[rows], velocity[rows])
            wall, radius = geometry.wall[:, None], np.where(contacts.bodies.radius > 0.4, 0.5, 0.4)[:, None]
            turning = radius[geometry.one] * spin[geometry.one]
            turning = turning + np.where(wall, 0.0, radius[geometry.other] * spin[geometry.other])
            moving = velocity + bend
            u = moving[geometry.one] - np.where(wall, 0.0, moving[geometry.other]) - np.cross(turning, n)
            p_n, u_n = np.sum(impulse * n, axis=1), np.sum(u * n, axis=1)
            p_t, u_t = impulse - p_n[:, None] * n, u - u_n[:, None] * n
            slack = u_n + np.where(contacts.gap > 1e-9 * geometry.contact, contacts.gap, 0.0) / 0.01
            limit = 1e-10 * (np.abs(velocity).max() + np.abs(pool.velocity).max() + 0.03)
            assert p_n.min() >= -1e-14
            assert slack.min() >= -limit
            assert np.minimum(p_n, slack).max() <= limit
            assert (np.linalg.norm(p_t, axis=1) - 0.4 * p_n).max() <= limit
            slides = np.linalg.norm(u_t, axis=1) > 1e-6
            full = p_t + 0.4 * p_n[:, None] * u_t / np.maximum(np.linalg.norm(u_t, axis=1), 1e-300)[:, None]
            assert np.abs(full[slides]).max(initial=0.0) <= 1e-4
            loaded, slid = loaded + np.count_nonzero(p_n), slid + np.count_nonzero(slides & (p_n > 0.0))
    assert loaded > 500
    assert 20 < slid < loaded - 20


def require_blows(solver, velocity, impulse, rows):
    """Require of a body that momenta change by forces and by impulses at the surfaces of its beads."""
    contacts = solver.pool
    pool, geometry, n = contacts.pool, contacts.geometry, contacts.normal
    centre = pool.position[rows].mean(axis=0)
    change = velocity[rows] - pool.velocity[rows] - solver.settings.h * pool.force[rows]
    wanted = np.zeros((2, 3))
    for bead, sign in ((geometry.one, 1.0), (np.where(geometry.wall, -1, geometry.other), -1.0)):
        for c in np.flatnonzero((bead >= rows.start) & (bead < rows.stop)):
            at = pool.position[bead[c]] - sign * 0.4 * n[c] - centre
            wanted += sign * np.array([impulse[c], np.cross(at, impulse[c])])
    found = [change.sum(axis=0), np.cross(pool.position[rows] - centre, change).sum(axis=0)]
    assert np.array(found) == pytest.approx(wanted, abs=1e-11)


def energy(engine, system):
    """Return kinetic, turning and potential energy."""
    spins = engine.beads.own.extra[:, L.SPIN : L.SPIN + 3]
    moving = system.topology.whole().mass @ np.sum(engine.beads.own.velocity**2, axis=1)
    return 0.5 * (moving + system.topology.whole().moment @ np.sum(spins**2, axis=1)) + engine.energies()[:, 0].sum()


@pytest.mark.parametrize(
    "friction, restitution", [(0.4, 0.0), (0.4, 0.9), pytest.param(50.0, 0.0, marks=pytest.mark.long)]
)
def test_energy_of_bodies_grows_by_no_more_than_the_square_of_the_step(friction, restitution):
    grown = []
    for step in (0.01, 0.005):
        system = mixed(3, friction, restitution, step=step, tolerance=1e-9)
        engine = SteppedEngine(system)
        found = [energy(engine, system)]
        for k in range(1, 61):
            engine.advance(round(0.02 * k, 2))
            found.append(energy(engine, system))
        grown.append(np.diff(found).max() / found[0])
        assert engine.counters["contacts"] > 15
    assert grown[0] < 1e-5
    assert grown[1] < max(0.5 * grown[0], 1e-12)


def test_rounds_end_where_large_friction_leaves_several_solutions():
    """At 1.15 two of them took turns: sweeps went from where one round had ended to the other."""
    engine = SteppedEngine(mixed(1, 1e3, 0.0, tolerance=1e-8))
    engine.advance(1.2)
    assert engine.counters["contacts"] > 5


LONG = pytest.param("newton", 0.3, marks=pytest.mark.long)


@pytest.mark.parametrize("solver, restitution", [LONG, ("gauss-seidel", 0.0)])
def test_ranks_and_restarts_leave_no_trace(solver, restitution):
    system = mixed(1, 0.4, restitution, solver, tolerance=1e-9)
    require_no_trace(system)


def test_spins_and_moments_of_bodies_beads_are_refused():
    tables = {
        "box": {"size": [9.0] * 3},
        "molecule": [{"kind": "rigid", "sites": CROSS.tolist(), "count": 1, "moment": 0.1}],
        "initial": {"method": "file", "file": "start.h5"},
        "contact": {"friction": 0.5},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01, "integrator": "contact"},
        "output": {"frame_every": 1.0, "report_every": 1.0, "checkpoint_every": 1.0},
    }
    with pytest.raises(ConfigError, match=r"molecule\[0\].moment: beads of a rigid body turn with it"):
        config_of(tables)
