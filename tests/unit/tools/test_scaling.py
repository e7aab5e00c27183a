"""Weak scaling's boxes: copies of one rank's share, as little surface as their number allows."""

import math
import runpy
import sys
from types import SimpleNamespace

import pytest

from hpcchain.config import load_config
from hpcchain.errors import UsageError
from hpcchain.run.starts.start_from_file import system_from_file
from tests.support.copied import SIZE, mixed
from tests.support.launching import ROOT
from tests.support.run_folders import write_input


@pytest.fixture
def tool(monkeypatch):
    """What the program defines; it is not to hand over to another Python here."""
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return runpy.run_path(str(ROOT / "tools" / "scaling"))


def box(size=(5.0, 5.0, 5.0), boundary=("periodic",) * 3):
    return SimpleNamespace(size=size, boundary=boundary)


@pytest.mark.parametrize(
    ("ranks", "numbers"),
    [
        (1, [1, 1, 1]),
        (2, [1, 1, 2]),
        (4, [1, 2, 2]),
        (7, [1, 1, 7]),
        (8, [2, 2, 2]),
        (12, [2, 2, 3]),
        (32, [2, 4, 4]),
        (64, [4, 4, 4]),
        (1000, [10, 10, 10]),
    ],
)
def test_copies_make_a_compact_box(tool, ranks, numbers):
    assert sorted(tool["copies_for"](ranks, box())) == numbers


def test_a_flat_share_grows_in_height_and_walls_stay(tool):
    assert tool["copies_for"](4, box((8.0, 8.0, 2.0))) == (1, 1, 4)
    assert tool["copies_for"](4, box(boundary=("periodic", "wall", "periodic"))) == (2, 1, 2)
    assert tool["copies_for"](6, box(boundary=("wall", "periodic", "open"))) == (1, 6, 1)
    assert tool["copies_for"](1, box(boundary=("wall",) * 3)) == (1, 1, 1)
    with pytest.raises(UsageError, match="has none"):
        tool["copies_for"](2, box(boundary=("wall", "open", "wall")))


def test_parts_of_windows_that_are_not_there_are_an_error(tool):
    perf = {"events": (1.0, 4.0, 5.0)} | {f"events: {name}": (0.0, k, 9.0) for k, name in enumerate(tool["PHASES"])}
    assert tool["parts_of"](perf, 2, True) == {name: k for k, name in enumerate(tool["PHASES"])}
    for name in tool["PHASES"]:
        with pytest.raises(UsageError, match=f"no seconds of {name}; it has events, events: "):
            tool["parts_of"]({key: times for key, times in perf.items() if key != f"events: {name}"}, 2, True)
    assert set(tool["parts_of"](perf, 2, False).values()) == {""}
    alone = tool["parts_of"]({"events": (4.0, 4.0, 4.0)}, 1, False)
    assert alone.pop("computing") == 4.0 and set(alone.values()) == {0.0}


def test_the_start_of_ranks_is_the_share_copied(tool, tmp_path):
    """It is an input of its own, which starts from a file that is there."""
    options = SimpleNamespace(
        what="weak", input=write_input(tmp_path / "in.toml", mixed()), hpcchain=[sys.executable, "-m", "hpcchain"]
    )
    path, words = tool["start_of"](options, tmp_path, 4)
    large = load_config(path, words[1::2])
    assert math.prod(large.box.size) == pytest.approx(4.0 * math.prod(SIZE)) and large.output.frame_every == 1e6
    assert system_from_file(large).topology.beads == 4 * 30


def test_a_system_has_speeds_quotients_and_shares(tool):
    """Half of the simulated time is timed; all else is what neither pass takes, the exchange among it."""
    one, several = {"beads": 1000, "seconds": 4.0}, {"beads": 1000, "seconds": 2.5, "seconds apart": 2.0}
    windows = {"engine": 0.5, "first pass": 0.6, "later passes": 0.1, "work": 0.9, "exchange": 0.1}
    cells = tool["cells_of"](one, several, windows, 8.0)
    assert cells == ["1e+03", "1.6e+03", "1.60", "2.00", "120", "20", "60", "200"]


def test_a_second_core_is_a_thread_or_a_rank(tool, monkeypatch, tmp_path, capsys):
    """A rank alone has one processor or both, each of two ranks has one, or they share one; gains are by pairs."""

    class Tree:
        """One way to use two processors, and the seconds of its turns."""

        beads = 1000

        def __init__(self, root, start, cpus, clock, ranks, thread):
            took = {(1, 1, None): 3.0, (1, 1, 0): 2.0, (2, 2, None): 4.0, (1, 2, None): 8.0, (1, 2, 0): 6.4}
            self.took = took[len(cpus), ranks, thread]

        def advance(self, _):
            """Return contacts and seconds."""
            return [10, self.took]

        def end(self):
            """End."""

    monkeypatch.setattr(sys.modules["turns"], "Tree", Tree)
    monkeypatch.setattr(sys.modules["turns"], "start_of", lambda *given: None)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    table = tmp_path / "threads.csv"
    options = SimpleNamespace(case=["chains-10-0.3"], contacts=10, repeat=2, launches=2, output=str(table))
    tool["threads"](options)
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].strip("|").split("|")]
    assert cells[:2] == ["chains-10-0.3", "1000"] and [cell.split()[0] for cell in cells[3:]] == [
        "1.500",
        "0.750",
        "1.250",
    ]
    assert table.read_text().split() == ["length,fraction,beads,thread,rank,both", "10,0.3,1000,1.5,0.75,1.25"]
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    with pytest.raises(UsageError, match="one processor"):
        tool["threads"](options)


def test_parts_of_a_window_add_up(tool, monkeypatch, capsys):
    """The functions whose time is taken are still there, and the first pass of each window is told from later ones."""
    monkeypatch.setattr(sys, "argv", "scaling parts --threads 2 --beads 400 --time 0.5".split())
    assert tool["main"]() == 0
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    cost = {row[0]: float(row[1]) for row in rows if len(row) == 3 and row[1][:1].isdigit()}
    named = set(sys.modules["window_parts"].PARTS.values()) - {"choosing all ghosts anew"}
    assert named <= set(cost) and min(cost.values()) > 0.0
    whole = cost.pop("all")
    but_exchange = cost.pop("all but the exchange")
    del cost["engine without windows, as many contacts"]
    assert sum(cost.values()) == pytest.approx(whole, abs=0.01)
    assert whole - but_exchange == pytest.approx(cost["exchange (calls and waiting)"], abs=0.01)
