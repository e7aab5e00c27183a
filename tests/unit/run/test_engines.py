"""Which engine is made, and with what."""

import logging
import sys
from types import SimpleNamespace

import pytest

from hpcchain.parallel.comm import Single
from hpcchain.run import engines
from hpcchain.run.engines import engine_for, warn_of_ranks
from tests.support.replicated import SEAM, stand_in

FOUR = SimpleNamespace(size=4)
FOUR.exchange = FOUR  # what the engine talks through
SYSTEM = SimpleNamespace(physics=SimpleNamespace(steps={}))


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    """Both engines only note how they are made."""
    monkeypatch.setattr(engines, "Engine", lambda *given, **options: ("serial", given, options))
    monkeypatch.setitem(sys.modules, SEAM, stand_in(lambda *given, **options: ("windows", given, options)))


def config(events=True, **run):
    """Return the part of an input that decides the engine."""
    settings = dict.fromkeys(("window", "sectors", "cell_size", "list_shell"), "auto") | run
    return SimpleNamespace(run=SimpleNamespace(**settings), output=SimpleNamespace(events=events))


def test_one_rank_has_the_serial_engine():
    kind, given, options = engine_for(SYSTEM, config(list_shell=0.3, window=2.0), Single())
    assert (kind, given) == ("serial", (SYSTEM,))
    assert options == {"log_events": True, "shell": 0.3, "cell": None, "growth": (1.0, 0.0)}


def test_several_ranks_have_the_engine_with_windows():
    kind, given, options = engine_for(SYSTEM, config(False, window=0.5, sectors=[2, 2, 1], cell_size=3.0), FOUR)
    assert (kind, given) == ("windows", (SYSTEM, FOUR))
    assert options == {
        "log_events": False,
        "shell": None,
        "cell": 3.0,
        "growth": (1.0, 0.0),
        "window": 0.5,
        "sectors": [2, 2, 1],
    }


def test_while_a_start_grows_contacts_are_not_logged():
    for ranks in (Single(), FOUR):
        options = engine_for(SYSTEM, config(), ranks, growth=(0.4, 0.1))[2]
        assert (options["growth"], options["log_events"]) == ((0.4, 0.1), False)


def test_sectors_for_another_number_of_ranks_are_not_taken(caplog):
    """That is said once, by one rank, and not whenever an engine is made."""
    assert engine_for(SYSTEM, config(sectors=[3, 1, 1]), FOUR)[2]["sectors"] is None
    assert not caplog.records
    for rank in range(4):
        engines.warn_of_sectors([3, 1, 1], SimpleNamespace(rank=rank, size=4))
    for fine in ("auto", [2, 1, 2]):
        engines.warn_of_sectors(fine, SimpleNamespace(rank=0, size=4))
    assert [(r.levelno, r.message.split(";")[0]) for r in caplog.records] == [
        (logging.WARNING, "run.sectors = [3, 1, 1] does not fit 4 ranks")
    ]


def test_steps_have_their_own_engine(monkeypatch):
    found = []
    seam = SimpleNamespace(SteppedEngine=lambda *given: found.append(given))
    monkeypatch.setitem(sys.modules, "hpcchain.steps.engine", seam)
    stepped = SimpleNamespace(physics=SimpleNamespace(steps={"step": 0.1}))
    engine_for(stepped, config(list_shell=0.3, sectors=[2, 2, 1]), FOUR)
    engine_for(stepped, config(sectors=[2, 2, 1]), Single())
    assert found == [(stepped, FOUR, 0.3, [2, 2, 1], True), (stepped, None, None, None, True)]
    assert engine_for(stepped, config(), Single(), growth=(0.4, 0.1))[0] == "serial"


@pytest.mark.parametrize(
    ("size", "beads", "said"), [(1, 10, False), (2, 2000, False), (2, 1999, True), (8, 3000, True)]
)
def test_ranks_that_outnumber_the_work_are_told_of_once(caplog, size, beads, said):
    warn_of_ranks(beads, SimpleNamespace(rank=0, size=size))
    warn_of_ranks(beads, SimpleNamespace(rank=1, size=size))
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == said
    if size == 8:
        assert (
            lines[0].startswith("8 ranks outnumber the work: 3000 beads are 375 for each")
            and "3 ranks would" in lines[0]
        )
