"""A start may have zeros with a sign: neither ranks nor which bead is which in a contact show in them."""

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.model.starts.start import build_system
from tests.support.identity import parallel, require_same, serial


@pytest.mark.parametrize("ranks", [2, 3])
def test_zeros_with_a_sign_leave_no_trace(ranks):
    """Discs in a plane: an impulse without a part across it is added to one bead and taken from the other."""
    rng = np.random.default_rng(4)
    places = np.stack(np.meshgrid(np.arange(6), np.arange(6), [2.0]), axis=-1).reshape(-1, 3) * [1.6, 1.6, 1.0] + 0.8
    speeds = np.column_stack([rng.normal(size=(36, 2)), np.full(36, -0.0)])
    table = {
        "box": {"size": [9.6, 9.6, 4.0]},
        "molecule": [{"kind": "monomer", "count": 36, "positions": places.tolist(), "velocities": speeds.tolist()}],
        "run": {"end_time": 3.0},
    }
    system = build_system(config_from_table(table, "in"))
    assert not np.signbit(system.state.velocity[:, 2]).any()
    one = serial(system, 3.0)
    assert len(one.events) > 50
    require_same(one, parallel(system, 3.0, ranks, window=0.2, times=[1.0, 2.0]), f"{ranks} ranks")
