"""Templates with wells and with stiff chains: stopped and resumed on other numbers of ranks, they are one run."""

import pytest

from tests.support.launching import run_hpcchain
from tests.support.outputs import read_events
from tests.support.run_folders import command, leftovers

SMALL = {
    "droplet": ["molecule.0.count=60", "run.end_time=4.0"],
    "stiff": ["molecule.0.count=8", "run.end_time=2.0"],
    "droplet on a wall": [
        "molecule.0.count=60",
        "run.end_time=4.0",
        'box.boundary=["periodic", "periodic", "wall"]',
        "external.gravity=[0.0, 0.0, -0.3]",
        'wall=[{side = "z-", temperature = 0.8}, {side = "z+", velocity = 0.02}]',
        'thermostat={name = "andersen", temperature = 0.8, rate = 0.2}',
    ],
}
"""What makes the templates small, and what may be added to one."""
OUTPUT = ["output.frame_every=0.5", "output.report_every=0.25", "output.checkpoint_every=0.7", "output.events=true"]
KINDS = {"droplet": {0, 2, 3}, "stiff": {0, 5}, "droplet on a wall": {0, 1, 2, 3, 6}}


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_stops_and_other_ranks_leave_no_trace(tmp_path, name):
    """In one piece on one rank; begun on one and ended on two; begun on two, gone on with on one and on two."""
    path = tmp_path / "in.toml"
    path.write_text(run_hpcchain(["template", name.split()[0]], tmp_path).stdout, encoding="utf-8")
    settings = [word for one in SMALL[name] + OUTPUT + ['run.sectors="all"'] for word in ("--set", one)]
    command(["run", "in.toml", "--output", "whole", *settings], tmp_path)
    for folder, ranks in (("a", (1, 2)), ("b", (2, 1, 2))):
        stops = ["0.9030001", "1.3"][: len(ranks) - 1]
        command(["run", "in.toml", "--output", folder, *settings, "--until", stops[0]], tmp_path, ranks=ranks[0])
        for count, until in zip(ranks[1:], [*stops[1:], SMALL[name][1].split("=")[1]], strict=True):
            command(["resume", folder, "--until", until], tmp_path, ranks=count)
        command(["compare", "whole", folder], tmp_path)
        assert leftovers(tmp_path / folder) == []
    events = read_events(tmp_path / "whole" / "events.h5")
    assert set(events["kind"].tolist()) >= KINDS[name] and len(events) > 150
