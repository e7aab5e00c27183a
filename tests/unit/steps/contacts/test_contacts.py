"""Hard cores in steps: solvers, bits on ranks, energy, penetration, motion along a wall."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import EngineError
from hpcchain.layout import arrays as L
from hpcchain.steps.contacts import complementarity
from hpcchain.steps.contacts.complementarity import active_set, can_part, linear, newton, newton_steps, reflected
from hpcchain.steps.engine import SteppedEngine
from tests.support.stepped import on_lattice, require_equal, rigid, run_on, system_of


@pytest.mark.parametrize("contacts, unknowns", [(1, 3), (5, 9), (20, 30), (12, 8), (53, 42)])
def test_solvers_agree_on_random_problems(contacts, unknowns):
    """What is unique of a solution is what it does: the rates, also where impulses are not."""
    rng = np.random.default_rng(contacts)
    for _ in range(4):
        jacobian = rng.normal(size=(contacts, unknowns))
        matrix, offset = jacobian @ jacobian.T, jacobian @ rng.normal(size=unknowns)
        found = [matrix @ linear(matrix, offset, solver) + offset for solver in ("newton", "gauss-seidel")]
        assert np.abs(found[0] - found[1]).max() < 1e-12 * np.abs(offset).max()
        x = linear(matrix, offset)
        assert x.min() >= 0.0 and found[0].min() > -1e-12 * np.abs(offset).max()
        assert abs(x @ found[0]) < 1e-11 * np.abs(offset).max() * max(np.abs(x).max(), 1.0)


def contacts_of(rng, contacts, unknowns, sort):
    """Return the unit rows (contacts, unknowns) of random contacts, and velocities.

    "lattice": of few directions, many of them sums of others; "twice": each a second time; else of any direction.
    """
    if sort == "lattice":
        rows = rng.integers(-1, 2, size=(contacts, unknowns)).astype(float)
        rows[np.all(rows == 0.0, axis=1), 0] = 1.0
        velocity = rng.integers(-2, 3, size=unknowns).astype(float)
    else:
        rows, velocity = rng.normal(size=(contacts, unknowns)), rng.normal(size=unknowns)
        if sort == "twice":
            rows[contacts // 2 :] = rows[: contacts - contacts // 2]
    return rows / np.linalg.norm(rows, axis=1)[:, None], velocity


SORTS = ("any", "lattice", "twice")


def test_what_active_sets_have_solved_is_taken(monkeypatch):
    """However large impulses are, by which rounding grows: where Newton's method stalls nothing else is left."""
    monkeypatch.setattr(complementarity, "newton_steps", lambda *given: None)
    largest = 0.0
    for seed in range(60):
        rows, velocity = contacts_of(np.random.default_rng(seed), 40, 20, "any")
        matrix, offset = rows @ rows.T, rows @ velocity
        x = newton(lambda x, a=matrix, b=offset: a @ x + b, lambda _, a=matrix: a, np.zeros(40), 1e-13)
        assert x.min() >= 0.0 and (matrix @ x + offset).min() > -1e-13 * max(x.max(), 1.0)
        largest = max(largest, x.max())
    assert largest > 100.0


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("contacts, unknowns", [(6, 3), (12, 6), (24, 9), (40, 20)])
def test_all_solvers_find_the_same_rates_with_more_contacts_than_unknowns(contacts, unknowns, sort):
    """Active sets, and Newton's method with these where it stalls; sweeps where they end soon."""
    rng = np.random.default_rng(contacts)
    stalls = 0
    for _ in range(6):
        rows, velocity = contacts_of(rng, contacts, unknowns, sort)
        matrix, offset = rows @ rows.T, rows @ velocity
        found = [linear(matrix, offset), active_set(matrix, offset, 1e-13)]
        found += [linear(matrix, offset, "gauss-seidel")] if contacts == 6 else []
        # Newton's method alone, and what takes its place where the problem is not known to be linear
        given = (lambda x, a=matrix, b=offset: a @ x + b), lambda _, a=matrix: a
        stalls += newton_steps(*given, np.zeros(contacts), 1e-13) is None
        found.append(newton(*given, np.zeros(contacts), 1e-13))
        rates = [matrix @ x + offset for x in found]
        for x, w in zip(found, rates, strict=True):
            unit = max(np.abs(offset).max(), np.abs(x).max())  # of what is summed
            assert np.abs(w - rates[0]).max() < 1e-12 * unit
            assert x.min() >= 0.0 and w.min() > -1e-12 * unit and abs(x @ w) < 1e-11 * unit * max(np.abs(x).max(), 1.0)
    assert stalls < 6


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("moreau", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_reflections_without_loss_end_wherever_contacts_can_part(sort, moreau, own):
    """With more contacts than unknowns; where no motion lets all part, no reflection can keep the energy."""
    rng, ended, wedged = np.random.default_rng(5), 0, 0
    for contacts, unknowns in ((6, 3), (12, 6), (16, 8)):
        for _ in range(6):
            rows, velocity = contacts_of(rng, contacts, unknowns, sort)
            e = np.ones(contacts) if own else 1.0
            if not can_part(rows @ rows.T):
                wedged += 1
                if np.any(rows @ velocity < -1e-9):
                    with pytest.raises(EngineError, match="wedged in.*steps.step smaller"):
                        reflected(rows @ rows.T, rows @ velocity, e, moreau=moreau)
                continue
            ended += 1
            impulse, rates = reflected(rows @ rows.T, rows @ velocity, e, moreau=moreau)
            after = velocity + rows.T @ impulse
            assert after @ after == pytest.approx(velocity @ velocity, rel=1e-11)
            assert impulse.min() >= 0.0 and rates.min() > -1e-12 * np.abs(rows @ velocity).max()
    assert ended > 3 and (wedged > 2 or sort == "twice")


def test_contacts_can_part_where_half_spaces_have_a_common_inside():
    """Of n random half-spaces in d dimensions 2^(1 - n) sum_(k < d) (n - 1 over k) have (Wendel 1962)."""
    rng = np.random.default_rng(9)
    open_ones = [can_part(rows @ rows.T) for rows, _ in (contacts_of(rng, 6, 3, "any") for _ in range(400))]
    assert abs(np.mean(open_ones) - 0.5) < 4.0 * np.sqrt(0.25 / 400)


def test_reflections_keep_the_energy_and_end_all_approach():
    rng = np.random.default_rng(1)
    for contacts, unknowns in ((2, 4), (6, 5), (15, 12)):
        jacobian, velocity = rng.normal(size=(contacts, unknowns)), rng.normal(size=unknowns)
        impulse, rates = reflected(jacobian @ jacobian.T, jacobian @ velocity)
        after = velocity + jacobian.T @ impulse
        assert after @ after == pytest.approx(velocity @ velocity, rel=1e-12)
        assert rates.min() > -1e-12 and impulse.min() >= 0.0


def test_a_row_of_balls_passes_the_blow_on():
    """Generalised reflection: three equal balls, the first moving, the others touching: the last one leaves."""
    jacobian = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    velocity = np.array([1.0, 0.0, 0.0])
    impulse, _ = reflected(jacobian @ jacobian.T, jacobian @ velocity)
    assert velocity + jacobian.T @ impulse == pytest.approx([0.0, 0.0, 1.0], abs=1e-13)


def test_moreau_shares_the_blow_out():
    """Three equal balls that touch, the first moving: (-1/3, 2/3, 2/3), as of three at once."""
    jacobian = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    velocity = np.array([1.0, 0.0, 0.0])
    impulse, _ = reflected(jacobian @ jacobian.T, jacobian @ velocity, moreau=True)
    assert velocity + jacobian.T @ impulse == pytest.approx([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0], abs=1e-13)


def test_moreau_keeps_the_energy_and_ends_all_approach():
    rng = np.random.default_rng(2)
    for contacts, unknowns in ((2, 4), (6, 5), (15, 12)):
        jacobian, velocity = rng.normal(size=(contacts, unknowns)), rng.normal(size=unknowns)
        jacobian[0] -= velocity * (jacobian[0] @ velocity) / (velocity @ velocity)
        impulse, rates = reflected(jacobian @ jacobian.T, jacobian @ velocity, moreau=True)
        after = velocity + jacobian.T @ impulse
        assert after @ after == pytest.approx(velocity @ velocity, rel=1e-12)
        assert rates.min() > -1e-12 and impulse.min() >= 0.0


def three(rule, **steps):
    """Return the input of three balls in a row that touch, the first of them moving."""
    tables = gas(1, 3, contact={"simultaneous": rule}, steps={"step": 0.01} | steps)
    places = [[1.5, 3.0, 3.0], [2.5, 3.0, 3.0], [3.5, 3.0, 3.0]]
    tables["molecule"][0] |= {"positions": places, "velocities": [[1.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3]}
    return tables


@pytest.mark.parametrize(
    "rule, speeds",
    [("joint", [0.0, 0.0, 1.0]), ("generalised", [0.0, 0.0, 1.0]), ("moreau", [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0])],
)
@pytest.mark.parametrize("ranks", [1, 2])
def test_runs_reflect_as_the_input_says(rule, speeds, ranks):
    velocity = run_on(system_of(three(rule)), 0.05, ranks)[1]
    assert velocity[:, 0] == pytest.approx(speeds, abs=1e-12)


def gas(seed=1, count=60, side=6.0, **sections):
    """Return the input of hard spheres in a box that is periodic along x and z and has walls along y."""
    rng = np.random.default_rng(seed)
    spots = on_lattice(rng, side - 1.2, count, 0.05) + 0.6
    tables = {
        "box": {"size": [side] * 3, "boundary": ["periodic", "wall", "periodic"]},
        "molecule": [{"name": "A", "kind": "monomer", "count": count, "positions": spots.tolist()}],
        "initial": {"method": "explicit", "temperature": 1.0, "seed": seed},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01},
    }
    return tables | {name: tables.get(name, {}) | keys for name, keys in sections.items()}


def overlap(system, position, walls=True):
    """Return how deep beads are in one another, or in walls, at most."""
    apart = position[:, None] - position[None]
    periodic = system.box.boundary == 0
    apart -= np.where(periodic, system.box.size * np.rint(apart / system.box.size), 0.0)
    distance = np.sqrt(np.sum(apart**2, axis=2)) + 9.0 * np.eye(len(position))
    deep = 1.0 - distance.min()
    y = position[:, 1]
    return max(deep, 0.5 - y.min(), y.max() - system.box.size[1] + 0.5) if walls else deep


@pytest.mark.parametrize("ranks, predictions", [(2, 1), (3, 2)])
def test_ranks_leave_no_trace(ranks, predictions):
    system = system_of(gas(ranks, steps={"step": 0.01, "predictions": predictions}))
    alone = run_on(system, 0.6, 1)
    require_equal(alone, run_on(system, 0.6, ranks))
    assert not np.array_equal(alone[1], system.state.velocity)


def test_ranks_leave_no_trace_of_rigid_molecules():
    tables = rigid(3, count=4, pitch=3.3, potential=[], initial={"temperature": 25.0}, steps={"step": 0.002})
    for kind in tables["molecule"]:
        kind |= {"hard": True, "diameter": 0.7}
    system = system_of(tables)
    engine = SteppedEngine(system)
    engine.advance(0.6)
    assert engine.counters["contacts"] > 15
    begin, alone = run_on(system, 0.0, 1), run_on(system, 0.6, 1)
    require_equal(alone, run_on(system, 0.6, 3))
    middle = replace(system, state=run_on(system, 0.255, 2)[4])
    require_equal(alone, run_on(middle, 0.6, 1))
    assert np.abs(system.topology.whole().mass @ (alone[1] - begin[1])).max() < 1e-10


def test_the_energy_of_hard_spheres_is_kept_and_contacts_are_counted():
    system = system_of(gas(4))
    engine = SteppedEngine(system, log_events=True)
    engine.advance(2.0)
    velocity = engine.frame(2.0)[1]
    assert np.sum(velocity**2) == pytest.approx(np.sum(system.state.velocity**2), rel=1e-12)
    events, counters = engine.drain_events(), engine.counters
    assert len(events) == counters["contacts"] + counters["wall_contacts"] > 50
    assert np.count_nonzero(events["kind"]) == counters["wall_contacts"] > 5 and events["impulse"].min() > 0.0
    assert engine.sums[L.SUM_VIRIAL] > 0 and engine.sums[L.SUM_WALL_IMPULSE + 1] > 0 == engine.sums[L.SUM_WALL_IMPULSE]


def test_energy_is_lost_where_contacts_are_inelastic():
    system = system_of(gas(5, contact={"restitution": 0.8}))
    after = run_on(system, 1.0, 1)[1]
    assert np.sum(after**2) < 0.9 * np.sum(system.state.velocity**2)


def test_beads_get_no_deeper_than_a_step_and_not_at_all_with_further_predictions():
    for predictions in (1, 2):
        system = system_of(gas(6, steps={"step": 0.01, "predictions": predictions}))
        engine, deepest, fastest = SteppedEngine(system), 0.0, 0.0
        for k in range(1, 151):
            engine.advance(round(0.01 * k, 2))
            position, velocity, _ = engine.frame(engine.time)
            deepest = max(deepest, overlap(system, position))
            fastest = max(fastest, np.sqrt(np.sum(velocity**2, axis=1)).max())
        assert deepest < (2.0 * 2.0 * 0.01 * fastest if predictions == 1 else 1e-9)


@pytest.mark.parametrize("exclude", [1, 2])
def test_beads_that_few_bonds_join_have_no_contacts(exclude):
    """The ends of a bent trimer that closes: they bounce, or pass through each other when they are left out."""
    tables = gas(1, 1, steps={"step": 0.005})
    half = np.array([0.6, 0.8, 0.0])
    places = np.array([[3.0, 3.0, 3.0] - half * [1, 1, 0], [3.0, 3.0, 3.0], [3.0, 3.0, 3.0] + half * [1, -1, 0]])
    inwards = [[0.8, -0.6, 0.0], [0.0, 0.0, 0.0], [-0.8, -0.6, 0.0]]
    tables["molecule"] = [
        {
            "kind": "chain",
            "beads": 3,
            "count": 1,
            "exclude": exclude,
            "positions": places.tolist(),
            "velocities": inwards,
        }
    ]
    engine, least = SteppedEngine(system_of(tables)), 9.0
    for k in range(1, 121):
        engine.advance(round(0.005 * k, 3))
        ends = engine.beads.position[[0, 2]]
        least = min(least, np.linalg.norm(ends[1] - ends[0]))
    assert engine.counters["contacts"] == (1 if exclude == 1 else 0)
    assert least > 0.97 if exclude == 1 else least < 0.5


def test_a_bead_slides_on_the_floor_smoothly():
    """dsi: pressed to the floor it stays there to round-off, and keeps its speed along it."""
    tables = gas(7, 1, steps={"step": 0.01, "integrator": "dsi"}, external={"gravity": [0.0, -5.0, 0.0]})
    tables["molecule"][0] |= {"positions": [[3.0, 0.5, 3.0]], "velocities": [[1.0, 0.0, 0.5]]}
    system = system_of(tables)
    position, velocity, image, *_ = run_on(system, 5.0, 1)
    assert abs(position[0, 1] - 0.5) < 1e-12 and np.abs(velocity[0] - [1.0, 0.0, 0.5]).max() < 1e-12


def test_a_bouncing_bead_keeps_its_energy_within_a_band():
    tables = gas(8, 1, external={"gravity": [0.0, -5.0, 0.0]})
    tables["molecule"][0] |= {"positions": [[3.0, 2.0, 3.0]], "velocities": [[0.0, 0.0, 0.0]]}
    engine, energies = SteppedEngine(system_of(tables)), []
    for k in range(1, 101):
        engine.advance(0.5 * k)
        _, velocity, _ = engine.frame(engine.time)
        energies.append(0.5 * np.sum(velocity**2) + engine.energies()[:, 0].sum())
    assert np.ptp(energies) < 0.01 * 10.0 and engine.counters["wall_contacts"] > 30


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_bead_that_a_contact_throws_far_is_listed_again(ranks):
    """A light bead hit by a heavy one moves farther in the step than predicted, into the reach of another."""
    places = [[1.0, 4.0, 4.0], [1.95, 4.0, 4.0], [4.26, 4.0, 4.0]]
    velocities = [[14.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-14.0, 0.0, 0.0]]
    kinds = [
        {
            "name": name,
            "kind": "monomer",
            "count": 1,
            "diameter": 0.9,
            "mass": mass,
            "positions": [place],
            "velocities": [velocity],
        }
        for name, mass, place, velocity in zip("ABC", (1000.0, 1.0, 1.0), places, velocities, strict=True)
    ]
    tables = {
        "box": {"size": [8.0] * 3},
        "molecule": kinds,
        "potential": [{"name": "lennard-jones", "epsilon": 0.1, "sigma": 1.0, "cutoff": 2.0}],
        "initial": {"method": "explicit", "seed": 2},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01},
    }
    system = system_of(tables)
    wide, narrow = run_on(system, 0.01, 1, skin=1.5), run_on(system, 0.01, ranks, skin=0.3)
    assert abs(wide[1][1, 0]) > 20.0
    require_equal(wide, narrow)
