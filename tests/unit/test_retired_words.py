"""Words that the project has given up for those of its field stay out of code, messages, tests, tools and manual."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("hpcchain", "tests", "tools", "jobs", "docs")
TEXT = {".py", ".md", ".sh", ".toml", ".csv", ".ipynb", ""}


class Retired(NamedTuple):
    """A word in all its forms, what stands in its place, and phrases in which it may stay, all but the latter words.

    The forms are parts of identifiers, too: between underscores. `where` matches the names of the files that the word
    is to stay out of, which in others has a plain sense.
    """

    forms: str
    instead: str
    phrases: tuple[str, ...] = ()
    where: str = ""


RETIRED = (
    Retired("told|tell|tells", "sent, known, says, reports", (r"(told|tells?)[^.;:]{,60}?(?<![a-z])(apart|from)",)),
    Retired("nobody", "no rank, no user, none, not sent", ("user=nobody:nogroup",)),
    Retired("who|whom", "which, what", ("a user who",)),
    Retired("beside", "next to, adjacent, together with, besides"),
    Retired("rooms", "blocks, capacities"),
    Retired(
        "room",
        "capacity, space, block; beads have room to move",
        (r"room to (move|turn|part)", "leaves? (it|the largest bead) no room", "search for room"),
        "hpcchain/(sector|layout|parallel|propagators|contact|steps|jit|io)/|tests/support/|docs/(developer|theory)/",
    ),
    Retired(
        "ask|asks|asked|asking",
        "request, need, call; users ask",
        (),
        "hpcchain/(sector|layout|parallel|contact)/|docs/developer/(architecture|data_layout)",
    ),
    Retired(
        "reach",
        "list_radius, ghost_cells, range, swept_radius; the verb may stay",
        (
            r"(lists that|do not|position\[i\]|that boxes|and contacts) reach",
            "reach into",
        ),
        "hpcchain/(steps|sector|contact|layout|parallel|propagators)/|tests/support/kernel_tools",
    ),
    Retired(
        "block|blocks_of|chain_block|BLOCK_PLACE|BLOCK_CHAIN",
        "chain_part of a chain, row_block of a matrix",
        (),
        "hpcchain/(sector/(setup|segments)|parallel/ghosts)/",
    ),
    Retired(
        "is_part|TENSOR_PARTS|LEAST_PART|(?<!chain_)part_(state|size)|(same|replay|even)_part",
        "chain_part of a chain, output part of a run, components of a tensor, share, phase",
        (),
        "hpcchain/|tests/",
    ),
    Retired("touched", "altered, changed; beads alone touch", (), "hpcchain/(sector|layout|jit)/"),
    Retired(
        "stretch|stretches|stretching",
        "piece, span, lengthen; a stretch is beads of a long chain that move together",
        ("stretches of (a|each) molecule",),
        "hpcchain/(io/|steps/|parallel/slabs|layout/memory)",
    ),
    Retired("regroup|regroups|regrouping|regroupings", "rebuilding ghosts, ghost_rebuilds"),
    Retired("rehoming|rehomings", "refreshing skins, skin_refreshes"),
)


def files():
    """Return the texts that are looked at, but for this one."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix in TEXT]
    return sorted(path for path in found if path != Path(__file__) and "__pycache__" not in path.parts)


def stand_in(text, retired):
    """Return the lines of a text, from 1 on, in which a retired word stands."""
    for phrase in retired.phrases:
        text = re.sub(phrase, lambda found: "\n" * found.group().count("\n"), text, flags=re.IGNORECASE)
    form = re.compile(rf"(?<![A-Za-z])({retired.forms})(?![A-Za-z])", re.IGNORECASE)
    return [number for number, line in enumerate(text.splitlines(), 1) if form.search(line)]


@pytest.fixture(scope="module")
def texts():
    """Return name -> text."""
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files()}


@pytest.mark.parametrize("retired", RETIRED, ids=[each.forms for each in RETIRED])
def test_retired_words_stay_out(texts, retired):
    looked_at = [(name, text) for name, text in texts.items() if re.match(retired.where, name)]
    back = [f"{name}:{number}" for name, text in looked_at for number in stand_in(text, retired)]
    assert back == [], f"for {retired.forms} write {retired.instead}"


def test_retired_words_are_found():
    told, _, who = RETIRED[:3]
    assert stand_in("the owner told its\nrank; they are told\napart\n", told) == [1]
    assert stand_in("def _tell_all(TOLD):\n    retell, untold\n", told) == [1]
    assert stand_in("a user who runs it\n'whom'\n", who) == [2]
