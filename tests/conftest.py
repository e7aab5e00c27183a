"""What all tests share: a failing rank ends the run, hypothesis is deterministic, subprocesses start clean.

Tiers: tests without a mark run in seconds; `long` ones take minutes and run only with --long; `mpi` ones run under
mpirun with --with-mpi. Every test ends by a time limit (pytest-timeout, thread method: the signal method hangs in MPI).
"""

import contextlib
import os
import sys
from pathlib import Path

import pytest

from tests.support import launching

with contextlib.suppress(ImportError):
    import hypothesis

    hypothesis.settings.register_profile(
        "steady",
        derandomize=True,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_addoption(parser):
    """Add --long."""
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config, items):
    """Skip long tests unless they are asked for."""
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="takes minutes: run with --long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """On several ranks, let a failing one end them all."""
    if config.getoption("--with-mpi", default=False):
        from mpi4py import MPI

        if MPI.COMM_WORLD.Get_size() > 1:
            config.pluginmanager.register(AbortOnFailure(MPI.COMM_WORLD), "abort-on-failure")


class AbortOnFailure:
    """Prints a failing rank's report and aborts: the other ranks may wait for it in an exchange for ever."""

    def __init__(self, comm):
        self.comm = comm

    def pytest_runtest_logreport(self, report):
        """Report a failed test, set-up or tear-down."""
        if report.failed:
            self.end(f"{report.nodeid} ({report.when})", report)

    def pytest_collectreport(self, report):
        """Report a test file that cannot be imported."""
        if report.failed:
            self.end(f"collecting {report.nodeid}", report)

    def end(self, what, report):
        """Print the report with what the test had printed, and abort all ranks; pytest captures nothing here."""
        rank, size = self.comm.Get_rank(), self.comm.Get_size()
        print(f"\nFAILED on rank {rank} of {size}: {what}\n{report.longreprtext}", file=sys.stderr)
        for title, text in report.sections:
            print(f"--- {title} ---\n{text}", file=sys.stderr)
        sys.stderr.flush()
        self.comm.Abort(1)


@pytest.fixture
def clean_mpi_env():
    """Environment for a subprocess that starts mpirun or is a run of one rank, whatever started the tests."""
    return launching.clean_environment()


@pytest.fixture
def run_hpcchain(tmp_path):
    """`run_hpcchain(args, cwd=tmp_path, ranks=1)`: see launching.run_hpcchain."""

    def run(args, cwd=tmp_path, ranks=1, **options):
        return launching.run_hpcchain(args, Path(cwd), ranks, **options)

    return run
