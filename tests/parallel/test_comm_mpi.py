"""The ranks of a run, under mpirun: what they send each other, and the last word of a failing one."""

import time

import numpy as np
import pytest

from hpcchain.machine import processors_allowed
from hpcchain.parallel.comm import World, world
from hpcchain.parallel.exchange import Exchange
from hpcchain.parallel.groups import Groups

pytestmark = pytest.mark.mpi


def test_world_has_all_ranks():
    comm = world()
    assert isinstance(comm, World)
    assert comm.size == comm.mpi.Get_size() > 1
    assert comm.allgather(comm.rank) == list(range(comm.size))


def test_objects_and_reductions():
    comm = world()
    assert comm.bcast({"from": comm.rank}) == {"from": 0}
    assert comm.any(comm.rank == comm.size - 1)
    assert not comm.any(False)


def test_ranks_on_a_node_are_those_that_share_its_memory():
    comm = world()
    assert comm.on_node((comm.rank, "x")) == [(rank, "x") for rank in range(comm.size)]


def test_a_group_that_renews_its_communicators_gives_back_the_old_ones():
    comm = world()
    groups, here = Groups(comm, comm.size, 1), processors_allowed()
    for _ in range(3):
        old = groups.comm
        assert old.sharing == sum(not here.isdisjoint(theirs) for theirs in comm.on_node(here))
        assert old.exchange.subset(1) is None or old.rank == 0
        groups.renew()
        assert not old.mpi and not old.exchange._mpi and groups.comm.allgather(comm.rank) == list(range(comm.size))


def test_agree_gives_every_outcome_in_rank_order():
    comm = world()
    assert comm.agree((comm.rank + 70, 1)) == [(rank + 70, 1) for rank in range(comm.size)]


def test_agree_gives_up_on_a_rank_that_does_not_come_and_waits_for_one_that_does():
    comm = world()
    if comm.rank == 0:
        begin = time.monotonic()
        assert comm.agree((1,), patience=0.2) is None
        assert 0.2 <= time.monotonic() - begin < 5.0
        comm.barrier()
    else:
        comm.barrier()
        assert comm.agree((2,)) == [(1,)] + [(2,)] * (comm.size - 1)


def test_agree_is_not_mixed_up_with_an_unfinished_exchange():
    comm = world()
    request = comm.mpi.Ibarrier() if comm.rank else None
    assert len(comm.agree((comm.rank,))) == comm.size
    (request or comm.mpi.Ibarrier()).Wait()


def test_messages_that_no_rank_expects_arrive_each_in_its_own_round():
    """Which rank sends to which is drawn anew in every round; lengths and numbers name sender and round."""
    comm = world()
    exchange, rng = Exchange(comm.mpi), np.random.default_rng(5)
    for turn in range(50):
        sends = rng.random((comm.size, comm.size)) < 0.4
        message = {rank: np.full(comm.rank + 1, 100.0 * turn + comm.rank) for rank in np.flatnonzero(sends[comm.rank])}
        received = exchange.exchange_unknown({int(rank): rows for rank, rows in message.items()})
        assert sorted(received) == np.flatnonzero(sends[:, comm.rank]).tolist()
        for rank, rows in received.items():
            assert rows.tolist() == [100.0 * turn + rank] * (rank + 1)


def test_ranks_that_wait_for_a_slow_one_keep_no_core_busy():
    """The others look for the message, then for the maximum, while rank 0 takes its time."""
    comm = world()
    exchange, others = Exchange(comm.mpi), [rank for rank in range(comm.size) if rank]
    for turn in range(2):
        begin = time.process_time()
        if comm.rank == 0:
            time.sleep(0.5)
        if turn == 0:
            outgoing = {other: np.full(3, 1.0 * other) for other in others} if comm.rank == 0 else {}
            found = exchange.exchange_known(outgoing, [0] if comm.rank else [], asleep=True)
            assert [rows.tolist() for rows in found.values()] == ([[comm.rank] * 3] if comm.rank else [])
        else:
            assert exchange.maximum(np.array([comm.rank, -1.0]), asleep=True).tolist() == [comm.size - 1, -1]
        assert time.process_time() - begin < 0.25
