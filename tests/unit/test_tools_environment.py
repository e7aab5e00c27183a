"""Programs in tools find the project's Python from whichever one they are started with, or say what is missing."""

import subprocess
import sys

from launching import ROOT, clean_environment

BARE = [sys.executable, "-S"]  # sees no installed packages, like a system's own Python


def started(words, **environment):
    """Return how `tools/bench --list` ended."""
    return subprocess.run([*words, ROOT / "tools" / "bench", "--list"], env=clean_environment(**environment), cwd="/",
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip


def test_a_python_without_packages_hands_over():
    done = started(BARE, HPCCHAIN_VENV=sys.prefix)
    assert done.returncode == 0 and "chains-10-0.3" in done.stdout, done.stderr


def test_a_python_that_has_all_is_kept(tmp_path):
    """There is no environment where one is said to be, and none is needed."""
    done = started([sys.executable], HPCCHAIN_VENV=str(tmp_path), HPCCHAIN_MODULES="none-such")
    assert done.returncode == 0 and "chains-10-0.3" in done.stdout, done.stderr


def test_no_environment_is_one_message(tmp_path):
    done = started(BARE, HPCCHAIN_VENV=str(tmp_path))
    assert done.returncode == 78 and done.stdout == "", done.stderr
    assert done.stderr.count("\n") == 1 and "run tools/setup first" in done.stderr
