"""The table of contact laws says what is there: modules, codes, dispatch, capabilities and manual agree with it."""

import ast
from pathlib import Path

import pytest

from hpcchain.config.demands.capabilities import CAPABILITIES
from hpcchain.contact.laws import contact, table

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "hpcchain" / "contact" / "laws"
EVERY = table.LAWS + table.SIMULTANEOUS
NO_LAWS = ("__init__", "contact", "table")


def function(module, name):
    """Return the syntax tree of a function of a module of the folder."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)


def returned(module, name):
    """Return the sources of what a function returns, in order."""
    found = [node for node in ast.walk(function(module, name)) if isinstance(node, ast.Return)]
    return [ast.unparse(node.value) for node in sorted(found, key=lambda node: node.lineno)]


def section(title):
    """Return the text of a section of the page of impulses, without its subsections."""
    lines = (ROOT / "docs" / "theory" / "impulses.md").read_text(encoding="utf-8").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.lstrip("#").strip() == title and line.startswith("#"))
    end = next((k for k in range(begin + 1, len(lines)) if lines[k].startswith("#")), len(lines))
    return "\n".join(lines[begin:end])


def test_each_module_is_a_law_of_the_table():
    assert sorted(law.name for law in EVERY) == sorted(
        path.stem for path in FOLDER.glob("*.py") if path.stem not in NO_LAWS
    )


def test_laws_of_one_contact_have_codes_of_their_names():
    codes = [getattr(contact, law.name.upper()) for law in table.LAWS]
    assert sorted(codes) == list(range(len(table.LAWS)))
    assert contact.SMOOTH == 0


def test_laws_are_tried_in_the_order_of_the_table():
    assert returned("table", "law_of") == [law.name.upper() for law in table.LAWS]


def test_each_law_answers_for_its_code():
    branches = [node for node in function("table", "_beyond_smooth").body if isinstance(node, ast.If)]
    found = {ast.unparse(node.test): ast.unparse(node.body[0]) for node in branches}
    expected = {
        f"c.law == {law.name.upper()}": f"return {law.name}.outcome(s, c)" for law in table.LAWS if law.name != "smooth"
    }
    assert found == expected
    assert returned("table", "_beyond_smooth")[-1] == "smooth.outcome(c)"
    assert returned("table", "outcome") == ["_beyond_smooth(s, c)", "smooth.outcome(c)"]


def test_laws_that_push_across_the_normal_need_the_whole_response():
    names = {node.id for node in ast.walk(function("table", "pushes_across")) if isinstance(node, ast.Name)}
    codes = {law.name.upper() for law in table.LAWS}
    assert names & codes == {law.name.upper() for law in table.LAWS if law.needs == table.FULL}
    assert {law.needs for law in table.LAWS} <= {table.NORMAL, table.FULL}
    assert {law.needs for law in table.SIMULTANEOUS} == {table.KICKS}


@pytest.mark.parametrize("law", EVERY, ids=lambda law: law.name)
def test_keys_are_capabilities(law):
    assert set(law.keys) <= {one.key for one in CAPABILITIES}


@pytest.mark.parametrize("law", EVERY, ids=lambda law: law.name)
def test_the_manual_has_a_section_that_names_the_module(law):
    assert f"hpcchain/contact/laws/{law.name}.py" in section(law.section)


@pytest.mark.parametrize("law", table.LAWS, ids=lambda law: law.name)
def test_a_law_says_what_it_is_and_has_an_outcome(law):
    assert ast.get_docstring(function(law.name, "outcome"))
    source = (FOLDER / f"{law.name}.py").read_text(encoding="utf-8")
    assert "hpcchain.sector" not in source
    assert "contact.sides" not in source
