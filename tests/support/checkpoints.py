"""Checkpoints of systems that no input makes: their states come back, all else is given."""

from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import numpy as np

from hpcchain.io.checkpoint import checkpoint
from hpcchain.model.system import State

NO_INPUT = SimpleNamespace(
    beads=0, molecules=(), initial=SimpleNamespace(method="file"), is_rough=True, to_toml=lambda: ""
)
"""Stands in for the input."""


def through_file(path, system, time):
    """Return a system of which the state has been in a checkpoint at a time."""
    checkpoint.write_checkpoint(path, None, system, time, {}, NO_INPUT)
    empty = replace(system, state=State.at_time_zero(*np.zeros((2, 0, 3))), directors=None)
    with mock.patch.object(checkpoint, "system_in", lambda file, comm: (NO_INPUT, empty)):
        found = checkpoint.read_checkpoint(path).system
    return replace(system, state=found.state)
