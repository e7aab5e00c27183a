"""Small random systems on ranks: any number of them, any windows and sectors, stopped and gone on with on others.

HPCCHAIN_DRAWS draws are made (a few hundred are the long form); ranks are threads, the engine is the real one.
"""

import threading
import weakref

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.layout import arrays as L
from hpcchain.parallel.ghosts import manager
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector import window as window_module
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.window import Window
from tests.support.ahead import in_turn_on_ranks
from tests.support.identity import DRAWS, in_stages, parallel, require_same, serial
from tests.support.mixtures import random_input
from tests.support.run_folders import write_input

SPAN = 4.0
"""Length of a run in units of unit length over thermal speed."""
MOST_BEADS = 130
LEAST_CONTACTS = 20
WITH_RODS = (62, 87)
"""Draws of random systems that have rods, which are few."""


def start_of(seed, folder):
    """Return the start of a random system and the time to run it for."""
    tables = random_input(seed)
    path = write_input(folder / f"{seed}.toml", tables | {"run": {"end_time": 1.0}})
    return grown_system(load_config(path)), SPAN / np.sqrt(tables["initial"]["temperature"])


def options(rng, ranks, system, contact_time):
    """Return random settings of the engine of several ranks, none of which may leave a trace."""
    largest = float(system.topology.whole().diameter.max())
    grids = grids_of(ranks)
    return {
        "window": None if rng.random() < 0.3 else float(contact_time * 10.0 ** rng.uniform(-1.5, 0.4)),
        "sectors": None if rng.random() < 0.5 else grids[int(rng.integers(len(grids)))],
        "shell": None if rng.random() < 0.5 else rng.uniform(0.05, 0.6) * largest,
        "cell": None if rng.random() < 0.5 else rng.uniform(0.0, 3.0) * largest,
        "cost": None if rng.random() < 0.5 else erratic,
        "threads": 1 if rng.random() < 0.5 else 2,
    }


def erratic(engine):
    """Return a cost that goes up and down from rank to rank and from look to look, so that sectors never rest."""
    windows = engine.statistics.counts["windows"]
    return float(sum(1 + (7 * engine.comm.rank + window // 8) % 5 for window in range(windows)))


def grids_of(ranks):
    """Return all divisions of the box into as many equal sectors as there are ranks."""
    divisors = [n for n in range(1, ranks + 1) if ranks % n == 0]
    return [(a, b, ranks // a // b) for a in divisors for b in divisors if ranks % (a * b) == 0]


def stages_of(rng, system, end, contacts):
    """Return random stages of a run: three stops, each part on ranks of its own, with frames in between."""
    contact_time = end / max(contacts, 1) * system.topology.molecules
    begin, stages = 0.0, []
    for until in [*sorted(rng.uniform(0.0, end, 3)), end]:
        ranks = int(rng.integers(1, 9))
        chosen = options(rng, ranks, system, contact_time) | {"times": sorted(rng.uniform(begin, until, 2))}
        stages.append((float(until), ranks, chosen))
        begin = until
    return stages


@pytest.mark.parametrize("seed", sorted({*range(DRAWS), *WITH_RODS}))
def test_ranks_leave_no_trace(tmp_path, seed):
    rng = np.random.default_rng([20262, seed])
    system, end = start_of(seed, tmp_path)
    one = serial(system, end)
    ranks = 2 + seed % 7
    chosen = options(rng, ranks, system, end / max(len(one.events), 1) * system.topology.molecules)
    require_same(one, parallel(system, end, ranks, **chosen), f"seed {seed} on {ranks} ranks with {chosen}")
    stages = stages_of(rng, system, end, len(one.events))
    require_same(one, in_stages(system, stages), f"seed {seed} in stages {stages}")
    two, _ = in_turn_on_ranks(system, end, ranks, **chosen | {"threads": 2})
    require_same(one, two, f"seed {seed} on {ranks} ranks with {chosen}, outcomes ahead of each event")


@pytest.mark.parametrize("seed", range(3))
def test_rows_for_closed_segments_that_come_as_they_are_needed_leave_no_trace(monkeypatch, tmp_path, seed):
    """None to begin with but a few spare ones; sectors never rest, and an old one is gone when the next is made."""
    monkeypatch.setattr(window_module, "CLOSED", 10**6)
    monkeypatch.setattr(window_module, "CLOSED_BEADS", 0)
    more, made, left = Window.more_rows, [], []

    def counted(self, rows):
        made.append(int(rows.sum()))
        more(self, rows)

    def first_of_all(*arguments):
        left.extend(at() for at in earlier.pop(threading.get_ident(), []) if at() is not None)
        sector = GhostedSector(*arguments)
        memory = sector.sector.starts
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        earlier[threading.get_ident()] = [weakref.ref(sector), weakref.ref(sector.core), weakref.ref(memory)]
        return sector

    earlier = {}
    monkeypatch.setattr(Window, "more_rows", counted)
    monkeypatch.setattr(manager, "GhostedSector", first_of_all)
    system, end = start_of(seed, tmp_path)
    one = serial(system, end)
    window = 4.0 * end / max(len(one.events), 1) * system.topology.molecules
    require_same(one, parallel(system, end, 3, window=window, cost=erratic), f"seed {seed}")
    kinds = len(np.unique(np.diff(system.topology.whole().first_bead)))
    assert len(made) > 6 and min(made) <= 2 * L.MOST_MEMBERS * kinds and not left


def test_a_guess_in_which_ghosts_rattle_is_given_up(tmp_path):
    """In this system two molecules were carried into each other on a guess, and had 10^5 contacts in no time."""
    system, end = start_of(516, tmp_path)
    times = sorted(np.random.default_rng(516).uniform(0, 1.25 * end, 2))
    one = serial(system, 1.25 * end)
    require_same(one, parallel(system, 1.25 * end, 3, window=0.31727339832334417, times=times), "rattling ghosts")
