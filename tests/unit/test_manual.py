"""The manual's inputs load and run, its snippets run, its commands parse, its links and citations lead somewhere."""

import ast
import re

import pytest

from hpcchain.api import build, run, run_many
from hpcchain.cli.main import build_parser
from hpcchain.config import load_config
from hpcchain.model.starts.start import build_system
from hpcchain.parallel.comm import Single
from tests.support.manual_pages import PAGES, ROOT, anchors, blocks, command_lines, links, name_of, named_files, read
from tests.support.sentences import text_of

UNTIL = 0.02
OUTPUT = "[output]\nframe_every = 0.5\nreport_every = 0.5\n"
FIRST_RUN = ROOT / "docs" / "guide" / "install.md"
INPUTS = [(page, k) for page in PAGES for k in range(len(blocks(page, "toml")))]
SNIPPETS = [page for page in PAGES if blocks(page, "python")]
MISSING = {  # what a fragment of an input does not say
    "[box]": "[box]\nsize = [40.0, 40.0, 40.0]\n",
    "[[molecule]]": '[[molecule]]\nkind = "chain"\nbeads = 3\ncount = 2\n',
    "[run]": "[run]\nend_time = 1.0\n",
}
CITED_PAGE = re.compile(r"\bdocs/((?:[a-z_]+/)*[a-z_]+\.md)(?:, ([A-Z][^()`]*?)\))?")
UNPUBLISHED = re.compile(r"\b(?:NUMERICS|DESIGN|CONTRACT|PARALLEL|RANKS|SERIAL|HOUSE)(?:\.md| \d|, \"|: y)")
AUTHORS = re.compile(r"\b(?!None|True|False)([A-Z][a-z]\w+) (?:and ([A-Z][a-z]\w+)|et al\.)")

DATED = re.compile(r"\b([A-Z][\w-]*[a-z][\w-]*)(?: et al\.)?(?:'s)? \(?((?:18|19|20)\d\d)\b")
MONTHS = "January February March April May June July August September October November December".split()


def is_complete(block):
    """Whether a block is a whole input: those say when the run ends."""
    return "[run]" in block


def completed(block):
    """Return a fragment with the tables that an input needs besides."""
    return "\n".join([block, *(text for table, text in MISSING.items() if table not in block)])


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """Return a folder with the manual's first run, shortened, in its folder `out`, and two of its seeds in `melt`."""
    folder = tmp_path_factory.mktemp("manual")
    (first,) = blocks(FIRST_RUN, "toml")
    (folder / "first.toml").write_text(first, encoding="utf-8")
    run(folder / "first.toml", output=folder / "out", until=1.0, comm=Single())
    run_many(folder / "first.toml", ["initial.seed=1:2"], output=folder / "melt", until=0.2)
    return folder


@pytest.mark.parametrize("page, k", INPUTS, ids=lambda value: name_of(value) if hasattr(value, "parts") else str(value))
def test_inputs_load_and_whole_ones_run(tmp_path, page, k):
    """Fragments load with what they leave out; explicit ones also become systems."""
    block = blocks(page, "toml")[k]
    path = tmp_path / "input.toml"
    path.write_text(block if is_complete(block) else completed(block), encoding="utf-8")
    if 'file = "start.h5"' in block:
        (tmp_path / "small.toml").write_text("\n".join(MISSING.values()), encoding="utf-8")
        build(tmp_path / "small.toml", tmp_path / "start.h5", comm=Single())
    config = load_config(path)
    if is_complete(block):
        assert run(path, output=tmp_path / "out", until=UNTIL, comm=Single()) == 0
    elif config.initial.method == "explicit":
        assert build_system(config).topology.beads > 0


def test_the_manual_has_whole_inputs():
    assert sum(is_complete(blocks(page, "toml")[k]) for page, k in INPUTS) >= 3 and len(INPUTS) >= 10


@pytest.mark.parametrize("page", SNIPPETS, ids=name_of)
def test_snippets_run(small_run, page, monkeypatch):
    """The snippets of a page run one after the other; inputs that they write become systems."""
    monkeypatch.chdir(small_run)
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, name_of(page), "exec"), names)
    written = small_run / "input.toml"
    if written.exists():
        assert build_system(load_config(written)).topology.beads == 520
        written.unlink()
    if "displacement" in names:
        assert names["displacement"][0] == 0.0 < names["displacement"][-1] and names["pressure"] > 0.0
    assert names.get("code", 0) == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_parse(page):
    for words in command_lines(page):
        build_parser(words).parse_args(words)


def test_commands_are_found():
    assert sum(len(command_lines(page)) for page in PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.is_file() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_is_linked_to():
    """From README a reader comes to every page by links alone, or by the contents that Sphinx makes."""
    linked = {(page.parent / target.partition("#")[0]).resolve() for page in PAGES for target in links(page)}
    contents = {
        (page.parent / f"{line}.md").resolve()
        for page in PAGES
        for block in blocks(page, "{toctree}")
        for line in block.split()
    }
    assert [name_of(page) for page in PAGES if page not in linked | contents and page.name != "README.md"] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_exist(page):
    assert [name for name in named_files(page) if not list(ROOT.glob(name.rstrip(":,;/")))] == []


def sources():
    """Return the files of the program and its tests in which something may be cited."""
    found = [
        path
        for folder in ("hpcchain", "tests", "tools", "jobs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".toml", ".sh", "")
        and path.is_file()
        and path.name != "test_manual.py"
        and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    ]  # caches
    assert len(found) > 200
    return found


def test_citations_in_the_code_resolve():
    """Pages, and headings named behind them, are in the manual."""
    cited = {(page, heading) for path in sources() for page, heading in citations(path)}
    assert len(cited) >= 8 and any(heading for _, heading in cited)
    missing = [
        (page, heading)
        for page, heading in sorted(cited)
        if not (ROOT / "docs" / page).is_file() or (heading and heading not in headings(ROOT / "docs" / page))
    ]
    assert missing == []


def test_the_code_names_papers_by_author_and_year():
    """Numbers are names of experiments alone."""
    numbered = [name_of(path) for path in sources() if re.search(r"\bpapers? 00\d\b(?!-)", read(path), re.IGNORECASE)]
    assert numbered == []


def citations(path):
    """Return the pages of the manual that a file cites, each with the heading that follows or ''."""
    return CITED_PAGE.findall(re.sub(r"\s*\n\s*(?:#\s*)?", " ", path.read_text(encoding="utf-8")))


def headings(page):
    """Return the headings of a page."""
    return [line.lstrip("# ") for line in read(page).splitlines() if line.startswith("#")]


def test_the_code_cites_nothing_unpublished():
    found = [
        (name_of(path), word) for path in sources() for word in UNPUBLISHED.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_authors_that_the_code_names_are_in_the_references():
    references = read(ROOT / "docs" / "references.md")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "hpcchain").rglob("*.py"))
    named = {author for pair in AUTHORS.findall(code) for author in pair if author}
    assert {"Luding", "Lubachevsky", "Salmon"} <= named
    assert [author for author in sorted(named) if author not in references] == []


def dated(path):
    """Return the authors that a file cites with a year, each with it."""
    text = re.sub(r"\s*\n\s*(?:#\s*)?", " ", path.read_text(encoding="utf-8"))
    return {(author, year) for author, year in DATED.findall(text) if author not in MONTHS}


def test_works_cited_by_year_are_in_the_references():
    """In the code, its tests and the manual; one entry has the author and the year."""
    entries = re.split(r"\n(?=- |\n)", read(ROOT / "docs" / "references.md"))
    pages = [page for page in PAGES if page.name not in ("references.md", "CHANGELOG.md")]
    cited = {(name_of(path), *work) for path in [*sources(), *pages] for work in dated(path)}
    assert {("Torgerson", "1952"), ("Kramers", "1946")} <= {(author, year) for _, author, year in cited}
    missing = [each for each in sorted(cited) if not any(each[1] in one and each[2] in one for one in entries)]
    assert missing == []


def test_messages_that_troubleshooting_quotes_are_printed():
    """What stands in quotes among its symptoms is in texts of the package."""
    symptoms = [
        line.split(" | ")[0] for line in read(ROOT / "docs/guide/troubleshooting.md").splitlines() if "|" in line
    ]
    quoted = [words for symptom in symptoms for words in re.findall(r'"([^"]+)"', symptom)]
    assert len(symptoms) >= 20 and len(quoted) >= 20
    nodes = [node for path in (ROOT / "hpcchain").rglob("*.py") for node in ast.walk(ast.parse(read(path)))]
    texts = [text_of(node) for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp)]
    assert [words for words in quoted if not any(words in text for text in texts)] == []
