"""Ranks that sleep take part in files, whatever the beads of the others have besides places and velocities."""

import pytest

from tests.support.run_folders import EVERY, command, difference, resume_here, run_here, write_input

TABLES = {
    "box": {"size": [9.0, 9.0, 9.0]},
    "run": {"end_time": 0.4, "sectors": [2, 1, 1]},
    "output": {"events": True, "frame_every": 0.1, "report_every": 0.1, "checkpoint_every": 0.2},
}
LAWS = {
    "spins": {
        "molecule": [{"kind": "monomer", "count": 60, "directors": True}],
        "contact": {"tangential_restitution": 0.4},
    },
    "more within a step than tables begin with": {
        "molecule": [{"kind": "monomer", "count": 420}],
        "potential": [{"name": "steps", "types": ["A", "A"], "distances": [2.2], "energies": [-0.3]}],
    },
    "draws": {
        "molecule": [{"kind": "chain", "beads": 5, "count": 20}],
        "thermostat": {"name": "andersen", "temperature": 1.0, "rate": 2.0},
    },
}


@pytest.mark.parametrize(
    "law", ["spins", "more within a step than tables begin with", pytest.param("draws", marks=pytest.mark.long)]
)
def test_files_are_those_of_one_rank(tmp_path, law):
    path = write_input(tmp_path / "in.toml", TABLES | LAWS[law])
    alone = run_here(path, tmp_path / "a")
    said = command(["run", path, "--output", tmp_path / "b", "--until", 0.2], tmp_path, ranks=3)
    assert "2 of 3 ranks have" in said
    resume_here(tmp_path / "b", until=0.4)
    assert difference(alone, tmp_path / "b", EVERY) is None
    resume_here(alone, until=0.5)
    command(["resume", tmp_path / "b", "--until", 0.5], tmp_path, ranks=3)
    assert difference(alone, tmp_path / "b", EVERY) is None
