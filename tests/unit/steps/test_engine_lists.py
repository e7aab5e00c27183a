"""Steps in which beads move farther than lists look: lists grow, with the same bits on ranks; what cannot be is 78."""

import pytest

from hpcchain.errors import EXIT_CONFIG, StepError
from hpcchain.run.engines import stepped_engine
from tests.support.stepped import require_equal, run_on, system_of

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
    engine = stepped_engine(system.physics)(system, skin=3.5)
    engine.advance(1.0)
    assert engine.skin == 3.5


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_bead_that_moves_farther_than_lists_can_look_is_an_inputs_fault(ranks):
    kind = FAST["molecule"][0] | {"velocities": [[4.0, 0.0, 0.0]] * 2 + [[45.0, 0.0, 0.0], [4.0, 0.0, 0.0]]}
    with pytest.raises(
        StepError, match="at t 0 bead 2 moves 4.5 in a step of steps.step = 0.1, too far for the periodic side 10"
    ):
        run_on(fast(molecule=[kind], external={"gravity": [0.0] * 3}), 1.0, ranks)
    assert StepError.exit_code == EXIT_CONFIG
