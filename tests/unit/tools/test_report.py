"""Tables of the manual's figures are made anew by the commands that they name."""

import importlib
import re
import shlex

import pytest

from tests.support.launching import ROOT

PAGE = """Words.

<!-- made by: echo "| a |" -->
| old |
<!-- end of table -->

<!-- made by: echo tools/scaling -->
<!-- end of table -->

More words.
"""


@pytest.fixture
def report(monkeypatch):
    """The module; it is not to hand over to another Python here."""
    monkeypatch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("report")


@pytest.mark.parametrize(
    ("ranks", "printed", "left"), [(False, "| a |", "tools/scaling"), (True, "tools/scaling", "| old |")]
)
def test_tables_are_made_anew(report, tmp_path, ranks, printed, left):
    """Those of one core, or of several ranks; the rest of the page stays, and a second time all is as before."""
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    for _ in range(2):
        report.remake(ranks, [page])
        text = page.read_text(encoding="utf-8")
        tables = {made["command"]: made["table"].splitlines() for made in report.MADE.finditer(text)}
        (table,) = [lines for command, lines in tables.items() if (report.RANKS in command) == ranks]
        assert table[:2] == [printed, ""] and len(table) == 3 and table[2].endswith("`")
        assert left in text and text.startswith("Words.\n") and text.endswith("\nMore words.\n")


def test_a_command_that_fails_leaves_the_table(report, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace('echo "| a |"', "false"), encoding="utf-8")
    with pytest.raises(report.subprocess.CalledProcessError):
        report.remake(False, [page])
    assert "| old |" in page.read_text(encoding="utf-8")


def test_the_manuals_tables_are_there(report):
    """Each names a program of the project, has rows, and says when and on what it was made."""
    found = [made for page in report.PAGES for made in report.MADE.finditer(page.read_text(encoding="utf-8"))]
    assert len(found) >= 6
    for made in found:
        program = next(word for word in shlex.split(made["command"]) if word.startswith("tools/"))
        assert (ROOT / program).is_file(), program
        lines = made["table"].splitlines()
        assert lines[0].startswith("|") and set(lines[1]) <= set("|-") and len(lines) > 4, made["command"]
        assert re.search(r"^\d.* \d{4}, .*\d processors of .*: `.*", lines[-1]), made["command"]
