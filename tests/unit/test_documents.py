"""What README, the manual's tables and the demo's input say is what the program does."""

import math
import re
from pathlib import Path

import pytest

from hpcchain import __version__
from hpcchain.cli.main import COMMANDS
from hpcchain.config import load_config
from hpcchain.model.system import BEAD_STATE
from hpcchain.papers import experiments
from hpcchain.propagators.catalogue import PROPAGATORS
from tests.support.manual_tables import capabilities_markdown, keys_markdown
from tests.unit.test_imports import FLOORS

ROOT = Path(__file__).resolve().parents[2]


def text(path):
    """Return a document's text."""
    return (ROOT / path).read_text(encoding="utf-8")


def first_cells(path, prefix):
    """Return the words in backticks in the first column of a page's tables, of rows that begin so."""
    return [line.split("`")[1] for line in text(path).splitlines() if line.startswith(prefix)]


def test_input_page_lists_every_key_as_the_schema_has_it():
    page = text("docs/reference/input.md")
    begin = page.index("\n", page.index("<!-- keys:")) + 1
    assert page[begin : page.index("<!-- end of keys -->")] == keys_markdown()


def test_data_layout_page_has_the_table_of_a_beads_state():
    page = text("docs/developer/data_layout.md")
    begin = page.index("\n", page.index("<!-- bead state:")) + 1
    rows = [
        f"| `{each.name}` | {each.dtype.__name__.rstrip('_')} | {max(each.columns, 1)} | {each.meaning} |\n"
        for each in BEAD_STATE
    ]
    table = "| array | type | columns | meaning |\n|---|---|---|---|\n" + "".join(rows)
    assert page[begin : page.index("<!-- end of bead state -->")] == table


def test_capabilities_page_says_what_works_with_what():
    page = text("docs/guide/capabilities.md")
    begin = page.index("\n", page.index("<!-- capabilities:")) + 1
    assert page[begin : page.index("<!-- end of capabilities -->")] == capabilities_markdown()


def test_propagators_page_has_the_catalogue():
    """The table of what there is, and the table of what steps there are to choose."""
    rows = [line.split(" | ") for line in text("docs/guide/propagators.md").splitlines() if line.startswith("| `")]
    named = [(row[0].split("`")[1], row[1]) for row in rows]
    first = {name: what for name, what in reversed(named) if name in PROPAGATORS}
    assert set(first) == set(PROPAGATORS)
    assert [name for name, what in first.items() if not what.startswith(PROPAGATORS[name].meaning)] == []
    (solvers,) = [row for row in rows if row[0] == "| `solver`"]
    for name, cell in zip(("rattle", "variational"), solvers[1:], strict=True):
        listed = [word.strip('"') for word in cell.split("`") if word.startswith('"')]
        assert listed == list(PROPAGATORS[name].solvers)


def test_commands_page_lists_every_command():
    assert [words.split()[1] for words in first_cells("docs/reference/commands.md", "| `hpcchain ")] == list(COMMANDS)


def test_readme_names_every_command():
    section = text("README.md").split("## Commands")[1].split("##")[0]
    assert [name for name in COMMANDS if f"`{name}`" not in section] == []


def test_install_page_lists_every_template():
    table = text("docs/guide/install.md").split("## Templates")[1]
    listed = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    assert listed == {path.stem for path in (ROOT / "hpcchain" / "config" / "templates").glob("*.toml")}


@pytest.mark.parametrize("page", ["README.md", "docs/performance/index.md"])
def test_pages_that_are_read_first_are_short(page):
    assert len(text(page).splitlines()) <= 120


def test_what_is_new_fits_a_screen_or_two():
    assert len(text("CHANGELOG.md").split("\n## ")[1].splitlines()) <= 80


def test_papers_page_lists_every_experiment():
    rows = [line for line in text("docs/papers.md").splitlines() if line.startswith("| `")]
    listed = {name for line in rows for name in line.split("`")}
    assert [name for name in experiments.found() if name not in listed] == []


def test_validation_names_tests():
    named = {word.strip("`,;") for word in text("docs/validation.md").split() if word.startswith("`tests/")}
    assert len(named) > 50
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_citation_and_changelog_know_the_version():
    assert f"version: {__version__}\n" in text("CITATION.cff")
    assert re.search(rf"^## (Unreleased: )?{re.escape(__version__)}\b", text("CHANGELOG.md"), re.MULTILINE)


def test_demo_is_a_job_of_real_size():
    config = load_config(ROOT / "jobs" / "demo.toml")
    (chain,) = config.molecules
    beads = chain.count * chain.beads
    assert (chain.kind, chain.beads) == ("chain", 20) and chain.count >= 200
    assert beads * math.pi / 6.0 / math.prod(config.box.size) >= 0.2


def test_architecture_page_has_every_floor_in_order():
    rows = text("docs/developer/architecture.md").split("| floor |")[1].split("\n\n")[0].splitlines()[2:]
    shown = [
        {name.removeprefix("hpcchain/").strip("/").removesuffix(".py").replace("/", ".") for name in cell[1::2]}
        for cell in (row.split(" | ")[0].split("`") for row in rows)
    ]
    assert shown == [set(floor) - {"__main__"} for floor in reversed(FLOORS)]


def test_developer_pages_name_functions_that_are_there():
    """What a page says is in a file is in it."""
    pages = sorted((ROOT / "docs" / "developer").glob("*.md"))
    named = [pair for page in pages for pair in re.findall(r"`(\w+)`\s+\(?in\s+`(hpcchain/[\w/.]+)`", page.read_text())]
    assert len(named) >= 5
    assert [(name, path) for name, path in named if not re.search(rf"\b{name}\b", text(path))] == []


def test_the_glossary_names_what_is_in_the_code():
    """Identifiers of the second column, those with a capital or an underscore, are somewhere in the package."""
    rows = text("docs/glossary.md").split("## Words with two meanings")[0].splitlines()
    cells = [row.split(" | ")[1] for row in rows if row.startswith("| ") and row.count(" | ") >= 2]
    named = {
        name
        for cell in cells
        for name in re.findall(r"\b\w+\b", cell)
        if "_" in name.strip("_") or name != name.lower()
    }
    assert len(named) >= 10
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "hpcchain").rglob("*.py"))
    assert [name for name in sorted(named) if not re.search(rf"\b{name}\b", code)] == []


MARKER = re.compile(r"( *)(?:[-*+>]|\d{1,9}([.)])|#{1,6})(?: |$)")


def markers_inside_paragraphs(page):
    """Yield lines of a paragraph that Markdown takes for the begin of something else, as of a list.

    A list may follow a colon, or an item of its own indent.
    """
    fenced, before, lists = False, "", set()
    for line in page.splitlines():
        fenced ^= line.lstrip().startswith("```")
        found = None if fenced else MARKER.match(line)
        if found:
            kind = len(found[1]), found[2]
            if before and kind not in lists and not before.endswith(":"):
                yield line
            lists = {other for other in lists if other[0] <= kind[0]} | {kind}
        elif not before and line[:1].strip():
            lists = set()
        before = "" if fenced else line.strip()


def test_no_line_of_a_paragraph_begins_a_list():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 30
    found = {str(page.relative_to(ROOT)): list(markers_inside_paragraphs(page.read_text())) for page in pages}
    assert {page: lines for page, lines in found.items() if lines} == {}


def test_what_begins_a_list_is_noticed():
    wrong = "Boltzmann's constant is\n1. Unknown keys\n\n- an item of\n  3) words\n- another\n\nthe sum of 2\n+ 3\n"
    assert list(markers_inside_paragraphs(wrong)) == ["1. Unknown keys", "  3) words", "+ 3"]
    right = "Such as:\n- one\n  of two\n- two:\n  1. a\n  2. b\n\n# Title\ntext\n```\ntext\n1. code\n```\n1.5 is more\n"
    assert list(markers_inside_paragraphs(right)) == []
