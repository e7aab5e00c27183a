"""Two trees in turns: both carry their own start on, contact by contact; what is no tree is refused."""

import argparse
import os
import runpy

import h5py
import pytest

from hpcchain.io.hdf5 import seal
from tests.support.launching import OPEN_MPI, ROOT


@pytest.fixture
def tool(monkeypatch):
    """What the program defines, with two small cases; it is not to hand over to another Python here."""
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = runpy.run_path(str(ROOT / "tools" / "turns.py"))
    cases = __import__("bench_cases")
    monkeypatch.setitem(cases.CASES, "small", (10, 400, 0.1))
    monkeypatch.setitem(cases.CASES, "copied", (1, 64 * 40, 0.1))
    monkeypatch.setitem(cases.LARGE, "copied", cases.CASES["copied"])
    return found


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """A folder in which starts are kept, and found by the next test."""
    return tmp_path_factory.mktemp("starts")


def options(contacts, repeat, threads=None, ranks=1):
    """Return the program's options."""
    cpu = max(os.sched_getaffinity(0))
    return argparse.Namespace(
        parts=False, launches=1, contacts=contacts, repeat=repeat, cpu=cpu, threads=threads, ranks=ranks
    )


@pytest.mark.parametrize(
    ("name", "second", "ranks"),
    [("small", False, 1), ("copied", False, 1), ("small", True, 1), ("small", False, 2), ("small", True, 2)],
)
def test_both_trees_make_the_same_contacts(tool, starts, monkeypatch, name, second, ranks):
    """Also where one has a second thread, or both have windows."""
    for variable, value in OPEN_MPI.items():
        monkeypatch.setenv(variable, value)
    inputs = [tool["start_of"](name, ROOT, starts / "old")] * 2
    thread = min(os.sched_getaffinity(0)) if second else None
    trees = tool["both"](ROOT, inputs, options(200, 3, thread, ranks))
    carried, rows = tool["turns"](trees, name, 200, 3)
    assert carried > 0.0 and len(rows) == 3
    for old, new in rows:
        assert old[0] == new[0] > 0
        assert min(old[1], new[1]) > 0.0


def test_the_row_has_quotient_and_speeds(tool, starts, capsys):
    """Each tree makes a start of its own."""
    tool["compare"]("small", ROOT, starts, options(100, 2))
    assert {path.parent.name for path in starts.rglob("small.h5")} == {"old", "new"}
    row = [field.strip() for field in capsys.readouterr().out.splitlines()[-1].split("|")[1:-1]]
    assert row[0] == "small" and len(row) == 4
    assert float(row[1].split()[0]) > 0.0


def test_a_start_of_another_format_is_named(tool, tmp_path, capfd):
    """That of an older tree, in a folder that was named for it."""
    begun = tool["start_of"]("small", ROOT, tmp_path / "old")
    with h5py.File(begun.with_name("small.h5"), "r+") as file:
        file.attrs["format"] += 1
    seal.seal(begun.with_name("small.h5"))
    with pytest.raises(SystemExit, match="small.h5 is no start for .*: remove it, or name another --folder"):
        tool["start_of"]("small", ROOT, tmp_path / "old")
    assert "this program reads only format" in capfd.readouterr().err


def test_a_tree_that_makes_no_start_is_named(tool, monkeypatch, tmp_path, capfd):
    """Here since beads are too dense; an older tree may not know a key."""
    monkeypatch.setitem(__import__("bench_cases").CASES, "dense", (10, 400, 0.9))
    with pytest.raises(SystemExit, match=f"{ROOT} makes no start of .*dense.toml"):
        tool["start_of"]("dense", ROOT, tmp_path / "old")
    assert "box.size" in capfd.readouterr().err


def test_a_folder_without_the_program_is_refused(tool, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("sys.argv", ["turns", str(tmp_path)])
    with pytest.raises(SystemExit) as left:
        tool["main"]()
    assert left.value.code == 2
    assert "no checkout" in capsys.readouterr().err
