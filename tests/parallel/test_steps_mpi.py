"""Runs of the engine of steps by the command, on ranks and across restarts, end with the same bits."""

import pytest

from hpcchain.io.tools.compare import compare
from tests.support.launching import call_hpcchain
from tests.support.stepped import liquid, toml

OUTPUT = {"output": {"frame_every": 0.05, "report_every": 0.02, "checkpoint_every": 0.1}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with an input and its run on one rank."""
    folder = tmp_path_factory.mktemp("steps")
    text = toml(liquid(8, beads=120, run={"engine": "steps", "end_time": 0.3, "sectors": "all"}, **OUTPUT))
    (folder / "input.toml").write_text(text, encoding="utf-8")
    succeed(["run", "input.toml", "--output", "one"], folder)
    return folder


def succeed(args, folder, ranks=1):
    """Run a command, which must end well."""
    done = call_hpcchain(args, folder, ranks)
    assert done.returncode == 0, done.stderr


def require_same(folder, other):
    """Fail unless two runs have the same trajectory and the same reports."""
    for name in ("trajectory.h5", "observables.h5"):
        assert compare(folder / "one" / name, folder / other / name) is None


@pytest.mark.long  # 2 ranks and 3 are in the next test, too
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_leave_no_trace(folder, ranks):
    succeed(["run", "input.toml", "--output", f"on{ranks}"], folder, ranks)
    require_same(folder, f"on{ranks}")


def test_restarts_leave_no_trace(folder):
    succeed(["run", "input.toml", "--output", "cut", "--until", "0.115"], folder, 2)
    succeed(["run", "input.toml", "--output", "cut", "--resume", "auto", "--until", "0.2"], folder)
    succeed(["resume", "cut", "--until", "0.3"], folder, 3)
    require_same(folder, "cut")


def test_a_resume_between_steps_is_refused(folder):
    done = call_hpcchain(["resume", "one", "--until", "0.4001"], folder, 2)
    assert done.returncode == 2 and done.stderr.count("whole number of steps") == 1


@pytest.mark.parametrize("start, hot", [(0.8, 1.0), (0.0, 2000.0)])
def test_a_torn_bond_ends_the_run_on_all_ranks(folder, start, hot):
    """At the start, or by steps that are too long for how fast beads are."""
    tables = liquid(9, beads=40, chains=1, run={"engine": "steps", "end_time": 0.3, "sectors": "all"}, **OUTPUT)
    tables["molecule"][-1]["positions"][-1][0] += start
    tables["initial"]["temperature"] = hot
    (folder / "torn.toml").write_text(toml(tables), encoding="utf-8")
    done = call_hpcchain(["run", "torn.toml", "--output", f"torn{hot}"], folder, 2)
    assert done.returncode == 78 and done.stderr.count("is torn") == 1 and "Traceback" not in done.stderr


def test_a_run_with_a_potential_of_its_own_goes_on_with_the_same_file_only(folder):
    law = "def law(r):\n    return 5.0 * (2.0 - r) ** 2, -10.0 * (2.0 - r)\n"
    (folder / "law.py").write_text(law, encoding="utf-8")
    potential = {"name": "module", "file": "law.py", "function": "law", "on": "pair", "cutoff": 2.0}
    tables = liquid(9, beads=60, chains=0, potential=[potential], run={"engine": "steps", "end_time": 0.3}, **OUTPUT)
    (folder / "own.toml").write_text(toml(tables), encoding="utf-8")
    succeed(["run", "own.toml", "--output", "own"], folder)
    succeed(["run", "own.toml", "--output", "own2", "--until", "0.1"], folder, 2)
    (folder / "law.py").write_text(law.replace("10.0", "11.0"), encoding="utf-8")
    done = call_hpcchain(["resume", "own2", "--until", "0.3"], folder, 2)
    assert done.returncode == 78 and done.stderr.count("is not what the run began with") == 1, done.stderr
    assert "Traceback" not in done.stderr
    (folder / "law.py").write_text(law, encoding="utf-8")
    succeed(["resume", "own2", "--until", "0.3"], folder, 2)
    assert compare(folder / "own" / "trajectory.h5", folder / "own2" / "trajectory.h5") is None
