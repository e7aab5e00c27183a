"""Sentences of the manual, of public docstrings and of messages, as plain text: code is one word."""

import ast
import inspect
import re

from tests.support.manual_pages import ROOT, name_of, prose

PACKAGE = ROOT / "hpcchain"
MATH = re.compile(r"^\$\$\n.*?^\$\$$", re.MULTILINE | re.DOTALL)
CODE, LINK = re.compile(r"`[^`]+`"), re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]+\)")
ABBREVIATED = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|resp|Eqs?|Figs?|Sec|No|approx|eds?|pp?|vol)\.(?=\s)")
END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[\"'(*_]*[^\Wa-z_])")
WORD = re.compile(r"[^\W_](?:[\w'’.,^/·×-]*\w)?")
ITEM = re.compile(r"\s*(?:[-*+>]|\d+[.)])\s|#+ |\|")
ENTRY, COLUMNS = re.compile(r"\w[\w ,*.]* : |-{3,}$|={3,}"), re.compile(r"(?<=\S) {2,}(?=\S)")
SAYS = {"debug", "info", "warning", "error", "print"}


def words_of(sentence):
    """Return how many words a sentence has."""
    return len(WORD.findall(sentence))


def sentences(text):
    """Return the sentences of a paragraph."""
    plain = LINK.sub(r"\1", CODE.sub("CODE", " ".join(text.split())))
    return [one for one in END.split(ABBREVIATED.sub(r"\1", plain)) if WORD.search(one)]


def paragraphs(lines):
    """Return the paragraphs of lines: items of lists, cells of tables and headings are some of their own.

    Indented blocks, which show code, are left out.
    """
    found, open_, listed = [], False, False
    for line in lines:
        stripped = line.strip()
        begins = ITEM.match(line)
        if not stripped:
            open_ = False
        elif line.startswith("    ") and not open_ and not begins and not listed:
            continue
        elif stripped.startswith("|"):
            found += [] if set(stripped) <= set("|-: ") else stripped.strip("|").split("|")
            open_ = False
        elif begins or not open_:
            found.append(line[begins.end() :] if begins else line)
            open_, listed = not line.startswith("#"), bool(begins) and not line.startswith("#")
        else:
            found[-1] += f" {stripped}"
    return found


def of_page(page):
    """Return (place, sentence) of a page of the manual."""
    lines = MATH.sub("", prose(page)).splitlines()
    return [(name_of(page), one) for each in paragraphs(lines) for one in sentences(each)]


def of_docstrings(path):
    """Return (place, sentence) of the docstrings of a module and of what is public in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [(name_of(path), ast.get_docstring(tree))] + [
        (f"{name_of(path)}, {node.name}", ast.get_docstring(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    return [(place, one) for place, text in texts if text for each in entries(text) for one in sentences(each)]


def entries(text):
    """Return the paragraphs of a docstring; what is said of a parameter is one of its own."""
    lines = ["" if ENTRY.match(line.strip()) else line for line in inspect.cleandoc(text).splitlines()]
    rows = [f"|{'|'.join(COLUMNS.split(line))}" if COLUMNS.search(line) else line for line in lines]
    return paragraphs(re.sub(r"^ {4}(?=\S)", "", line) for line in rows)


def of_messages(path):
    """Return (place, sentence) of what a module raises and logs; what is put in is one word."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        raised = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        called = node.func if isinstance(node, ast.Call) else None
        said = isinstance(called, ast.Attribute) and called.attr in SAYS and ast.unparse(called.value) == "LOG"
        failed = isinstance(called, ast.Name) and called.id.endswith("Error")
        given = node.exc.args if raised else node.args if said or failed else []
        texts = [text_of(one) for one in given[:1]]
        found += [(f"{name_of(path)}, line {node.lineno}", one) for text in texts for one in sentences(text)]
    return found


def text_of(node):
    """Return the text of an expression, as far as it is written there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[-\d.]*[a-z]", "x", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(one) if isinstance(one, ast.Constant) else "x" for one in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return ""
