"""Small ensembles: inputs whose starts need not grow, and what their tables say."""

from hpcchain.io.output.runs import read_runs
from tests.support.run_folders import write_input

PLACES = [[float(x), float(y), float(z)] for x in (1, 3, 5) for y in (1, 3, 5) for z in (1, 3, 5)]


def tables(end=1.0, **sections):
    """Return the input of 27 single beads on a grid; seeds draw their velocities, and beads wider than 2 overlap."""
    beads = {"name": "M", "kind": "monomer", "count": len(PLACES), "positions": PLACES}
    return {
        "box": {"size": [8.0, 8.0, 8.0]},
        "molecule": [beads],
        "initial": {"method": "explicit", "seed": 1},
        "run": {"end_time": end, "sectors": "auto"},
        "output": {"frame_every": 0.25, "report_every": 0.25, "checkpoint_every": 0.5, "events": True},
    } | sections


def write(path, end=1.0, **sections):
    """Write such an input; return its path."""
    return write_input(path, tables(end, **sections))


def states(folder):
    """Return run -> state of an ensemble's table."""
    return {row.run: row.state for row in read_runs(folder)}
