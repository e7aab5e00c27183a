"""Fixed beads: closed forms, energies, degrees of freedom; chains that hang on one keep energy and bonds."""

import h5py
import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.starts.constraints import degrees_of_freedom
from hpcchain.sector.serial import Engine
from tests.physics.test_moving_walls import ball, energy, run
from tests.support.identity import given, parallel, require_same, serial
from tests.support.run_folders import log_rows, run_here, write_input
from tests.support.whole import frame_of

GRAFTED = {
    "kind": "chain",
    "beads": 5,
    "count": 2,
    "fixed": [0],
    "positions": [[x, x, 0.5 + z] for x in (3.0, 6.0) for z in range(5)],
}
OBSTACLES = {"kind": "monomer", "count": 2, "fixed": [0], "positions": [[3.0, 6.0, 3.0], [6.0, 3.0, 3.0]]}
FREE = {"kind": "monomer", "count": 3, "positions": [[1.5, 1.5, 1.5], [8.0, 8.0, 8.0], [1.5, 8.0, 8.0]]}
ON_A_PIN = {"kind": "chain", "beads": 2, "fixed": [1], "positions": [[8.0, 2.0, 2.0], [8.0, 2.0, 3.0]]}


def free_energy(engine, velocity):
    """Return the kinetic energy of what is not fixed."""
    mass = np.where(engine.system.topology.whole().fixed, 0.0, engine.system.topology.whole().mass)
    return float(0.5 * mass @ np.sum(velocity**2, axis=1))


def test_a_moving_obstacle_adds_twice_its_speed():
    """A ball of speed 1 meets one that comes at 0.5: at time 2, and leaves at 2; the work is what it gains."""
    moving = ball([5.0, 5.0, 5.0], [0.0, 0.0, 0.5], fixed=[0], fixed_velocity=[0.0, 0.0, 0.5])
    engine, events = run(3.0, molecule=[ball([5.0, 5.0, 9.0], [0.0, 0.0, -1.0]), moving])
    assert events["time"] == pytest.approx([2.0], abs=1e-14) and events["impulse"] == pytest.approx([3.0], abs=1e-14)
    assert frame_of(engine, 3.0)[1][:, 2] == pytest.approx([2.0, 0.5], abs=1e-14)
    assert engine.sums[L.SUM_WORK] * engine.energy_quantum == pytest.approx(1.5, abs=1e-11)


def test_chains_on_fixed_beads_keep_energy_and_bonds():
    """Grafts, a dimer that turns about a pin, obstacles and free beads: nothing fixed moves, nothing is lost."""
    engine, events = run(10.0, molecule=[GRAFTED, OBSTACLES, FREE, ON_A_PIN])
    state, fixed = engine.system.state, engine.system.topology.whole().fixed
    position, velocity, _ = frame_of(engine, 10.0)
    assert len(events) > 20 and fixed.sum() == 5 and np.any(np.isin(events["bead"], np.flatnonzero(fixed)))
    assert np.array_equal(position[fixed], state.position[fixed]) and not velocity[fixed].any()
    assert free_energy(engine, velocity) == pytest.approx(free_energy(engine, state.velocity), rel=1e-12)
    for first, last in ((0, 4), (5, 9), (15, 16)):
        bonds = np.linalg.norm(np.diff(position[first : last + 1], axis=0), axis=1)
        assert np.max(np.abs(bonds - 1.0)) < 1e-13
    walls = events[events["kind"] == 1]
    assert not np.isin(walls["bead"][:, 0], np.flatnonzero(fixed)).any()


def test_fixed_beads_count_no_degrees_of_freedom():
    """Twelve free beads with nine bonds have 27, the momentum among them; drawn velocities have the temperature."""
    engine, _ = run(
        0.1, molecule=[GRAFTED, OBSTACLES, FREE, ON_A_PIN], initial={"method": "explicit", "temperature": 1.5}
    )
    topology, state = engine.system.topology.whole(), engine.system.state
    assert degrees_of_freedom(topology, state.position) == 3 * (8 + 3 + 1) - 9
    assert 2.0 * free_energy(engine, state.velocity) / 27 == pytest.approx(1.5, rel=1e-13)


def test_what_falls_meets_a_fixed_bead_on_a_parabola():
    """Two balls dropped past obstacles by 0.2 and 0.1: contacts where the distance is 1, energy kept."""
    drop = {
        "kind": "monomer",
        "count": 2,
        "positions": [[5.2, 5.0, 8.0], [3.0, 3.1, 8.0]],
        "velocities": [[0.0] * 3] * 2,
    }
    below = {
        "kind": "monomer",
        "count": 2,
        "positions": [[5.0, 5.0, 4.0], [3.0, 3.0, 3.0]],
        "fixed": [0],
        "velocities": [[0.0] * 3] * 2,
    }
    engine, events = run(6.0, molecule=[drop, below], external={"gravity": [0.0, 0.0, -1.0]})
    heights = np.array([4.0 - np.sqrt(1.0 - 0.04), 5.0 - np.sqrt(1.0 - 0.01)])
    assert events["bead"][:2].tolist() == [[0, 2], [1, 3]]
    assert np.max(np.abs(events["time"][:2] - np.sqrt(2.0 * heights))) < 1e-13
    now = energy(engine, frame_of(engine, 6.0), (0.0, 0.0, -1.0))
    assert now == pytest.approx(16.0 + 7.0, abs=1e-12)
    assert isinstance(engine, Engine)


AROUND = {
    "box": {"size": [10.0] * 3, "boundary": ["periodic", "wall", "wall"]},
    "external": {"gravity": [1.0, 0.0, 0.0]},
}


@pytest.mark.parametrize("places", [[[1.0, 5.0, 5.0]], [[0.0, 5.0, 5.0], [1.0, 5.0, 5.0]]])
def test_what_has_fallen_by_more_than_half_the_box_meets_a_fixed_bead(places):
    """A ball, or a dimer that flies as one, falls along a periodic axis to where its distance from a bead is 1."""
    falls = {"kind": "chain", "beads": 2} if len(places) > 1 else {"kind": "monomer"}
    falls |= {"positions": places, "velocities": [[0.0] * 3] * len(places)}
    still = {"fixed": [0], "kind": "monomer", "positions": [[8.0, 5.2, 5.0]], "velocities": [[0.0] * 3]}
    _, events = run(5.0, molecule=[falls, still], **AROUND)
    assert events["bead"][0].tolist() == [len(places) - 1, len(places)]
    assert events["time"][0] == pytest.approx(np.sqrt(2.0 * (7.0 - np.sqrt(1.0 - 0.04))), abs=1e-13)


def test_ranks_know_where_fixed_beads_are_however_long_others_have_fallen():
    """Beads that fall around the box among fixed ones: two ranks have the bits of one."""
    places = np.stack(np.meshgrid([1.5, 4.0, 6.5, 9.0], [2.0, 5.0, 8.0], [2.0, 5.0, 8.0], indexing="ij"), -1)
    still = {"fixed": [0], "kind": "monomer", "count": 18, "positions": places[1::2].reshape(-1, 3).tolist()}
    falls = {"kind": "monomer", "count": 18, "positions": places[::2].reshape(-1, 3).tolist()}
    tables = AROUND | {"molecule": [falls, still], "initial": {"method": "explicit"}, "run": {"end_time": 12.0}}
    system = given(tables)
    require_same(serial(system, 12.0), parallel(system, 12.0, 2), "two ranks")


def test_a_grown_obstacle_moves_and_reports_count_its_work(tmp_path):
    """The energy that moving obstacles bring in is work, so the error that reports give stays that of round-off."""
    tables = {
        "box": {"size": [6.0, 6.0, 6.0]},
        "molecule": [
            {"kind": "monomer", "count": 4, "fixed": [0], "fixed_velocity": [0.0, 0.0, 0.5]},
            {"kind": "monomer", "count": 30},
        ],
        "run": {"end_time": 3.0},
        "output": {"frame_every": 3.0, "report_every": 1.0, "checkpoint_every": 1.5},
    }
    folder = run_here(write_input(tmp_path / "in.toml", tables), tmp_path / "a")
    with h5py.File(folder / "trajectory.h5") as file, h5py.File(folder / "observables.h5") as found:
        velocity, work = file["particles/trajectory/velocity/value"][:], found["work/value"][:]
    assert np.array_equal(velocity[:, :4], np.broadcast_to([0.0, 0.0, 0.5], (len(velocity), 4, 3)))
    assert abs(work[-1]) > 0.1 and max(abs(row["energy_error"]) for row in log_rows(folder)) < 1e-12
