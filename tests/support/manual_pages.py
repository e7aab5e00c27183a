"""What the manual consists of: pages, code blocks, links and headings, as the tests of documents read them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("[A-Z]*.md")])
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page):
    """Return a page's path from the project's folder."""
    return str(page.relative_to(ROOT))


def read(page):
    """Return a page's text."""
    return page.read_text(encoding="utf-8")


def blocks(page, language):
    """Return the fenced code blocks of a language on a page."""
    return [body for found, body in FENCE.findall(read(page)) if found == language]


def prose(page):
    """Return a page's text without fenced blocks."""
    return FENCE.sub("", read(page))


def anchors(page):
    """Return the anchors of a page's headings, as code hosts and MyST make them."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


def links(page):
    """Return a page's links to files and headings here."""
    return [target for target in LINK.findall(prose(page)) if not re.match(r"[a-z]+:", target)]


def command_lines(page):
    """Return the words of every `hpcchain` command in a page's indented blocks, without launcher and redirection."""
    found = []
    for line in re.findall(r"^ {4}((?:mpirun|srun|hpcchain) .*)$", prose(page), re.MULTILINE):
        words = re.sub(r"\s+#.*", "", line).split(">")[0].split()
        if "hpcchain" in words:
            found.append(words[len(words) - words[::-1].index("hpcchain") :])
    return found


def named_files(page):
    """Return the files and folders of the project that a page names in backticks."""
    words = re.findall(r"`((?:hpcchain|tests|tools|jobs|docs)/[^\s`]*)", prose(page))
    return [word for word in words if word not in ("docs/build",)]
