"""What all tests share: a failing rank ends the run, hypothesis is deterministic, subprocesses start clean.

Tiers: tests without a mark run in seconds; `long` ones take minutes and run only with --long, or a tenth of them with
--turn; `mpi` ones run under mpirun with --with-mpi. Every test ends by a time limit (pytest-timeout, thread method: the
signal method hangs in MPI).
"""

import contextlib
import os
import sys
from pathlib import Path

import pytest

from tests.support import launching, long_tests

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
    """Add --long, --turn and --note-long."""
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")
    turns = range(long_tests.TURNS)
    parser.addoption("--turn", type=int, choices=turns, metavar="N", help="of these run a tenth: 0 to 9")
    parser.addoption("--note-long", action="store_true", help="note in tests/long_tests.csv which of them have passed")


def pytest_collection_modifyitems(config, items):
    """Skip long tests but for those that are asked for; begin with the files that take long, so that none ends last."""
    turn, entries = config.getoption("--turn"), long_tests.read()
    skip = pytest.mark.skip(reason="takes minutes: run with --long")
    due = []
    for item in items:
        if item.get_closest_marker("long"):
            if config.getoption("--long") or (turn is not None and long_tests.is_due(item.nodeid, turn, entries)):
                due.append(item.nodeid)
            else:
                item.add_marker(skip)
    items[:] = [items[k] for k in long_tests.longest_first([item.nodeid for item in items], due, entries)]


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """On several ranks, let a failing one end them all; one process notes long tests."""
    is_first = not hasattr(config, "workerinput")
    if config.getoption("--with-mpi", default=False):
        from mpi4py import MPI

        is_first = is_first and MPI.COMM_WORLD.Get_rank() == 0
        if MPI.COMM_WORLD.Get_size() > 1:
            config.pluginmanager.register(AbortOnFailure(MPI.COMM_WORLD), "abort-on-failure")
    if is_first and config.getoption("--note-long"):
        config.pluginmanager.register(LongTests(), "long-tests")


class LongTests:
    """Notes which long tests have passed; with workers, this is where their reports come together."""

    def __init__(self):
        self.seconds, self.found, self.passed = {}, set(), set()

    def pytest_runtest_logreport(self, report):
        """Add up a test's set-up, call and tear-down."""
        if "long" not in report.keywords:
            return
        self.found.add(report.nodeid)
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        if report.failed:
            self.passed.discard(report.nodeid)

    def pytest_sessionfinish(self):
        """Write the list."""
        passed = {test: self.seconds[test] for test in self.passed}
        long_tests.write(long_tests.noted(long_tests.read(), self.found, passed, long_tests.today()))


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
