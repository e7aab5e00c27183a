"""Functions are short and have few parameters; those that are not say why."""

import ast
from pathlib import Path

import pytest

import hpcchain

PACKAGE = Path(hpcchain.__file__).parent
LINES, PARAMETERS, NINE_IN_TEN = 60, 12, 8
REASONS = ("Long, since ", "Many parameters, since ")


def functions():
    """Return (name, node) of every function of the package, the module's name before a dot."""
    return [
        (f"{path.stem}.{node.name}", node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def parameters(node):
    """Return how many parameters a function has."""
    return len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)


def lines(node):
    """Return how many lines a function has."""
    return node.end_lineno - node.lineno + 1


def says_why(node, reason):
    """Whether a docstring gives a reason."""
    return reason in " ".join((ast.get_docstring(node) or "").split())


@pytest.fixture(scope="module")
def found():
    """Return `functions()`, read once."""
    return functions()


def test_functions_are_short(found):
    long = {name for name, node in found if lines(node) > LINES and not says_why(node, REASONS[0])}
    assert sorted(long) == []


def test_functions_have_few_parameters(found):
    counts = sorted(parameters(node) for _, node in found)
    assert counts[int(0.9 * len(counts))] <= NINE_IN_TEN
    many = {name for name, node in found if parameters(node) > PARAMETERS and not says_why(node, REASONS[1])}
    assert sorted(many) == []


def test_no_reason_is_given_that_is_not_needed(found):
    for name, node in found:
        assert lines(node) > LINES or not says_why(node, REASONS[0]), name
        assert parameters(node) > PARAMETERS or not says_why(node, REASONS[1]), name
