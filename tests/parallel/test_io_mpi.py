"""Files written and read on any number of ranks, those that own nothing included, are those of one rank."""

import gc
import shutil
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hpcchain.errors import DataError, EngineError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.checkpoint.store import checkpoint_name, newest_valid, prune
from hpcchain.io.hdf5 import atomic, seal, slabs, unclosable
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.events import sort_globally, sorted_rows
from hpcchain.io.output.parts import PartWriter, list_parts, remove_from
from hpcchain.io.output.trajectory import Lasting
from hpcchain.io.tools.compare import compare
from hpcchain.model.system import State, System
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.comm import library
from hpcchain.parallel.slabs import Way, everywhere, range_from_slabs, to_slabs
from tests.support.io_samples import (
    events_between,
    frame_of,
    input_for,
    same_state,
    same_system,
    same_topology,
    system_of,
)
from tests.support.outputs import read_observables

pytestmark = pytest.mark.mpi

OWNERS = ["contiguous", "scattered", "first", "last"]


@pytest.fixture
def comm():
    MPI = pytest.importorskip("mpi4py.MPI")
    return MPI.COMM_WORLD


@pytest.fixture
def folder(comm):
    """Return one folder for all ranks."""
    name = comm.bcast(tempfile.mkdtemp(prefix="io_mpi_") if comm.rank == 0 else None)
    yield Path(name)
    comm.Barrier()
    if comm.rank == 0:
        shutil.rmtree(name)


@pytest.fixture(params=[3, 4096])
def block(request, monkeypatch):
    """Small blocks give every rank a slab; whole ones leave ranks without."""
    monkeypatch.setattr(parallel_slabs, "BLOCK", request.param)
    return request.param


def owned(comm, topology, how):
    """Return the global ids of the beads that this rank owns: whole molecules, dealt out in one of several ways."""
    molecule = topology.molecule_of(np.arange(topology.beads))
    if how == "contiguous":
        owner = np.arange(topology.molecules) * comm.size // topology.molecules
    elif how == "scattered":
        owner = np.random.default_rng(5).integers(0, comm.size, topology.molecules)
    else:
        owner = np.full(topology.molecules, 0 if how == "first" else comm.size - 1)
    ids = np.flatnonzero(owner[molecule] == comm.rank)
    return ids[::-1].copy() if how == "scattered" else ids


def share_of(system, ids):
    state = State(**{name: getattr(system.state, name)[ids] for name in State.ARRAYS})
    return System(system.box, system.topology, state, system.physics)


@pytest.mark.parametrize("how", OWNERS)
def test_a_checkpoint_does_not_depend_on_which_rank_wrote_it(comm, folder, block, how):
    system = system_of([1, 3, 5, 2, 7, 4])
    ids = owned(comm, system.topology, how)
    config = input_for(system)
    write_checkpoint(folder / "p.h5", comm, share_of(system, ids), 1.5, {"events": 3}, config, {"a": (1, 2, 3)}, ids)
    if comm.rank == 0:
        write_checkpoint(folder / "s.h5", None, system, 1.5, {"events": 3}, input_for(system))
        assert compare(folder / "s.h5", folder / "p.h5") is None
        found = read_checkpoint(folder / "p.h5")
        assert same_system(found.system, system)
        assert found.provenance["mpi"] == library()
    comm.Barrier()
    assert [p.name for p in sorted(folder.iterdir())] == ["p.h5", "s.h5"]


def test_the_checksums_do_not_depend_on_which_rank_wrote_them(comm, folder, block):
    import h5py

    system = system_of([20] * 30)
    write_checkpoint(folder / "p.h5", comm, system, 1.5, {}, input_for(system))
    with h5py.File(folder / "p.h5") as file:
        sums = file["checksum/state/position"][...]
    assert np.array_equal(sums, slabs.block_sums(system.state.position))


def test_the_seal_does_not_depend_on_which_rank_computed_it(comm, folder):
    path = folder / "c.h5"
    if comm.rank == 0:
        path.write_bytes(np.random.default_rng(1).bytes(4 * seal.HASH_BLOCK + 77))
        seal.seal(path)
    comm.Barrier()
    seal.check(path, comm)
    before = path.read_bytes()
    comm.Barrier()
    seal.seal(path, comm)
    assert path.read_bytes() == before


def test_any_rank_count_reads_a_serial_checkpoint(comm, folder, block):
    system = system_of([1, 3, 5, 2, 7, 4])
    if comm.rank == 0:
        write_checkpoint(folder / "s.h5", None, system, 1.5, {"events": 3}, input_for(system))
    comm.Barrier()
    found = read_checkpoint(folder / "s.h5", comm)
    assert same_system(found.system, system)
    assert (found.time, found.counters, found.config) == (1.5, {"events": 3}, input_for(system))


@pytest.mark.parametrize("lengths", [[5] * 7, [1], [3] * 400])
def test_each_rank_reads_a_part_of_the_molecules(comm, folder, block, lengths):
    """The parts make the whole; none is asked for by more than one rank, and some ranks may have none."""
    system = system_of(lengths)
    write_checkpoint(folder / "p.h5", comm, system, 1.5, {"events": 3}, input_for(system))
    found = read_checkpoint(folder / "p.h5", comm, part=True)
    if comm.size == 1:
        assert found.system.held is None and same_system(found.system, system)
        return
    parts = comm.allgather(found.system.held)
    assert np.array_equal(np.concatenate(parts), np.arange(len(lengths)))
    assert max(map(len, parts)) <= len(lengths) // comm.size + parallel_slabs.BLOCK // lengths[0] + 1
    topology = found.system.topology
    assert same_topology(topology.whole(), system.topology.whole())
    assert same_state(found.system.state, share_of(system, topology.beads_of(found.system.held)).state)
    assert (found.time, found.counters, found.config) == (1.5, {"events": 3}, input_for(system))
    assert found.system.physics == system.physics


def test_what_a_rank_allocates_for_its_part_does_not_follow_the_whole(comm, folder):
    """Peak bytes while reading, per bead of 48,000 more: by its share, not by the whole as `read_checkpoint`."""
    peaks = []
    for count in (8, 24):
        system = system_of([10] * count * 300)
        write_checkpoint(folder / f"{count}.h5", comm, system, 1.5, {}, input_for(system))
        for part in (False, True):
            read_checkpoint(folder / f"{count}.h5", comm, part)  # what is made once is there
            tracemalloc.start()
            read_checkpoint(folder / f"{count}.h5", comm, part)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    whole, part = ((peaks[k + 2] - peaks[k]) / 48000 for k in (0, 1))
    assert whole > 105.0  # the state of a bead
    assert comm.size == 1 or part < 2.5 * whole / comm.size


def test_a_large_checkpoint_goes_round(comm, folder):
    system = system_of([10] * 2000)
    ids = owned(comm, system.topology, "scattered")
    write_checkpoint(folder / "p.h5", comm, share_of(system, ids), 0.5, {}, input_for(system), ids=ids)
    assert same_state(read_checkpoint(folder / "p.h5", comm).system.state, system.state)


def test_damage_is_everyones_error(comm, folder, block):
    system = system_of([1, 3, 5])
    for time in (1.0, 2.0, 3.0):
        write_checkpoint(folder / checkpoint_name(time), comm, system, time, {}, input_for(system))
    bad = folder / checkpoint_name(3.0)
    if comm.rank == 0:
        data = bytearray(bad.read_bytes())
        data[len(data) // 2] ^= 1
        bad.write_bytes(data)
    comm.Barrier()
    with pytest.raises(DataError, match="damaged"):
        read_checkpoint(bad, comm)
    found, refused = newest_valid(folder, comm)
    assert found == folder / checkpoint_name(2.0) and [path for path, _ in refused] == [bad]
    prune(folder, 1, comm)
    assert [p.name for p in folder.iterdir()] == [bad.name]


def test_a_missing_file_is_everyones_error(comm, folder):
    with pytest.raises(DataError, match="nothing.h5"):
        read_checkpoint(folder / "nothing.h5", comm)


@pytest.mark.parametrize("failing", ["first", "last"])
def test_one_ranks_disk_failure_is_everyones_and_leaves_the_earlier_file(comm, folder, monkeypatch, failing):
    system = system_of([1, 3, 5])
    write_checkpoint(folder / "c.h5", comm, system, 1.0, {}, input_for(system))
    before = (folder / "c.h5").read_bytes()

    def fail(path):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if comm.rank == (0 if failing == "first" else comm.size - 1):
            patch.setattr(atomic, "_sync", fail)
        with pytest.raises(DataError, match="No space left"):
            write_checkpoint(folder / "c.h5", comm, system, 2.0, {}, input_for(system))
    comm.Barrier()
    assert (folder / "c.h5").read_bytes() == before
    assert [p.name for p in folder.iterdir()] == ["c.h5"]


@pytest.mark.parametrize("failing", ["first", "last"])
def test_one_ranks_failed_write_is_everyones(comm, folder, monkeypatch, failing):
    monkeypatch.setattr(parallel_slabs, "BLOCK", 2)  # each rank has rows
    system = system_of([1, 3, 5])

    def fail(*arguments):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        if comm.rank == (0 if failing == "first" else comm.size - 1):
            patch.setattr(slabs, "_place", fail)
        with pytest.raises(DataError, match="Input/output error"):
            write_checkpoint(folder / "c.h5", comm, system, 2.0, {}, input_for(system))
    comm.Barrier()
    assert list(folder.iterdir()) == []
    if comm.rank == 0:
        gc.collect()  # each rank's Python does so when it likes: a file closed by it would make this rank wait
    assert len(unclosable.held) == (comm.size > 1)
    for file in list(unclosable.held):
        file.close()
        unclosable.release(file)
    assert comm.allreduce(unclosable.open_files()) == 0


@pytest.mark.parametrize(("wrong", "message"), [("twice", "held by"), ("missing", "held by 0"), ("outside", "exist")])
def test_beads_held_twice_or_by_no_rank_are_everyones_error(comm, folder, wrong, message):
    system = system_of([4, 4, 4])
    ids = owned(comm, system.topology, "first")
    if comm.rank == 0:
        ids = {"twice": np.r_[ids, 0], "missing": ids[1:], "outside": np.r_[ids[:-1], 12]}[wrong]
    rows_held = share_of(system, np.minimum(ids, 11))
    with pytest.raises((EngineError, DataError), match=message if comm.size > 1 else "each once"):
        write_checkpoint(folder / "c.h5", comm, rows_held, 0.0, {}, input_for(system), ids=ids)
    comm.Barrier()
    assert list(folder.iterdir()) == []


def put_out(comm, folder, system, how, start=None, first=0, last=2):
    """Put out frames, events and reports of parts `first` to `last`; every rank gives what it owns."""
    counters = start or {}
    for path in (folder, folder / "parts"):
        atomic.make_folder(path, comm)
    for index in range(first, last):
        writer = PartWriter(folder / "parts", index, comm, system.topology, counters, log_events=True)
        for number in (2 * index, 2 * index + 1):
            arrays = frame_of(system.topology.beads, number)
            ids = None if comm is None else owned(comm, system.topology, how)
            mine = arrays if comm is None else [array[ids] for array in arrays]
            given = dict(zip(("position", "velocity", "image"), mine, strict=True))
            writer.frame(number / 2, **parallel_slabs.sorted_slabs(comm, system.topology.beads, ids, given))
            writer.report({"energy": number / 3, "momentum": np.arange(3.0)}, number / 2)
        table = events_between(index, index + 1, 200, seed=index)
        writer.events(table if comm is None else table[np.arange(200) % (5 * comm.size) // 5 == comm.rank])
        writer.events(table[:0])
        writer.close()
        counters = writer.counters
    return counters


@pytest.mark.parametrize("how", OWNERS)
def test_output_does_not_depend_on_which_rank_wrote_it(comm, folder, block, how):
    system = system_of([1, 3, 5, 2, 7, 4])
    counters = put_out(comm, folder / "p", system, how)
    assemble(folder / "p", comm, Lasting(system.topology, system.box), counters)
    counters = put_out(comm, folder / "p", system, how, counters, 2, 4)
    assemble(folder / "p", comm, Lasting(system.topology, system.box), counters)
    if comm.rank == 0:
        alone = put_out(None, folder / "s", system, how, last=4)
        assert alone | {"part_seal": ""} == counters | {"part_seal": ""}, "the seal knows how many ranks wrote"
        assemble(folder / "s", None, Lasting(system.topology, system.box), alone)
        for name in ("trajectory", "observables", "events"):
            assert compare(folder / "s" / f"{name}.h5", folder / "p" / f"{name}.h5") is None
        assert len(read_observables(folder / "p" / "observables.h5")["energy"][0]) == 8
        assert list((folder / "p" / "parts").iterdir()) == []


def test_uncounted_parts_are_removed_once_for_all(comm, folder):
    counters = put_out(comm, folder, system_of([1, 3, 5]), "contiguous", last=3)
    assert counters["frames"] == 6
    remove_from(folder / "parts", 1, comm)
    assert [index for index, _ in list_parts(folder / "parts")] == [0]


@pytest.mark.parametrize("give", ["all", "first", "none"])
def test_events_are_sorted_over_ranks(comm, give):
    table = events_between(0.0, 1.0, 1000, seed=9)
    mine = {"all": table[comm.rank :: comm.size], "first": table if comm.rank == 0 else table[:0], "none": table[:0]}
    found = np.concatenate(comm.allgather(sort_globally(comm, mine[give])))
    expected = table[sorted_rows(table)] if give != "none" else table[:0]
    assert found.tobytes() == expected.tobytes()


def test_rows_go_to_their_destination_in_order(comm):
    values = np.arange(30).reshape(10, 3) + 1000 * comm.rank
    way = Way(comm, np.arange(10) % comm.size)
    found, counts = way.sent(values), way.counts
    pieces = [np.arange(30).reshape(10, 3)[comm.rank :: comm.size] + 1000 * rank for rank in range(comm.size)]
    assert np.array_equal(found, np.concatenate(pieces))
    assert counts.tolist() == [len(piece) for piece in pieces]


@pytest.mark.parametrize("how", OWNERS)
def test_to_slabs_and_everywhere(comm, how):
    system = system_of([1, 3, 5, 2, 7, 4])
    count = system.topology.beads
    bounds = np.minimum(np.arange(comm.size + 1) * 9, count)
    bounds[-1] = count
    ids = owned(comm, system.topology, how)
    arrays = {"position": system.state.position[ids], "depth": system.state.depth[ids]}
    slabs = to_slabs(comm, bounds, ids, arrays)
    low, high = bounds[comm.rank], bounds[comm.rank + 1]
    assert np.array_equal(slabs["position"], system.state.position[low:high])
    every = everywhere(comm, slabs)
    assert all(np.array_equal(every[name], getattr(system.state, name)) for name in arrays)


def test_a_range_of_rows_takes_those_of_other_slabs_along(comm):
    """Ranges begin and end before, in and behind a rank's own slab, or are empty."""
    count = 40
    rows = np.arange(3 * count).reshape(count, 3)
    bounds = np.arange(comm.size + 1) * count // comm.size
    mine = {"rows": rows[bounds[comm.rank] : bounds[comm.rank + 1]]}
    draw = np.random.default_rng(comm.rank).integers
    for low, high in [(0, count), (5, 5), *np.sort(draw(0, count + 1, (30, 2)), axis=1)]:
        found = range_from_slabs(comm, bounds, int(low), int(high), mine)["rows"]
        assert np.array_equal(found, rows[low:high])
    with pytest.raises(EngineError, match="does not exist"):
        range_from_slabs(comm, bounds, 0, count + (comm.rank == comm.size - 1), mine)
