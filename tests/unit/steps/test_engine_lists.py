"""Steps in which beads move farther than lists look: lists grow, with the same bits on ranks; what cannot be is 78."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import EXIT_CONFIG, StepError
from hpcchain.model.system import State
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.steps.engine import SteppedEngine
from tests.support.stepped import liquid, on_lattice, require_equal, run_on, system_of

FAST = {
    "box": {"size": [10.0, 10.0, 10.0], "boundary": ["periodic", "periodic", "wall"]},
    "molecule": [
        {
            "name": "A",
            "kind": "monomer",
            "count": 4,
            "positions": [[5.0, 5.0, 8.0], [7.0, 5.0, 2.0], [2.0, 5.2, 5.0], [8.5, 5.2, 5.0]],
            "velocities": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [11.0, 0.0, 4.0], [-9.0, 0.3, 4.0]],
        }
    ],
    "initial": {"method": "explicit"},
    "external": {"gravity": [0.0, 0.0, -10.0]},
    "run": {"engine": "steps", "end_time": 2.0},
    "steps": {"step": 0.1},
}
STEPS = [
    {},
    {"predictions": 2},
    {"base": "midpoint"},
    {"integrator": "dsi"},
    {"integrator": "contact"},
]


def fast(steps=None, **sections):
    """Return the System of four beads in a box, with other keys of steps or other sections."""
    tables = FAST | sections
    return system_of(tables | {"steps": tables["steps"] | (steps or {})})


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: "-".join(map(str, steps.values())) or "gvi")
def test_beads_move_farther_in_a_step_than_lists_look(steps):
    system = fast(steps)
    wide = run_on(system, 2.0, 1, skin=3.5)
    for ranks, skin in ((1, None), (2, None), (3, 0.3)):
        require_equal(wide, run_on(system, 2.0, ranks, skin=skin))


@pytest.mark.parametrize("steps", [{"predictions": 2}, {"integrator": "contact"}])
def test_beads_that_contacts_throw_beyond_the_lists_meet_others_there(steps):
    """A light bead between a heavy one, which strikes it, and one that comes: seen in one step by wide lists alone."""
    kinds = [
        {"name": f"A{k}", "kind": "monomer", "mass": mass, "positions": [[x, 5.0, 5.0]], "velocities": [[v, 0.0, 0.0]]}
        for k, (mass, x, v) in enumerate(((100.0, 2.0, 1.9), (1.0, 3.01, 0.0), (1.0, 4.46, -1.9)))
    ]
    system = fast(steps, molecule=kinds, external={"gravity": [0.0] * 3}, contact={"restitution": 0.9})
    wide = run_on(system, 0.1, 1, skin=3.5)
    assert wide[1][2, 0] > 0.0  # the third bead is met
    for ranks in (1, 2):
        require_equal(wide, run_on(system, 0.1, ranks, skin=0.4))


def test_lists_stay_as_they_are_where_beads_move_less():
    system = fast()
    engine = SteppedEngine(system, skin=3.5)
    engine.advance(1.0)
    assert engine.beads.skin.width == 3.5


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_bead_that_moves_farther_than_lists_can_look_is_an_inputs_fault(ranks):
    system = fast(external={"gravity": [0.0] * 3})  # an input with such a start is refused
    system.state.velocity[:] = [[0.0] * 3, [-44.0, 0.0, 0.0], [46.0, 0.0, 0.0], [0.0] * 3]
    with pytest.raises(
        StepError, match=r"at t 0 bead [12] moves 4.5 besides what all do in a step of steps.step = 0.1, "
    ):
        run_on(system, 1.0, ranks)
    assert StepError.exit_code == EXIT_CONFIG


def rebuilds(system, end, ranks=1, **options):
    """Return how often lists are made on ranks until a time, the same on all of them."""

    def run(comm):
        engine = SteppedEngine(system, comm, **options)
        engine.advance(end)
        return engine.beads.rebuilds

    found = [run(None)] if ranks == 1 else on_ranks(ranks, run)
    assert len(set(found)) == 1
    return found[0]


@pytest.mark.parametrize("steps", [{}, {"base": "midpoint"}])
def test_lists_move_with_a_common_speed(steps):
    rest = system_of(liquid(4, steps={"step": 0.005} | steps))
    state = State.at_time_zero(rest.state.position, rest.state.velocity + [150.0, -90.0, 220.0])
    fast = replace(rest, state=state)
    for ranks in (1, 2):
        assert 3 < rebuilds(rest, 0.4, ranks) and rebuilds(fast, 0.4, ranks) <= 1.5 * rebuilds(rest, 0.4, ranks)
    one = run_on(fast, 0.4, 1)
    for ranks in (2, 3):
        require_equal(one, run_on(fast, 0.4, ranks))
    apart = one[1] - run_on(rest, 0.4, 1)[1] - [150.0, -90.0, 220.0]
    assert np.abs(apart).max() < 1e-6


def dilute(part):
    """Return the System of sixty hard beads in a part of the edges of a box of 60."""
    rng = np.random.default_rng(5)
    beads = [{"name": "A", "kind": "monomer", "count": 60, "positions": on_lattice(rng, 60.0 * part, 60, 0.1).tolist()}]
    return system_of(
        {
            "box": {"size": [60.0] * 3},
            "molecule": beads,
            "initial": {"method": "explicit", "temperature": 1.0, "seed": 2},
            "run": {"engine": "steps", "end_time": 20.0},
            "steps": {"step": 0.05},
        }
    )


def test_lists_of_dilute_systems_look_as_far_as_beads_are_apart():
    system = dilute(1.0)
    assert rebuilds(system, 10.0) < 0.2 * rebuilds(system, 10.0, skin=0.35)
    require_equal(run_on(system, 10.0, 1, skin=0.35), run_on(system, 10.0, 1))
    require_equal(run_on(system, 10.0, 1), run_on(system, 10.0, 2))


def test_lists_of_a_crowd_in_a_wide_box_look_as_far_as_suits_the_crowd():
    engine = SteppedEngine(dilute(0.1))
    assert engine.beads.skin.width < 2.0
    engine.advance(20.0)  # beads have parted by then, and lists follow
    assert engine.beads.skin.width > 4.0
