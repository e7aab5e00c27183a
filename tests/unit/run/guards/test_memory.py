"""What a run needs against what machine, control groups, limits and job allow: made-up trees, then the commands."""

import ctypes
import resource
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from hpcchain import machine
from hpcchain.api import build
from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError
from hpcchain.io.checkpoint.checkpoint import read_config, read_extent
from hpcchain.io.hdf5 import files
from hpcchain.machine import Available, Bound
from hpcchain.model.starts.start import build_system
from hpcchain.parallel.comm import Single
from hpcchain.run.engines import engine_on
from hpcchain.run.guards import memory
from hpcchain.run.starts.starting import load_input

GB = 10**9
EVERY = ("frame", "report", "checkpoint")
KIB_OF_4_GB = 3906250
INTERVALS = "".join(f"{key}_every = 0.01\n" for key in EVERY)


def write(root, files):
    """Write files below a folder that stands in for /."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text))


def unlimited(which):
    return resource.RLIM_INFINITY, resource.RLIM_INFINITY


def available(root, environment=None, limits=unlimited):
    return machine.available(root, environment or {}, limits)


def test_nothing_is_known_of_a_machine_that_says_nothing(tmp_path):
    found = available(tmp_path)
    assert found == Available(0, None, None, None) and found.left() == float("inf")


def test_what_the_machine_has_available(tmp_path):
    write(
        tmp_path,
        {
            "proc/meminfo": f"MemTotal: 9 kB\nMemAvailable:   {KIB_OF_4_GB} kB\n",
            "proc/self/statm": "1000 500 100 1 0 300 0\n",
        },
    )
    found = available(tmp_path)
    assert found.node.bytes == 4 * GB and "MemAvailable" in found.node.reason
    assert found.taken == 400 * resource.getpagesize()


@pytest.mark.parametrize("mount", ["sys/fs/cgroup", "sys/fs/cgroup/unified"])
def test_groups_of_version_2_up_the_tree_without_cached_files(tmp_path, mount):
    write(
        tmp_path,
        {
            "proc/meminfo": f"MemAvailable: {KIB_OF_4_GB} kB\n",
            "proc/self/cgroup": "0::/job/step/task\n",
            f"{mount}/job/step/task/memory.max": "max\n",
            f"{mount}/job/step/task/memory.current": 5,
            f"{mount}/job/step/memory.max": 3 * GB,
            f"{mount}/job/step/memory.current": GB // 2,
            f"{mount}/job/memory.max": 2 * GB,
            f"{mount}/job/memory.current": GB,
            f"{mount}/job/memory.stat": f"anon 7\nactive_file {GB // 4}\ninactive_file {GB // 4}\n",
        },
    )
    found = available(tmp_path).node
    assert found.bytes == 1.5 * GB and str(tmp_path / mount / "job") in found.reason


def test_groups_of_version_1_and_a_container_that_sees_its_own_at_the_top(tmp_path):
    place = "sys/fs/cgroup/memory"
    write(
        tmp_path,
        {
            "proc/self/cgroup": "9:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n",
            f"{place}/memory.limit_in_bytes": 2 * GB,
            f"{place}/memory.usage_in_bytes": GB,
            f"{place}/memory.stat": f"total_inactive_file {GB // 2}\ntotal_x y\n",
        },
    )
    assert available(tmp_path).node.bytes == 1.5 * GB
    write(tmp_path, {f"{place}/docker/abc/memory.limit_in_bytes": GB, f"{place}/docker/abc/memory.usage_in_bytes": GB})
    assert available(tmp_path).node.bytes == 0


@pytest.mark.parametrize("text", ["", "garbage", "4:memory", "0::\n0", "0::/../../etc\n", "4:memory:/a\x00b\n"])
def test_odd_group_files_do_no_harm(tmp_path, text):
    write(tmp_path, {"proc/self/cgroup": text, "proc/meminfo": "MemAvailable: lots\n", "proc/self/statm": "a b"})
    assert available(tmp_path) == Available(0, None, None, None)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"SLURM_MEM_PER_NODE": "1000"}, 1000 * 2**20),
        ({"SLURM_MEM_PER_NODE": "0"}, None),
        ({"SLURM_MEM_PER_CPU": "500", "SLURM_CPUS_ON_NODE": "4"}, 2000 * 2**20),
        ({"SLURM_MEM_PER_CPU": "500"}, None),
        ({"SLURM_MEM_PER_NODE": "much"}, None),
    ],
)
def test_what_slurm_gives_a_job(tmp_path, environment, expected):
    found = available(tmp_path, environment).job
    assert (found and found.bytes) == expected


def test_limits_of_the_process(tmp_path):
    page = resource.getpagesize()
    write(tmp_path, {"proc/self/statm": "1000 500 100 1 0 300 0\n"})
    space = {resource.RLIMIT_AS: 5000 * page, resource.RLIMIT_DATA: 4200 * page}
    found = available(tmp_path, limits=lambda which: (space[which], -1)).own
    assert found.bytes == 3900 * page and "RLIMIT_DATA" in found.reason
    space[resource.RLIMIT_AS] = 900 * page
    assert available(tmp_path, limits=lambda which: (space[which], -1)).own.bytes == 0


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([Available(0, Bound(3 * GB, "here"), None, None)], None),
        ([Available(0, Bound(GB, "here"), None, None)], "2 GB more in all"),
        ([Available(GB, Bound(GB, "here"), None, None)], None),
        ([Available(0, Bound(3 * GB, "here"), None, None)] * 2, "4 GB more for 2 ranks"),
        ([Available(GB, None, Bound(3 * GB, "job"), None)] * 2, "4 GB for 2 ranks"),
        ([Available(0, None, None, None), Available(0, None, None, Bound(GB, "limit"))], "2 GB more for one rank"),
        ([Available(0, None, None, None)], None),
    ],
)
def test_what_is_lacking(ranks, words):
    found = memory.lacking(2 * GB, ranks)
    assert (found and found[0]) == words


def test_refusal_names_what_is_needed_what_is_there_and_what_to_do(monkeypatch):
    extent = memory.Extent(10**9, whole=True)
    monkeypatch.setattr(machine, "available", lambda: Available(0, Bound(8 * GB, "available"), None, None))
    with pytest.raises(ConfigError) as caught:
        memory.require_memory(extent, Single(), "in.toml: molecule.count", "use more nodes")
    text = str(caught.value)
    assert text.startswith("in.toml: molecule.count: 1000000000 beads on 1 rank need about 2.1 TB of memory")
    assert "where 8 GB are available; use more nodes" in text
    monkeypatch.setattr(machine, "available", lambda: Available(0, None, None, None))
    memory.require_memory(extent, Single(), "", "")


@pytest.mark.parametrize(
    ("beads", "largest", "resident"),
    [
        (50, 1, 242.7e6),
        (1_000, 20, 272.2e6),
        (50_000, 1, 289e6),
        (10_000, 20, 276e6),
        (50_000, 20, 317e6),
        (100_000, 20, 394e6),
        (59_319, 1, 299.7e6),  # an explicit start
        (200_000, 20, 618e6),  # as far as its start had grown
    ],
)
def test_what_check_says_is_at_most_is_above_the_peak(beads, largest, resident):
    """VmHWM of runs on one rank, 2026-11-28, chains or monomers at packing fraction .3."""
    extent = memory.Extent(beads, whole=True, largest=largest, smooth=largest == 1)
    assert 1.0 < extent.peak(1) / resident < 1.4


@pytest.mark.parametrize(
    ("beads", "ranks", "options", "measured"),
    [
        (10**3, 1, {"whole": True}, 117e6),
        (10**5, 1, {"whole": True}, 304e6),
        (10**5, 2, {"whole": True}, 345e6),  # monomers; chains of 20 need less
        (10**5, 1, {"whole": False}, 269e6),
        (10**5, 2, {"whole": False}, 268e6),
        (10**5, 4, {"whole": False}, 209e6),
        (1_757_700, 2, {"whole": False, "largest": 10}, 1.79e9),
        (9_765_000, 2, {"whole": False, "largest": 10}, 8.0e9),
        (3 * 10**5, 1, {"whole": True}, 595e6),
        (20_000, 1, {"whole": True, "largest": 20_000}, 187e6),
        (20_001, 1, {"whole": True, "largest": 20_001}, 225e6),
        (3_000, 1, {"whole": True, "largest": 3_000, "closed": 3_000}, 393e6),
        (10**5, 1, {"whole": True, "largest": 200, "parts": True, "alone": True}, 377e6),
        (768_000, 1, {"whole": False, "largest": 200, "parts": True, "alone": True}, 2.33e9),
        (768_000, 2, {"whole": False, "largest": 200, "parts": True}, 2.32e9),
        (768_000, 2, {"whole": False, "largest": 200, "parts": True, "alone": True}, 2.68e9),  # resumed
        (480_000, 1, {"whole": False, "largest": 1000, "parts": True, "alone": True}, 1.54e9),
    ],
)
def test_estimates_are_above_what_runs_took_but_not_far(beads, ranks, options, measured):
    assert 1.0 < memory.Extent(beads, **options).need(ranks) / measured < 1.8


SOFT_BALLS = """[[potential]]
name = "lennard-jones"
epsilon = 1.0
sigma = 1.0
cutoff = {}
[steps]
step = 0.005
[run]
engine = "steps"
"""
WELLS = '[[potential]]\nname = "steps"\ndistances = [{}]\nenergies = [-1.0]\n[run]\n'
LISTS = {  # VmHWM on one rank, 2026-11-28, single beads on a lattice
    "lj 5": (64_000, 0.8, "hard = false\n" + SOFT_BALLS.format(5.0), 444e6, 1.35),
    "lj 2.5": (97_336, 0.8, "hard = false\n" + SOFT_BALLS.format(2.5), 351e6, 1.35),
    "wells of 3": (27_000, 0.8, WELLS.format(3.0), 483e6, 1.5),
    "a wide shell": (27_000, 0.5, "[run]\nlist_shell = 2.0\n", 290e6, 1.7),
    "plain": (97_336, 0.57, "[run]\n", 337e6, 1.4),
    "logged": (97_336, 0.57, "[output]\nevents = true\n[run]\n", 339e6, 1.4),
    "rough": (97_336, 0.57, "[contact]\ntangential_restitution = 0.5\n[run]\n", 386e6, 1.4),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_reach_far_take_their_memory(tmp_path, name):
    beads, density, more, resident, most = LISTS[name]
    side = (beads / density) ** (1.0 / 3.0)
    text = f"[box]\nsize = [{side}, {side}, {side}]\n[[molecule]]\nkind = 'monomer'\ncount = {beads}\n{more}"
    text += "end_time = 0.01\n"
    text = (
        text.replace("[output]\n", "[output]\n" + INTERVALS) if "[output]" in text else text + "[output]\n" + INTERVALS
    )
    (tmp_path / "in.toml").write_text(text)
    config = load_config(tmp_path / "in.toml")
    config = replace(config, initial=replace(config.initial, method="explicit"))
    assert 1.0 < memory.extent_of(config).peak(1) / resident < most


def lattice(tmp_path, edge, more):
    """Return the Config of an explicit start of edge^3 single beads at density .8."""
    side = (edge**3 / 0.8) ** (1.0 / 3.0)
    rows = [[(i + 0.5) * side / edge for i in place] for place in np.ndindex(edge, edge, edge)]
    text = f"[box]\nsize = [{side}, {side}, {side}]\n[initial]\nmethod = 'explicit'\n[output]\n{INTERVALS}"
    text += f"[[molecule]]\nkind = 'monomer'\ncount = {edge**3}\npositions = {rows}\n{more}end_time = 0.01\n"
    (tmp_path / "in.toml").write_text(text)
    return load_config(tmp_path / "in.toml")


def bytes_in(thing, known):
    """Return the bytes of all arrays that an object holds, or what it holds does; each memory once."""
    if isinstance(thing, np.ndarray):
        while isinstance(thing.base, np.ndarray):
            thing = thing.base
    if id(thing) in known or isinstance(thing, type):
        return 0
    known[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, dict):
        return sum(bytes_in(one, known) for one in thing.values())
    if isinstance(thing, (list, tuple)):
        return sum(bytes_in(one, known) for one in thing)
    return bytes_in(getattr(thing, "__dict__", None) or (), known)


@pytest.mark.parametrize(
    "more",
    ["[run]\n", "hard = false\n" + SOFT_BALLS.format(2.5), "hard = false\n" + SOFT_BALLS.format(3.5)],
    ids=["single", "lj 2.5", "lj 3.5"],
)
def test_what_is_taken_for_a_bead_is_more_than_arrays_of_an_engine_have(tmp_path, more):
    """By what two systems differ: there are tables of the same size for any number of beads."""
    found, own = [], []
    for edge in (10, 14):
        config = lattice(tmp_path, edge, more)
        found.append(bytes_in(vars(engine_on(build_system(config), config, None, None)), {}))
        own.append(memory.extent_of(config).own(1))
    assert 0.25 * (own[1] - own[0]) < found[1] - found[0] < own[1] - own[0]


def test_beads_that_act_on_all_others_list_all_of_them(tmp_path):
    """Ten thousand beads in an open box take 0.4 GB for that alone."""
    text = "[box]\nsize = [99, 99, 99]\nboundary = ['open', 'open', 'open']\n[[molecule]]\nkind = 'monomer'\n"
    text += "count = 10000\nhard = false\n" + SOFT_BALLS.format("'none'") + "end_time = 0.01\n"
    (tmp_path / "in.toml").write_text(text + "[output]\n" + "".join(f"{key}_every = 0.01\n" for key in EVERY))
    assert memory.list_bytes(load_config(tmp_path / "in.toml")) == 4e4


def test_freed_memory_goes_back(monkeypatch):
    """Blocks between others that stay, which the C library keeps for itself; without such a library nothing is done."""
    if getattr(ctypes.CDLL(None), "malloc_trim", None) is None:
        pytest.skip("the C library has no malloc_trim")
    blocks = [bytearray(b"x" * 100_000) for _ in range(2_000)]
    del blocks[1::2], blocks[:-1]
    before = machine.statm(Path("/"))[1]
    machine.return_freed()
    assert machine.statm(Path("/"))[1] < before - 50_000_000
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    machine.return_freed()


def test_one_rank_has_all_chains_that_move_in_stretches():
    extent = memory.Extent(10**5, whole=True, largest=200, alone=True)
    assert extent.need(8) == extent.need(1)


@pytest.mark.parametrize(
    ("beads", "more", "alone"),
    [(100, "", True), (99, "", False), (100, "self_contact = false\n", False)],
    ids=["long", "short", "without self-contact"],
)
def test_which_rank_has_the_beads_follows_from_what_is_divided(tmp_path, beads, more, alone):
    path = tmp_path / "in.toml"
    text = INPUT.format(size=20.0, beads=beads, count=1).replace("[run]", more + "[propagator]\nstretches = 100\n[run]")
    path.write_text(text)
    assert memory.extent_of(load_config(path)).alone is alone
    path.write_text(text.replace("[run]", '[run]\nsectors = "all"'))
    extent = memory.extent_of(load_config(path))
    assert not extent.alone and extent.parts is alone


def test_a_run_that_goes_on_is_taken_to_need_what_its_input_says(tmp_path):
    """What is no input of ours is refused later, by whoever reads the file."""
    text = INPUT.format(size=20.0, beads=100, count=1) + "[propagator]\nstretches = 100\n"
    (tmp_path / "in.toml").write_text(text)
    build(tmp_path / "in.toml", tmp_path / "c.h5")
    extent = memory.resumed_extent(tmp_path / "c.h5")
    assert (extent.beads, extent.largest, extent.parts, extent.alone, extent.whole) == (100, 100, True, True, False)
    with h5py.File(tmp_path / "c.h5", "r+") as file:
        file["config_toml"][...] = ord("[")
    assert memory.resumed_extent(tmp_path / "c.h5") == memory.Extent(100, whole=False)


def test_no_more_is_read_of_a_file_than_an_input_may_hold(tmp_path, monkeypatch):
    """The seal has not been checked by then: the table of the input may claim any length."""
    (tmp_path / "in.toml").write_text(INPUT.format(size=20.0, beads=8, count=1))
    build(tmp_path / "in.toml", tmp_path / "c.h5")
    assert read_config(tmp_path / "c.h5").beads == 8
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(DataError, match="config_toml has more than 80 bytes"):
        read_config(tmp_path / "c.h5")
    assert memory.resumed_extent(tmp_path / "c.h5") == memory.Extent(8, whole=False)


INPUT = """
[box]
size = [{size}, {size}, {size}]
[[molecule]]
kind = "chain"
beads = {beads}
count = {count}
[run]
end_time = 0.01
"""


@pytest.fixture
def huge(tmp_path):
    path = tmp_path / "huge.toml"
    path.write_text(INPUT.format(size=10000.0, beads=8, count=250_000_000))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["run", "huge.toml"],
        ["build", "huge.toml", "-o", "start.h5"],
        ["build", "huge.toml", "-o", "start.h5", "--replicate", "1", "1", "1"],
    ],
)
def test_what_no_machine_holds_is_refused_before_it_is_made(run_hpcchain, huge, words):
    done = run_hpcchain(words, timeout=60.0)
    assert done.returncode == 78, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert "huge.toml: molecule.count: 2000000000 beads on 1 rank need about 4.2 TB of memory" in line
    assert "Traceback" not in done.stderr and "more nodes" in line


def test_check_estimates_what_no_machine_holds_and_warns(run_hpcchain, huge):
    done = run_hpcchain(["check", huge], timeout=60.0)
    assert done.returncode == 0, done.stderr
    assert "# 2000000000 beads" in done.stdout and "4.2 TB on one rank" in done.stdout
    assert "1.2 TB of it on each rank" in done.stdout
    assert "one rank on this machine is not enough" in done.stderr


@pytest.mark.parametrize("kind", ["chain", "rod"])
def test_check_of_one_endless_molecule_takes_no_memory_either(tmp_path, kind, run_hpcchain):
    path = tmp_path / "long.toml"
    path.write_text(INPUT.format(size=100_000.0, beads=2**31, count=1).replace("chain", kind))
    done = run_hpcchain(["check", path], timeout=60.0)
    assert done.returncode == 0 and "the start is not checked" in done.stderr, done.stderr


def test_check_of_one_endless_molecule_in_steps_takes_no_memory_either(tmp_path, run_hpcchain):
    path = tmp_path / "long.toml"
    text = INPUT.format(size=100_000.0, beads=2**31, count=1).replace("[run]", '[run]\nengine = "steps"')
    every = "".join(f"{name}_every = 0.01\n" for name in ("frame", "report", "checkpoint"))
    path.write_text(f"{text}[steps]\nstep = 0.005\n[output]\n{every}")
    done = run_hpcchain(["check", path], timeout=60.0)
    assert done.returncode == 0 and "the start is not checked" in done.stderr, done.stderr


def test_check_does_not_turn_more_spheres_than_fit(huge, run_hpcchain):
    text = huge.read_text().replace('"chain"\nbeads = 8', '"monomer"\ndirectors = true')
    huge.write_text(text.replace("count = 250000000", "count = 2000000000"))
    done = run_hpcchain(["check", huge], timeout=60.0)
    assert done.returncode == 0 and "the start is not checked: that takes 1.2 TB" in done.stderr, done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_job_that_is_too_small_is_reported_by_one_rank(run_hpcchain, tmp_path, ranks):
    (tmp_path / "in.toml").write_text(INPUT.format(size=100.0, beads=8, count=10_000))
    done = run_hpcchain(["run", "in.toml"], ranks=ranks, SLURM_MEM_PER_NODE="300")
    assert done.returncode == 78, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert "SLURM_MEM_PER_NODE" in line and ("2 ranks" if ranks == 2 else "1 rank") in line


def test_runs_that_fit_begin_go_on_and_are_refused_a_smaller_job(run_hpcchain, tmp_path):
    (tmp_path / "in.toml").write_text(INPUT.format(size=30.0, beads=8, count=100))
    assert run_hpcchain(["run", "in.toml"], SLURM_MEM_PER_NODE="300").returncode == 0
    checkpoint = max((tmp_path / "out/checkpoints").iterdir())
    assert read_extent(checkpoint) == (800, 0.01)
    done = run_hpcchain(["resume", "out", "--until", "0.02"], SLURM_MEM_PER_NODE="100")
    assert done.returncode == 78 and "800 beads" in done.stderr and str(checkpoint.name) in done.stderr
    assert run_hpcchain(["resume", "out", "--until", "0.02"], SLURM_MEM_PER_NODE="300").returncode == 0


def test_a_start_file_says_how_many_beads_it_has(run_hpcchain, tmp_path):
    (tmp_path / "in.toml").write_text(INPUT.format(size=30.0, beads=8, count=100))
    assert run_hpcchain(["build", "in.toml", "-o", "start.h5"]).returncode == 0
    extent = memory.extent_of(load_input(started_from(tmp_path)))
    assert (extent.beads, extent.whole, extent.largest, extent.parts) == (800, False, 8, False)
    (tmp_path / "start.h5").write_bytes(b"nothing")
    with pytest.raises(DataError, match="from.toml: initial.file: .*start.h5: not an HDF5 file"):
        load_input(tmp_path / "from.toml")
    assert read_extent(tmp_path / "in.toml") == read_extent(tmp_path / "none.h5") == (0, 0.0)


def test_a_start_file_says_which_chains_move_in_stretches(run_hpcchain, tmp_path):
    """In the estimate of memory and in what `check` prints."""
    (tmp_path / "in.toml").write_text(INPUT.format(size=40.0, beads=30, count=1))
    assert run_hpcchain(["build", "in.toml", "-o", "start.h5"]).returncode == 0
    path = started_from(tmp_path, "[propagator]\nstretches = 30\n")
    extent = memory.extent_of(load_input(path))
    assert extent.parts and extent.alone and extent.largest == 30
    assert "a contact moves what it reaches of chains of 30 beads" in run_hpcchain(["check", "from.toml"]).stdout


def started_from(folder, more=""):
    """Write an input that has its molecules from start.h5; return its path."""
    size = load_config(folder / "in.toml").box.size
    initial = '[initial]\nmethod = "file"\nfile = "start.h5"\n'
    (folder / "from.toml").write_text(f"[box]\nsize = {list(size)}\n{initial}{more}[run]\nend_time = 0.01\n")
    return folder / "from.toml"


def test_rings_need_the_square_of_their_beads_to_be_grown(tmp_path):
    from hpcchain.config import load_config

    path = tmp_path / "in.toml"
    path.write_text(INPUT.format(size=100_000.0, beads=100_000, count=1).replace("chain", "ring"))
    assert memory.extent_of(load_config(path)).need(1) > 300 * GB


def test_processors_that_share_a_core_count_as_one(tmp_path):
    """And each for itself where the system does not say."""
    cores = {f"sys/devices/system/cpu/cpu{k}/topology/thread_siblings_list": f"{k % 2},{k % 2 + 2}\n" for k in range(4)}
    write(tmp_path, cores)
    assert machine.cores_allowed(tmp_path, [0, 2]) == 1
    assert machine.cores_allowed(tmp_path, [0, 1, 3]) == 2
    assert machine.cores_allowed(tmp_path / "nothing", [0, 1, 3]) == 3
    assert machine.cores_allowed() >= 1
