"""Which engine is made, and with what."""

import logging
import sys
from dataclasses import dataclass, replace
from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest

from hpcchain.machine import processors_allowed
from hpcchain.model.physics.constants import ExtendedPhysics, SteppedPhysics, StepPotential
from hpcchain.parallel.comm import Single
from hpcchain.parallel.tuning.active_ranks import NoMolecules
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.run import engines
from hpcchain.run.engines import engine_for
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.replicated import SEAM, ReplicatedEngine, stand_in


@dataclass
class Settings:
    window: Any = "auto"
    sectors: Any = "auto"
    cell_size: Any = "auto"
    list_shell: Any = "auto"
    threads: Any = 1


@dataclass
class Part:
    run: Settings
    output: Any


SMALL = gas(MIXTURE[:6])
FOUR = SimpleNamespace(size=4, started=4, rank=0, sharing=1, on_node=lambda value: [value])
FOUR.exchange = FOUR  # what engines talk through
HELPED = Engine(gas(["dimer"] * 4, 1)).sector


def replace_in(comm, **other):
    """Return ranks like others but for some attributes."""
    return SimpleNamespace(**vars(comm) | other)


SYSTEM = SMALL


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    """Both engines only note how they are made."""
    monkeypatch.setattr(engines, "Engine", lambda *given, **options: ("serial", given, options))
    monkeypatch.setitem(sys.modules, SEAM, stand_in(lambda *given, **options: ("windows", given, options)))


def config(events=True, **run):
    """Return the part of an input that decides the engine."""
    return Part(Settings(**run), SimpleNamespace(events=events))


def test_one_rank_has_the_serial_engine():
    kind, given, options = engine_for(SYSTEM, config(list_shell=0.3, window=2.0), Single())
    assert (kind, given) == ("serial", (SYSTEM,))
    assert options == {"log_events": True, "shell": 0.3, "cell": None, "growth": (1.0, 0.0), "threads": 1}


@pytest.mark.parametrize(
    ("asked", "cores", "had"), [(1, 2, 1), (2, 2, 2), (2, 1, 1), (2, 64, 2), ("auto", 1, 1), ("auto", 2, "auto")]
)
@pytest.mark.parametrize("sharing", [1, 3])
@pytest.mark.parametrize("ranks", [1, 4])
def test_a_second_thread_needs_a_second_core(monkeypatch, caplog, asked, cores, had, sharing, ranks):
    """Of those that a rank may use as many others compute on as share them: of other runs, or of this one."""
    shared = max(sharing, ranks)
    other = True, frozenset({-1})
    comm = Single() if ranks == 1 else replace_in(FOUR, on_node=lambda mine: [*[mine] * ranks, other])
    comm.sharing = sharing
    caplog.set_level(logging.INFO, logger="hpcchain.run")
    monkeypatch.setattr(engines, "cores_allowed", lambda: cores * shared + shared - 1)
    _, _, options = engine_for(SYSTEM, config(threads=asked, sectors="all"), comm)
    assert options["threads"] == had
    core = SimpleNamespace(helper=None if had == 1 else "some", sector=HELPED)
    engines.report_threads(config(threads=asked), comm, SimpleNamespace(core=core))
    level = logging.WARNING if asked == 2 else logging.INFO
    said = asked != had and (asked == 2 or ranks == 1)
    assert [record.levelno for record in caplog.records] == [level] * said
    assert not caplog.records or "--map-by slot:PE=2" in caplog.records[0].getMessage()


def test_ranks_that_sleep_share_no_processors():
    """Nor those that have others."""
    mine = processors_allowed()
    for others, shared in (([(True, mine)] * 3, 4), ([(False, mine)] * 3, 1), ([(True, frozenset({-1}))] * 3, 1)):
        comm = replace_in(FOUR, on_node=lambda own, others=others: [own, *others])
        assert engines.sharing_at_work(comm, 4) == shared


def test_a_second_thread_that_would_not_help_is_reported(monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="hpcchain.run")
    monkeypatch.setattr(engines, "cores_allowed", lambda: 2)
    singles = SimpleNamespace(core=SimpleNamespace(helper=None, sector=Engine(gas(["monomer"] * 8, 1)).sector))
    for comm, engine in ((FOUR, SimpleNamespace()), (FOUR, singles), (Single(), singles)):
        caplog.clear()
        engines.report_threads(config(threads=2), comm, engine)
        assert [record.getMessage() for record in caplog.records] == [
            "run.threads = 2 helps with smooth hard beads in whole molecules: there is no second thread"
        ]


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
        "threads": 1,
    }


def test_what_stands_in_for_several_ranks_is_given_what_they_are():
    given = [*signature(WindowedEngine).parameters]
    assert [*signature(ReplicatedEngine).parameters] == given[: given.index("cost")]


def test_while_a_start_grows_contacts_are_not_logged():
    for ranks in (Single(), FOUR):
        options = engine_for(SYSTEM, config(sectors="all"), ranks, growth=(0.4, 0.1))[2]
        assert (options["growth"], options["log_events"]) == ((0.4, 0.1), False)


@pytest.mark.parametrize(
    ("sectors", "ranks", "found"),
    [
        ("all", 4, 4),
        ([2, 2, 1], 4, 4),
        ([3, 1, 1], 4, 3),
        ([1, 1, 1], 4, 1),
        ([5, 1, 1], 4, 1),
        ("auto", 4, 1),
    ],
)
def test_sectors_say_how_many_ranks_have_molecules(sectors, ranks, found):
    """A product of at most the number of ranks is heeded; with more, ranks are chosen as with auto."""
    assert engines.ranks_for(engines.work_of(SMALL), sectors, ranks, False) == found


def test_more_ranks_than_sectors_share_an_engine(monkeypatch):
    made = []
    seam = SimpleNamespace(ActiveRanksEngine=lambda *given: made.append(given))
    monkeypatch.setitem(sys.modules, "hpcchain.parallel.tuning.active_ranks", seam)
    engine_for(SMALL, config(sectors=[3, 1, 1]), FOUR)
    engine_for(SMALL, config(), FOUR)
    engine_for(SMALL, config(), FOUR, growth=(0.4, 0.1))
    assert [(given[:2], given[3]) for given in made] == [((SMALL, FOUR), ranks) for ranks in (3, 1, 1)]
    make = made[0][2]
    assert make(SMALL, None)[0] == "serial"
    assert make(SMALL, SimpleNamespace(size=3))[2]["sectors"] == [3, 1, 1]
    assert make(SMALL, SimpleNamespace(size=2))[2]["sectors"] is None


def test_ranks_that_sleep_know_that_beads_of_square_wells_have_energies():
    """Else the energy that a run is to keep lacks the potential one, and the run ends as if the engine were wrong."""
    wells = ExtendedPhysics(potentials=(StepPotential(("A", "A"), (1.5,), (-1.0,)),))
    assert NoMolecules(SMALL).energies() is None
    energies = NoMolecules(replace(SMALL, physics=replace(SMALL.physics, extended=wells))).energies()
    assert energies is not None and energies.shape == (0, 2)


def test_steps_have_their_own_engine(monkeypatch):
    found = []
    seam = SimpleNamespace(SteppedEngine=lambda *given: found.append(given))
    monkeypatch.setitem(sys.modules, "hpcchain.steps.engine", seam)
    stepped = replace(
        SMALL,
        physics=replace(
            SMALL.physics,
            steps=SteppedPhysics(step=0.1),
        ),
    )
    engine_for(stepped, config(list_shell=0.3, sectors=[2, 2, 1]), FOUR)
    engine_for(stepped, config(sectors=[2, 2, 1]), Single())
    assert found == [(stepped, FOUR, 0.3, [2, 2, 1], True), (stepped, None, None, None, True)]
    assert engine_for(stepped, config(), Single(), growth=(0.4, 0.1))[0] == "serial"


@pytest.mark.parametrize(
    ("sectors", "size", "at_work", "said"),
    [
        ("auto", 1, 1, None),
        ("auto", 4, 1, (logging.INFO, "1 of 4 ranks has the 25 beads, the others sleep; 1 rank would be as fast")),
        ([1, 1, 3], 4, 3, (logging.INFO, "3 of 4 ranks have the 25 beads, the others sleep; 3 ranks would be as fast")),
        ("all", 4, 4, (logging.WARNING, "4 ranks outnumber the work: 25 beads are 6 for each")),
        ([2, 2, 1], 4, 4, (logging.WARNING, "4 ranks outnumber the work: 25 beads are 6 for each")),
    ],
)
def test_what_is_reported_of_ranks_is_said_once(caplog, sectors, size, at_work, said):
    caplog.set_level(logging.INFO, logger="hpcchain.run")
    for rank in range(size):
        comm, engine = SimpleNamespace(rank=rank, size=size, started=size), SimpleNamespace(ranks=at_work)
        engines.report_ranks(SMALL, config(sectors=sectors), comm, engine)
    lines = [(record.levelno, record.getMessage().split(", and ghosts")[0]) for record in caplog.records]
    assert lines == ([said] if said else [])


def test_sectors_for_more_ranks_than_there_are_are_reported(caplog):
    engines.report_ranks(SMALL, config(sectors=[3, 2, 1]), FOUR, SimpleNamespace(ranks=4))
    assert any(record.message.startswith("run.sectors = [3, 2, 1] does not fit 4 ranks;") for record in caplog.records)
