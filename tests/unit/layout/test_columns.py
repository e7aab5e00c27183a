"""No kernel reads a column, a counter or a word of an entry by its number: `layout.arrays` names them all."""

import ast
from pathlib import Path

import pytest

import hpcchain
from hpcchain.layout import arrays, workspace

PACKAGE = Path(hpcchain.__file__).parent
KERNELS = {"hpcchain.jit.decorators", "hpcchain.jit.outlined"}

# Arrays with two axes, by the names that a sector's fields and kernels' parameters have; vectors of three components
# and the rows of `owner_history_at`, one for each segment, are no tables of columns. Of scratch, rows have names.
NO_TABLES = {"normals", "owner_history_at", "matrix"}
SCRATCH = {"normals", "matrix"}
TABLES = {name for name, text in arrays.FIELDS.items() if " " in text} - NO_TABLES | arrays.JOINED.keys()
FLAT = {"par", "count", "scalars", "cells", "owner_history"}
PARAMETERS = {
    "starts",
    "bounds",
    "segment",
    "mol",
    "window_molecule",
    "next_event",
    "event_time",
    "timing",
    "spare",
    "contacts",
    "log",
    "flight",
    "tied",
    "lists",
}
FLAT_PARAMETERS = {"par", "count", "scalars"}
OTHER_NAMES = {"beads": "tied"}
# Other names of them, and other tables and entries, in single files.
TABLES_OF = {
    "sector/queue/tournament.py": {"time"},
    "sector/search/broad_phase.py": {"rows"},
    "layout/id_table.py": {"table"},
}
FLAT_OF = {
    "sector/speculation/ghost_messages.py": {"out", "message"},
}
# Where parameters of these names are the sector's arrays; elsewhere they may be anything.
HOLDERS = ("sector/", "contact/", "propagators/interface.py")
# Operators that take a number apart (which side, which axis): what is under them is no column.
WITHIN = (ast.BitAnd, ast.Mod, ast.RShift, ast.LShift, ast.FloorDiv)
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def kernel_files():
    """Return the files that have kernels, and those of `parallel`, which has a sector's arrays at hand."""
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if "parallel" in path.relative_to(PACKAGE).parts or has_kernels(path)
    ]


def has_kernels(path):
    """Whether a file imports what compiles kernels."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            if node.module in KERNELS or names & KERNELS:
                return True
    return False


class Finder(ast.NodeVisitor):
    """Lists the literal columns of a source: (line, text)."""

    def __init__(self, place):
        self.holder = place.startswith(HOLDERS)
        self.found = []
        self.aliases = dict.fromkeys(TABLES_OF.get(place, ()), "table")
        self.aliases |= dict.fromkeys(FLAT_OF.get(place, ()), "flat")

    def visit_FunctionDef(self, node):
        """Look at one function: its local names for arrays are its own."""
        outer, self.aliases = self.aliases, dict(self.aliases)
        for each in ast.walk(node):
            if isinstance(each, ast.Assign) and len(each.targets) == 1:
                self.note(each.targets[0], each.value)
        self.generic_visit(node)
        self.aliases = outer

    def note(self, target, value):
        """Note a local name of an array, or of one of its rows."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                self.note(one, other)
        elif isinstance(target, ast.Name):
            whole = self.kind(value)
            if whole:
                self.aliases[target.id] = whole
            elif isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Tuple):
                if self.kind(value.value) == "table":
                    self.aliases[target.id] = "table" if isinstance(value.slice, ast.Slice) else "flat"

    def kind(self, node):
        """Return what an expression is: "table", "flat" (subscripted by column alone) or None."""
        if isinstance(node, ast.Attribute):
            base = node.value
            if getattr(base, "id", "") in ("s", "sector") or getattr(base, "attr", "") == "sector":
                return "table" if node.attr in TABLES else "flat" if node.attr in FLAT else None
        if isinstance(node, ast.Name):
            if node.id in self.aliases:
                return self.aliases[node.id]
            name = OTHER_NAMES.get(node.id, node.id)
            if self.holder:
                return "table" if name in PARAMETERS else "flat" if name in FLAT_PARAMETERS else None
        return None

    def visit_Subscript(self, node):
        """Judge one subscript."""
        kind, index = self.kind(node.value), node.slice
        if kind == "table":
            index = index.elts[1] if isinstance(index, ast.Tuple) and len(index.elts) == 2 else None
        if getattr(node.value, "attr", "") in SCRATCH and getattr(node.value.value, "id", "") == "s":
            kind, index = "flat", index.elts[0] if isinstance(index, ast.Tuple) else index
        if kind and index is not None and has_number(index):
            self.found.append((node.lineno, ast.unparse(node)))
        self.generic_visit(node)

    def visit_Call(self, node):
        """Judge a counter's number that is handed on."""
        if getattr(node.func, "id", "") == "note_iterations" and has_number(node.args[3]):
            self.found.append((node.lineno, ast.unparse(node)))
        self.generic_visit(node)


def has_number(node):
    """Whether an index is or contains a literal integer."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp) and isinstance(node.op, WITHIN):
        return False
    if isinstance(node, ast.IfExp):
        return has_number(node.body) or has_number(node.orelse)
    if isinstance(node, ast.Slice):
        return any(has_number(end) for end in (node.lower, node.upper) if end is not None)
    if isinstance(node, ast.BinOp):
        return has_number(node.left) or has_number(node.right)
    return isinstance(node, ast.UnaryOp) and has_number(node.operand)


def literal_columns(source, place="sector/any.py"):
    """Return (line, text) of what the source of a file of the package reads by number."""
    finder = Finder(place)
    finder.visit(ast.parse(source))
    return finder.found


def number_names(names):
    """Return those of some constants, (name, value), that say no more than their value."""
    bad = []
    for name, value in names:
        parts = name.lower().split("_")
        words = {str(value)} | ({NUMBERS[value]} if type(value) is int and 0 <= value < len(NUMBERS) else set())
        plain = parts[-1] in words and (len(parts) == 1 or parts[0] in ("col", "column", "c", "k", "n", "number"))
        if plain or name[1:] == str(value):
            bad.append(name)
    return bad


def integer_constants(tree):
    """Return (name, value) of the module's constants that are given as one literal integer."""
    return [
        (target.id, node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int
        for target in node.targets
        if isinstance(target, ast.Name)
    ]


@pytest.mark.parametrize("path", kernel_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_column_is_a_number(path):
    """Every column and counter has a name, and every name says more than its number."""
    place = str(path.relative_to(PACKAGE))
    assert literal_columns(path.read_text(), place) == []
    assert number_names(integer_constants(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize("module", [arrays, workspace], ids=lambda module: module.__name__)
def test_names_of_columns_are_no_numbers(module):
    """What the tables define are no numbers in words."""
    assert number_names((name, value) for name, value in vars(module).items() if name.isupper()) == []


@pytest.mark.parametrize(
    "text",
    [
        "s.segment[i, 2]",
        "s.starts[i, 3 + c]",
        "s.starts[:, 0:6]",
        "s.count[13]",
        "s.count[0 if wall else 1]",
        "starts[j, 6]",
        "s.par[L.SIZE + 1]",
        "s.par[1 + c]",
        "self.ghosted.sector.bounds[rows, 1]",
        "contacts[k, 2 * side]",
        "beads[k, 0]",
        "s.winner[k, 3]",
        "s.owner_history[place + 3]",
        "s.mol[m, 10:13]",
        "s.normals[0]",
        "s.matrix[2, c]",
        "note_iterations(s, offset, m, 17)",
        "next_event[beads[a, b], 3]",
        "def f(s):\n    row = s.log[k]\n    row[5] = 0.0",
        "def f(s):\n    log = s.log[:n]\n    log[:, 4]",
    ],
)
def test_literal_columns_are_found(text):
    """The test sees a column that is a number, in each of the forms that there were."""
    assert len(literal_columns(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "s.segment[i, L.MOLECULE]",
        "s.starts[i, L.VX + c]",
        "s.starts[i, c]",
        "s.par[L.SIZE + L.Y]",
        "s.lists[rows, L.CELL]",
        "s.scalars[L.SCALAR_WALL_IMPULSE + (-1 - code) % 3]",
        "contacts[k >> 1, L.MEMBER + L.SIDE * (k & 1)]",
        "normals[k, 2]",
        "s.normals[L.CONTACT_NORMAL]",
        "s.matrix[d, c]",
        "s.owner_history_at[m, number + 1]",
        "s.window_event[1:n]",
        "position[i, 2]",
        "s.bond_row[i + 1]",
    ],
)
def test_what_is_no_column_passes(text):
    """Rows, components of vectors and named columns are as they may be."""
    assert literal_columns(text) == []


def test_numbers_in_words_are_found():
    """A constant that only spells its value is as good as the literal."""
    bad = [("ONE", 1), ("COL_3", 3), ("COLUMN_TWO", 2), ("C4", 4)]
    assert number_names(bad) == [name for name, _ in bad]
    assert number_names([("RADIUS", 2), ("LEN2", 1512), ("X", 0), ("MOST_TIES", 16)]) == []


def test_columns_of_an_array_are_told_apart():
    """The names of an array's columns are as many as its columns, each of another number."""
    for names, columns in (
        ("X Y Z VX VY VZ START_TICKS START_REM", arrays.START_COLUMNS),
        ("ACCELERATION SPEED", arrays.BOUNDS_COLUMNS),
        ("START_MARKS MOLECULE", arrays.SEGMENT_COLUMNS),
        ("PARTNER_SERIAL EVENT_BITS", arrays.NEXT_EVENT_COLUMNS),
        ("LENGTH SERIAL", arrays.TIMING_COLUMNS),
        (
            "LOG_TIME LOG_KIND LOG_LOWER LOG_HIGHER LOG_IMPULSE LOG_QUANTA LOG_STATUS LOG_MOLECULE LOG_TANGENTIAL "
            "LOG_TANGENTIAL_Y LOG_TANGENTIAL_Z LOG_WORK LOG_HEAT",
            arrays.KEPT_COLUMNS,
        ),
    ):
        assert [getattr(arrays, name) for name in names.split()] == list(range(columns))


def test_counters_have_the_numbers_of_their_names():
    """What a report calls a counter is what kernels call it."""
    assert [getattr(arrays, f"N_{name.upper()}") for name in arrays.COUNTERS] == list(range(len(arrays.COUNTERS)))
    assert {name for name in vars(arrays) if name.startswith("N_")} == {f"N_{n.upper()}" for n in arrays.COUNTERS}
    assert arrays.COUNTERS[:2] == ("contacts", "wall_contacts")
    assert arrays.N_ITERATIONS == arrays.N_STEPS + arrays.OF_SUM
    assert arrays.N_MOST_NODE_ITERATIONS == arrays.N_NODES + arrays.OF_MOST
