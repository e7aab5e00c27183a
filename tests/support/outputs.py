"""What runs have put out, read whole."""

from contextlib import contextmanager

import numpy as np

from hpcchain.io.output.events import EVENT
from hpcchain.io.output.run_output import event_tables, open_frames, read_reports, run_output


def read_events(path):
    """Return all events of an event log as one table."""
    tables = list(event_tables(run_output(path)))
    return np.concatenate(tables) if tables else np.empty(0, EVENT)


def read_observables(path):
    """Return every observable of an observables.h5: name -> (step, time, value)."""
    return read_reports(run_output(path))


@contextmanager
def frames_in(path):
    """Yield the Frames of a trajectory.h5."""
    with open_frames(run_output(path)) as frames:
        yield frames
