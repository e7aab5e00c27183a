"""Long chains whose contacts move stretches, on threads as ranks: they end with the bits of one rank.

Each test also checks that what it is about did happen.
"""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.model.system import PERIODIC
from hpcchain.parallel.ghosts.migration import in_parts as parts_here
from hpcchain.parallel.ghosts.needs import GhostNeeds
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector import core
from hpcchain.sector.setup.chain_parts import ChainParts
from hpcchain.sector.setup.molecule_classes import LEAST_VACANT, vacant_like, vacant_rows
from tests.property.test_random_ranks import options
from tests.support.compositions import composition_of
from tests.support.extended import with_extended
from tests.support.identity import DRAWS, dealt, in_stages, parallel, require_same, serial
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.long_chains import crowd, far, in_parts
from tests.support.long_ties import exchanged, packed
from tests.unit.sector.segments.test_stretch_laws import CASES
from tests.unit.sector.segments.test_stretch_ties import CASES as TIED

CONTACT_TIME = 0.02
LONG_ONES, SHORT_ONES = (101, 130, 160, 240), (16, 18, 21, 30)  # some as long as parts, whose closed rows they share


def random_crowd(seed):
    """Return chains of random lengths, long ones in parts, which may lose in contacts, and single beads."""
    rng = np.random.default_rng(seed)
    lengths = (int(rng.choice(LONG_ONES)), *rng.choice(LONG_ONES + SHORT_ONES, size=rng.integers(0, 4)).tolist())
    return in_parts(crowd(seed, lengths, singles=int(rng.integers(10, 60)), restitution=rng.choice((1.0, 0.95))))


@pytest.mark.parametrize("seed", range(DRAWS))
def test_any_ranks_windows_and_sectors(seed):
    system, rng, end = random_crowd(seed), np.random.default_rng(seed), 1.0
    one = serial(system, end)
    assert len(one.events) > 10
    for ranks in (2, int(rng.integers(3, 6))):
        chosen = options(rng, ranks, system, CONTACT_TIME)
        require_same(one, parallel(system, end, ranks, **chosen), f"seed {seed}, {ranks} ranks, {chosen}")
    stages = [
        (float(time), int(ranks), {}) for time, ranks in zip((0.31, 0.7, end), rng.integers(0, 4, 3), strict=True)
    ]
    require_same(one, in_stages(system, stages), f"seed {seed}, in {stages}")


@pytest.mark.long
@pytest.mark.parametrize("name", ["everything", "a bath", "rough, with wells"])
def test_any_laws(name):
    """Walls, wells, spins, draws, gravity and what moves, next to one another; kernels take two minutes to compile."""
    system, end = in_parts(CASES[name](1)), 0.5
    one = serial(system, end)
    assert len(one.events) > 30
    for ranks, window in ((2, 0.01), (3, None), (4, 0.1)):
        require_same(one, parallel(system, end, ranks, window=window), f"{name}, {ranks} ranks, window {window}")
    stages = [(0.11, 3, {}), (0.3, 0, {}), (end, 2, {})]
    require_same(one, in_stages(system, stages), f"{name}, in stages")


def test_what_comes_near_is_let_in_and_what_leaves_is_handed_over():
    """Fast chains in a large box: they become ghosts between choices of all ghosts, and go to other ranks' sectors."""
    system, end = in_parts(far(1)), 2.5
    one = serial(system, end)
    assert len(one.events) > 100
    let_in, owners = [0] * 4, [None] * 4

    def body(exchange):
        engine = WindowedEngine(dealt(system, exchange), exchange, log_events=True, window=0.02, sectors=(2, 2, 1))
        begin = system.topology.molecule_of(engine.ids)
        ghosted = type(engine.ghosted)
        engine.advance(0.1)
        admit = ghosted.admit

        def counted(self, molecules, state):
            chain_parts = engine.ghosts.builder.classes.chain_parts
            parts = np.diff(chain_parts.first_part)[chain_parts.molecules_of(molecules)]
            let_in[exchange.rank] += int(np.count_nonzero(parts > 1))
            return admit(self, molecules, state)

        engine.ghosted.admit = counted.__get__(engine.ghosted)
        engine.advance(0.6)
        engine.advance(end)
        owners[exchange.rank] = np.setdiff1d(system.topology.molecule_of(engine.ids), begin)

    on_ranks(4, body)
    assert sum(let_in) > 4, "no part of a long chain has come in between choices"
    sizes = system.topology.size_of(np.concatenate(owners))
    assert np.any(sizes > 100), "no long chain has gone to another rank"
    for ranks, window, sectors in ((4, 0.02, (2, 2, 1)), (3, None, None), (8, 0.1, (2, 2, 2))):
        other = parallel(system, end, ranks, window=window, sectors=sectors)
        require_same(one, other, f"{ranks} ranks, window {window}")


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_gets_chains_whole(ranks, monkeypatch):
    """A rank that needs a part of a chain is sent all parts, at the choice of all ghosts and between choices."""
    system, end = in_parts(far(1)), 2.0
    needed, let_in = GhostNeeds._needed, []

    def watched(self, rank, parts, balls):
        which = needed(self, rank, parts, balls)
        molecules = np.unique(self.chain_parts.molecules_of(parts[which]))
        np.testing.assert_array_equal(np.sort(parts[which]), self.chain_parts.sequence(molecules))
        if self.balls is not None:  # not at a choice of all ghosts
            let_in.extend(molecules[system.topology.size_of(molecules) > 100])
        return which

    monkeypatch.setattr(GhostNeeds, "_needed", watched)
    require_same(serial(system, end), parallel(system, end, ranks, window=0.02), f"{ranks} ranks")
    assert len(let_in) > 2


@pytest.mark.parametrize("seed", range(3))
def test_much_is_done_again(seed, monkeypatch):
    """In windows that are too long whole stretches go back, with what has been begun next to them, and all ends well.

    No window is taken back for that: a part that has gone beyond an event would never agree with its owner. Lists have
    as much space as they may ever need, since a window is taken back where they have too little.
    """
    monkeypatch.setattr(core, "LEAST_SPARE", 2**16)
    system, end = in_parts(crowd(seed, (240, 240, 130))), 1.0
    one = serial(system, end)
    for ranks, window in ((3, 0.05), (2, 0.02)):
        other = parallel(system, end, ranks, window=window)
        require_same(one, other, f"{ranks} ranks, window {window}")
        assert other.reports[0]["redone"] > 0.1 and other.reports[0]["windows_undone"] == 0


def test_contacts_at_one_instant():
    """Copies and mirror images of one chain, on different ranks, meet themselves at times that rounding tells apart."""
    plain = crowd(6, (101,), singles=0)
    place = np.round(plain.state.position * 64.0) / 64.0  # so that shifting and turning round do not round
    molecules = []
    for sign, shift in ((1.0, 0.0), (-1.0, 16.0), (1.0, 16.0)):
        turned = np.column_stack([sign * place[:, 0], place[:, 1:]]) + [shift, 0.0, 0.0]
        velocity = plain.state.velocity * [sign, 1.0, 1.0]
        molecules.append(
            (chain_bonds(101), turned + [0.0, 0.0, 16.0 * len(molecules)], velocity, plain.topology.whole().mass)
        )
    system, end = in_parts(make_system(molecules, (32.0, 16.0, 64.0), (PERIODIC,) * 3, diameter=0.9)), 1.0
    one = serial(system, end)
    times = one.events["time"]
    assert len(times) > 20 and np.sum(np.diff(times) < 1e-13) > len(times) / 3
    for ranks, window in ((2, None), (2, 0.2), (3, 0.05)):
        require_same(one, parallel(system, end, ranks, window=window), f"{ranks} ranks, window {window}")


@pytest.mark.parametrize("name", ["flat", "mirrored", "a cradle", "a stack"])
def test_what_touches_at_one_instant_is_parted_together(name):
    """Contacts of one chain at one instant, on several ranks, and across their borders when axes are exchanged."""
    system, end, least = TIED[name]
    for one in (in_parts(system), in_parts(exchanged(system))):
        alone = serial(one, end)
        assert len(alone.events) > 0.5 * least
        for ranks, window in ((2, None), (3, 0.05), (4, 0.3), (5, 0.02)):
            require_same(alone, parallel(one, end, ranks, window=window), f"{name}, {ranks} ranks, window {window}")


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_all_touch_at_the_start(seed):
    system = in_parts(packed(seed))
    one = serial(system, 1.0)
    assert np.sum(one.events["time"] < 1e-9) > 100
    for ranks, window in ((2, None), (3, 0.05), (2 + seed, 0.3)):
        require_same(one, parallel(system, 1.0, ranks, window=window), f"{seed}, {ranks} ranks, window {window}")


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("rule", ["generalised", "moreau"])
def test_rules_for_all_that_hang_together(seed, rule):
    system = in_parts(with_extended(packed(seed), simultaneous=rule))
    one = serial(system, 1.0)
    for ranks, window in ((2, None), (3, 0.05), (2 + seed, 0.3)):
        require_same(one, parallel(system, 1.0, ranks, window=window), f"{rule} {seed}, {ranks} ranks")


def test_parts_of_a_chain_stay_together():
    system = in_parts(crowd(1, (101, 30, 130), singles=3))
    chain_parts = ChainParts(system)
    parts = chain_parts.sequence(np.array([0, 1, 2, 4]))
    leads = chain_parts.leads(parts)
    np.testing.assert_array_equal(np.unique(leads), [0, 6, 7, 15])
    which = np.zeros(len(parts), dtype=bool)
    which[[3, 15]] = True
    whole = chain_parts.whole_of(parts, which)
    np.testing.assert_array_equal(np.flatnonzero(whole), [0, 1, 2, 3, 4, 5, 15])
    for seed in range(20):
        mixed = np.random.default_rng(seed).permutation(len(parts))
        np.testing.assert_array_equal(chain_parts.whole_of(parts[mixed], which[mixed]), whole[mixed])
    backwards = parts[chain_parts.grouped(parts, lambda at: at[::-1])]
    np.testing.assert_array_equal(chain_parts.molecules_of(backwards), [4] + 8 * [2] + [1] + 6 * [0])
    np.testing.assert_array_equal(np.diff(backwards[1:9]), 1)


def test_rows_for_what_comes_in():
    classes = ChainParts(in_parts(crowd(1, (101, 30, 130), singles=17))).classes()
    chain_parts = classes.chain_parts
    here = chain_parts.sequence(np.arange(20))
    like = vacant_like(classes, here)
    assert len(like) == LEAST_VACANT * (6 + 1 + 8 + 17)  # each single bead is of a kind of its own
    free = len(here) + np.arange(len(like))
    taken = vacant_rows(classes.composition, free, like, chain_parts.sequence(np.array([2, 3])))
    assert len(taken) == 9 and np.all(np.diff(taken[:8]) == 1)
    np.testing.assert_array_equal(chain_parts.molecules_of(like[taken - len(here)]), 8 * [2] + [3])
    assert chain_parts.first_part[2] == like[taken[0] - len(here)]
    for _ in range(LEAST_VACANT):
        taken = vacant_rows(classes.composition, free, like, chain_parts.sequence(np.array([2])))
        assert np.all(taken >= 0) and np.all(np.diff(taken) == 1)
        left = ~np.isin(free, taken)
        free, like = free[left], like[left]
    assert np.all(vacant_rows(classes.composition, free, like, chain_parts.sequence(np.array([2]))) == -1)


def test_an_even_share_has_whole_chains():
    system = in_parts(crowd(1, (101, 130), singles=5))
    chain_parts = ChainParts(system)

    def body(exchange):
        return parts_here(system, chain_parts, exchange).held

    held = on_ranks(3, body)
    np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.arange(chain_parts.first_part[-1]))
    for part in held:
        molecules = np.unique(chain_parts.molecules_of(part))
        np.testing.assert_array_equal(chain_parts.sequence(molecules), part)


@pytest.mark.parametrize("seed", range(2))
def test_bonded_beads_of_two_parts_never_meet(seed):
    """Bonds shorter than a contact, in a box that one molecule's `exclude` makes small: lists have bonded beads."""
    plain = crowd(seed, (160, 130, 30))
    topology = plain.topology.whole()
    assert topology.bond_length.min() < 1.02
    exclude = np.where(np.diff(topology.first_bead) == 30, 8, topology.exclude)
    touching = replace(topology, diameter=np.full(topology.beads, 1.02), exclude=exclude)
    system = in_parts(replace(plain, topology=composition_of(touching)))
    one, end = serial(system, 0.6), 0.6
    assert len(one.events) > 50
    for ranks, window in ((2, 0.02), (3, 0.1)):
        require_same(one, parallel(system, end, ranks, window=window), f"{ranks} ranks, window {window}")
