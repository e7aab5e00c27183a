"""Sentences of the manual, the change log, docstrings and messages are short."""

from statistics import median

import pytest

from tests.support import sentences
from tests.support.manual_pages import PAGES, ROOT

MEDIAN, MOST = 16, 40
FEW = 3
"""Words up to which what stands alone, as in a table's cell, is no sentence."""


SAID = {
    "manual": lambda: [one for page in PAGES if page.name != "references.md" for one in sentences.of_page(page)],
    "change log": lambda: sentences.of_page(ROOT / "CHANGELOG.md"),
    "docstrings": lambda: [one for path in sentences.PACKAGE.rglob("*.py") for one in sentences.of_docstrings(path)],
    "messages": lambda: [one for path in sentences.PACKAGE.rglob("*.py") for one in sentences.of_messages(path)],
}


@pytest.mark.parametrize("where", SAID)
def test_sentences_are_short(where):
    found = SAID[where]()
    words = [sentences.words_of(sentence) for _, sentence in found]
    assert len(found) > 50
    assert [one for one, count in zip(found, words, strict=True) if count > MOST] == []
    assert median(count for count in words if count > FEW) < MEDIAN


def test_sentences_are_told_apart():
    """Code, and a link's target, are one word or none; items, cells and headings end a sentence."""
    page = (
        "# Two words\n\nOne `a. B` two, e.g. three. `Four` [five six](x.md#y_z) 0.5 seven! (Eight.) nine\nten.\n\n"
        "    code that is not read\n\n- an item\n  of four words\n- another\n\n| a | b c |\n|---|---|\n| d e f | g |\n"
    )
    found = [one for each in sentences.paragraphs(page.splitlines()) for one in sentences.sentences(each)]
    assert [sentences.words_of(one) for one in found] == [2, 5, 5, 3, 5, 1, 1, 2, 3, 1]


def test_texts_of_messages_and_docstrings_are_found(tmp_path, monkeypatch):
    path = tmp_path / "some.py"
    path.write_text(
        '"""A module. It has two sentences."""\n'
        "def public(a):\n"
        '    """Return it.\n\n    Parameters\n    ----------\n    a : int\n        What there is.\n    """\n'
        '    LOG.info("%d of them", a)\n'
        '    raise UsageError(f"{a} is " "wrong")\n'
        'def _private():\n    """Not read."""\n'
    )
    monkeypatch.setattr(sentences, "name_of", lambda path: path.name)
    assert [one for _, one in sentences.of_docstrings(path)] == [
        "A module.",
        "It has two sentences.",
        "Return it.",
        "Parameters",
        "What there is.",
    ]
    assert {one for _, one in sentences.of_messages(path)} == {"x of them", "x is wrong"}
