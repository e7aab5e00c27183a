"""What is refused in files of runs."""

import numpy as np
import pytest

from hpcchain.model.sound import tick_problem


@pytest.mark.parametrize("tick", [0.015, 0.0, -0.5, np.inf, np.nan, 2.0**-400])
def test_ticks_are_powers_of_two(tick):
    assert "is not a power of two" in tick_problem(tick) and tick_problem(2.0**-8) is None
