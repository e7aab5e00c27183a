"""What launchers say, and the ranks of a run: alone, and the ways in which several can fail to be one run."""

from types import SimpleNamespace

import pytest

from hpcchain.machine import processors_allowed
from hpcchain.parallel.comm import Single, launched, not_joined_by_mpi
from hpcchain.parallel.groups import sharing_with


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (1, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}, (4, 3)),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, (2, 1)),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, (8, 5)),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, (1, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0", "SLURM_STEP_NUM_TASKS": "2"}, (4, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "many"}, (1, 0)),
        ({"PMI_SIZE": "2"}, (2, 0)),
    ],
)
def test_launchers_are_understood(environment, expected):
    assert launched(environment) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"SLURM_STEP_NUM_TASKS": "1"}, False),
        ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"}, True),
        ({"SLURM_STEP_NUM_TASKS": "4", "PMIX_RANK": "1"}, False),
        ({"SLURM_STEP_NUM_TASKS": "4", "PMI_FD": "9"}, False),
        ({"SLURM_STEP_NUM_TASKS": "2", "OMPI_COMM_WORLD_SIZE": "4"}, False),
    ],
)
def test_srun_without_a_process_manager_is_noticed(environment, expected):
    assert not_joined_by_mpi(environment) == expected


def test_ranks_of_srun_that_nothing_joins_are_refused(run_hpcchain):
    done = run_hpcchain(["template"], SLURM_STEP_NUM_TASKS="3", SLURM_PROCID="0")
    assert done.returncode == 2 and "3 separate runs" in done.stderr and "--mpi=" in done.stderr


def test_one_rank_answers_like_many():
    comm = Single()
    assert (comm.rank, comm.size, comm.mpi) == (0, 1, None)
    assert comm.bcast("x") == "x"
    assert comm.allgather(3) == comm.on_node(3) == [3]
    assert comm.agree((78, 1), patience=0.0) == [(78, 1)]
    assert comm.any(True) and not comm.any(False)


def test_several_singletons_are_refused_by_one_rank(run_hpcchain):
    started = {"OMPI_COMM_WORLD_SIZE": "2"}
    first = run_hpcchain(["template"], **started, OMPI_COMM_WORLD_RANK="0")
    second = run_hpcchain(["template"], **started, OMPI_COMM_WORLD_RANK="1")
    assert (first.returncode, second.returncode) == (2, 2)
    assert "2 ranks, but each finds itself alone" in first.stderr
    assert (first.stdout, second.stdout, second.stderr) == ("", "", "")


def test_several_ranks_without_mpi4py_are_refused(run_hpcchain, tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('libmpi.so: cannot open shared object file')\n")
    hidden = {"PYTHONPATH": str(tmp_path)}
    alone = run_hpcchain(["template"], **hidden)
    several = run_hpcchain(["template"], **hidden, PMI_SIZE="3", PMI_RANK="0")
    assert alone.returncode == 0
    assert several.returncode == 2
    assert "3 ranks, but mpi4py cannot be used (libmpi.so: cannot open" in several.stderr


def test_runs_that_share_processors_count_those_that_they_share_with():
    """A rank with processors of its own shares with none, whatever other ranks of its node have."""
    here = processors_allowed()
    for theirs, sharing in (([here], 1), ([here, here], 2), ([here, frozenset({-1})], 1)):
        world = SimpleNamespace(on_node=lambda mine, theirs=theirs: theirs)
        assert sharing_with(world) == sharing
