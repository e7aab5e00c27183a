"""What a run says at its end, and what the warm-up keeps to itself."""

import logging

import pytest

from hpcchain import api
from hpcchain.parallel.comm import Single

INPUT = """
[box]
size = [6, 6, 6]
[[molecule]]
kind = "monomer"
count = 40
[run]
end_time = {end}
[output]
report_every = 0.01
events = {events}
"""


@pytest.fixture
def said(tmp_path, caplog):
    """Return a function that runs the input and returns what was said."""
    caplog.set_level(logging.INFO)

    def run(end=0.5, events="false"):
        (tmp_path / "in.toml").write_text(INPUT.format(end=end, events=events))
        api.run(tmp_path / "in.toml", output=tmp_path / "out", comm=Single())
        return [record.getMessage() for record in caplog.records]

    return run


def test_a_run_ends_with_its_speed_its_results_and_what_comes_next(said, tmp_path):
    lines = said()
    at = next(i for i, line in enumerate(lines) if line.startswith("done at t 0.5: "))
    assert "contacts/s, " in lines[at + 1] and "beads × time/s" in lines[at + 1]
    folder = tmp_path / "out"
    assert lines[at + 2] == f"results: {folder} (trajectory.h5, observables.h5); next: hpcchain analyze {folder}"


def test_results_name_the_events_where_they_are_logged(said):
    assert any("observables.h5, events.h5)" in line for line in said(events="true"))


def test_many_reports_make_few_lines(said):
    lines = said(end=1.0)
    assert sum("events/s" in line for line in lines) <= 1


def test_the_warm_up_says_no_done(caplog):
    caplog.set_level(logging.INFO)
    with api.quiet():
        logging.getLogger("hpcchain.run").info("done at t 1")
        logging.getLogger("hpcchain.run").warning("heed this")
        logging.getLogger("hpcchain.compiling").info("compiling for this machine")
    assert [record.getMessage() for record in caplog.records] == ["heed this", "compiling for this machine"]
    logging.getLogger("hpcchain.run").info("heard again")
    assert caplog.records[-1].getMessage() == "heard again"
