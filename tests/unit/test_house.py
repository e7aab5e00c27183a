"""Functions are short and have few parameters; those that are not say why."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import hpcchain

PACKAGE = Path(hpcchain.__file__).parent
RUFF = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]
FILE_LINES, LINES, PARAMETERS, NINE_IN_TEN = 900, 60, RUFF["lint"]["pylint"]["max-args"], 8
REASONS = ("Long, since ", "Many parameters, since ")
FEW_LINES, MEMBERS = 40, 4
KERNELS = {"kernel", "concurrent", "inlined", "outlined", "allocating", "intrinsic", "njit"}
TIMES = {"now", "since", "until"}
"""Names of times, (ticks, remainder): two numbers that kernels take one behind the other."""
SMALL = {
    "__main__.py": "python -m hpcchain",
    "cli/compare.py": "a file is a command",
    "cli/warmup.py": "a file is a command",
    "contact/laws/smooth.py": "a file is a law",
    "model/clock.py": "what Python does with times; kernels have layout/clock.py",
    "model/molecules/bonds.py": "of six modules, below those of graphs",
}
"""Modules of fewer than FEW_LINES lines, and why they stand alone; experiments of papers do anyhow."""
PLUMBING = PACKAGE / "jit"  # of numba, whose own parts have no types


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
    """Return how many lines a function has, one for its name and parameters however many they are written on."""
    return node.end_lineno - node.body[0].lineno + 2


def says_why(node, reason):
    """Whether a docstring gives a reason."""
    return reason in " ".join((ast.get_docstring(node) or "").split())


@pytest.fixture(scope="module")
def found():
    """Return `functions()`, read once."""
    return functions()


def test_files_are_small():
    """No file of the package is longer than a reader takes in at once."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(PACKAGE.rglob("*.py"))}
    assert [str(path.relative_to(PACKAGE)) for path, size in sizes.items() if size > FILE_LINES] == []


def small(folder):
    """Return the modules of a folder that are small, but for those that say what is in a folder and experiments."""
    paths = [path for path in sorted(folder.rglob("*.py")) if path.name != "__init__.py"]
    few = [path for path in paths if len(path.read_text(encoding="utf-8").splitlines()) < FEW_LINES]
    return [str(path.relative_to(folder)) for path in few if path.parent.name != "experiments"]


def test_small_files_have_a_reason():
    assert [name for name in small(PACKAGE) if name not in SMALL] == []
    assert [name for name in SMALL if not (PACKAGE / name).is_file()] == []


def test_small_files_are_found(tmp_path):
    for name, lines in (("a.py", 39), ("b.py", 40), ("__init__.py", 3)):
        (tmp_path / name).write_text("x = 1\n" * lines, encoding="utf-8")
    assert small(tmp_path) == ["a.py"]


def too_long(found):
    """Return the names of functions that are too long and do not say why."""
    return sorted({name for name, node in found if lines(node) > LINES and not says_why(node, REASONS[0])})


def too_many(found):
    """Return the names of functions that have too many parameters and do not say why."""
    return sorted({name for name, node in found if parameters(node) > PARAMETERS and not says_why(node, REASONS[1])})


def test_functions_are_short(found):
    assert too_long(found) == []


def test_functions_have_few_parameters(found):
    counts = sorted(parameters(node) for _, node in found)
    assert counts[int(0.9 * len(counts))] <= NINE_IN_TEN
    assert too_many(found) == []


def test_long_functions_and_those_of_many_parameters_are_found():
    """A reason in the docstring excuses; parameters on lines of their own do not make a function long."""
    many = ", ".join(f"p{k}" for k in range(13))
    for text, long, wide in (
        ("def f(a):\n" + "    a = 1\n" * 59, False, False),
        ("def f(a):\n" + "    a = 1\n" * 60, True, False),
        ('def f(a):\n    """Do it.\n\n    Long, since it is.\n    """\n' + "    a = 1\n" * 60, False, False),
        (f"def f({many}):\n    pass\n", False, True),
        (f'def f({many}):\n    """Do it. Many parameters, since\n    they are."""\n', False, False),
        ("def f(\n" + "".join(f"    p{k},\n" for k in range(12)) + "):\n" + "    a = 1\n" * 55, False, False),
    ):
        found = [("f", ast.parse(text).body[0])]
        assert (bool(too_long(found)), bool(too_many(found))) == (long, wide), text


def test_unit_tests_mirror_the_package():
    """But for the tools and for what Python programs use; tests of the papers' programs have a folder of their own."""
    tests = Path(__file__).parent
    tested = {
        folder.relative_to(tests)
        for path in tests.rglob("test_*.py")
        for folder in path.parents[:-1]
        if folder.is_relative_to(tests)
    } - {Path("tools"), Path("python")}
    folders = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")}
    assert tested == folders - {Path("papers"), Path("papers/experiments")}


def test_unit_tests_stand_with_what_they_test():
    """A file is named for a module of its folder, perhaps with more behind it, or imports from the folder."""
    tests = Path(__file__).parent
    paths = [path for path in sorted(tests.rglob("test_*.py")) if (PACKAGE / path.relative_to(tests)).parent.is_dir()]
    paths = [path for path in paths if path.parent != tests]
    assert len(paths) > 80
    assert [str(path) for path in paths if not stands_with(path, path.parent.relative_to(tests))] == []


def stands_with(path, folder):
    """Whether a file of tests has to do with a folder of the package, by its name or what it imports."""
    modules = {module.stem for module in (PACKAGE / folder).glob("*.py")}
    name = path.stem.removeprefix("test_")
    if any(f"{name}_".startswith(f"{module}_") for module in modules):
        return True
    home = ".".join(["hpcchain", *folder.parts])
    called = {
        f"{node.module}.{one.name}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    return any(one.startswith(f"{home}.") for one in called)


def test_tests_of_another_folder_are_found(tmp_path):
    for name, text, expected in (
        ("test_pushes_of_rods", "import numpy", True),
        ("test_contacts_that_last", "from hpcchain.contact.coefficients import lasting", True),
        ("test_contacts_that_last", "from hpcchain.contact import coefficients", True),
        ("test_contacts_that_last", "from hpcchain.sector.serial import Engine", False),
        ("test_push", "from hpcchain.contacts import x", False),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        assert stands_with(path, Path("contact")) is expected, (name, text)


def test_every_folder_says_what_is_in_it():
    """In two lines: what the folder is, and which of its modules does what."""
    for path in PACKAGE.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert said and (path.parent == PACKAGE or len(said.splitlines()) >= 3), path


def test_no_reason_is_given_that_is_not_needed(found):
    for name, node in found:
        assert lines(node) > LINES or not says_why(node, REASONS[0]), name
        assert parameters(node) > PARAMETERS or not says_why(node, REASONS[1]), name


def modules():
    """Return name -> tree of the package's modules."""
    paths = {path: path.relative_to(PACKAGE.parent).with_suffix("").parts for path in sorted(PACKAGE.rglob("*.py"))}
    return {".".join(parts): ast.parse(path.read_text(encoding="utf-8")) for path, parts in paths.items()}


def kernels_of(trees):
    """Return "module.function" of all functions that are compiled, but for those that write instructions themselves."""
    return {
        f"{module}.{node.name}"
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and is_kernel(node)
        and "intrinsic" not in ast.unparse(node.decorator_list[0])
    }


def starred(trees, kernels):
    """Return where kernels take, or are given, a starred argument that is not a time: what it has is not named."""
    found = []
    for module, tree in trees.items():
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        called = {one.asname or one.name: f"{node.module}.{one.name}" for node in imports for one in node.names}
        called |= {name.rpartition(".")[2]: name for name in kernels if name.rpartition(".")[0] == module}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and f"{module}.{node.name}" in kernels and node.args.vararg:
                found.append(f"{module}, line {node.lineno}: *{node.args.vararg.arg}")
            if isinstance(node, ast.Call):
                first, *rest = ast.unparse(node.func).split(".")
                stars = [ast.unparse(one.value) for one in node.args if isinstance(one, ast.Starred)]
                if ".".join([called.get(first, first), *rest]) in kernels and set(stars) - TIMES:
                    found.append(f"{module}, line {node.lineno}: *{', *'.join(stars)}")
    return found


def test_kernels_are_given_arguments_by_their_names():
    trees = modules()
    kernels = kernels_of(trees)
    assert len(kernels) > 300
    assert starred(trees, kernels) == []


def test_starred_arguments_of_kernels_are_found():
    push = "@kernel\ndef push(bodies, c): ...\n"
    for text, expected in (
        ("from a.kernels import push\npush(*given)", True),
        ("from a.kernels import push as blow\nblow(s, *given)", True),
        ("from a import kernels\ndef f(every):\n    kernels.push(*every, 1)", True),
        ("@kernel\ndef f(*every): ...", True),
        ("@kernel\ndef f(given):\n    return g(*given)\n@inlined\ndef g(a, b): ...", True),
        ("from a.kernels import push\npush(s, *now)", False),
        ("from a.kernels import push\npush(given)", False),
        ("def push(*given): ...\npush(*given)", False),
    ):
        trees = {"a.kernels": ast.parse(push), "a.caller": ast.parse(text)}
        assert bool(starred(trees, kernels_of(trees))) is expected, text


def long_tuples(tree):
    """Return the lines of annotations of tuples with more than MEMBERS members."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and ast.unparse(node.value) in ("tuple", "Tuple")
        and isinstance(node.slice, ast.Tuple)
        and len(node.slice.elts) > MEMBERS
    ]


def test_tuples_of_many_members_have_names():
    """As NamedTuples or classes."""
    assert {name: long_tuples(tree) for name, tree in modules().items() if long_tuples(tree)} == {}
    for text, expected in (
        ("def f() -> tuple[int, int, int, int, int]: ...", [1]),
        ("x: list[tuple[int, int, int, int, int]] = []", [1]),
        ("def f(a: tuple[int, int, int, int]) -> tuple[float, ...]: ...", []),
    ):
        assert long_tuples(ast.parse(text)) == expected, text


def unannotated(path):
    """Return the names of a module's functions, kernels apart, of which a parameter or the result has no type."""
    found = []

    def visit(node, in_class):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                if not is_kernel(child):
                    if not is_annotated(child, in_class):
                        found.append(f"{path.stem}.{child.name}, line {child.lineno}")
                    visit(child, False)
            else:
                visit(child, isinstance(child, ast.ClassDef) or (in_class and not isinstance(child, ast.ClassDef)))

    visit(ast.parse(path.read_text(encoding="utf-8")), False)
    return found


def is_kernel(node):
    """Whether numba compiles a function."""
    return any(ast.unparse(mark).split("(")[0].split(".")[-1] in KERNELS for mark in node.decorator_list)


def is_annotated(node, in_class):
    """Whether all parameters, but that of the object or class itself, and the result have a type."""
    given = [*node.args.posonlyargs, *node.args.args]
    if in_class and not any(ast.unparse(mark) == "staticmethod" for mark in node.decorator_list):
        given = given[1:]
    given += [*node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
    return node.returns is not None and all(one.annotation is not None for one in given)


SHORT_TEXT = 4


def short_texts(source):
    """Return the names of private functions whose docstrings take two to SHORT_TEXT lines, and no reason is in them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and ast.get_docstring(node) is not None:
            text = node.body[0]
            several = 1 < text.end_lineno - text.lineno + 1 <= SHORT_TEXT
            if several and not node.name.startswith("__") and not any(says_why(node, reason) for reason in REASONS):
                found.append(node.name)
    return found


def test_private_functions_say_in_one_line_what_they_do():
    found = {path.name: short_texts(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert not {name: each for name, each in found.items() if each}


def test_short_texts_of_several_lines_are_found():
    text = '    """Return it.\n\n    As it is.\n    """\n'
    assert short_texts("def _one():\n" + text + "def two():\n" + text) == ["_one"]


def test_all_but_kernels_have_types():
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if PLUMBING not in path.parents]
    assert [name for path in paths for name in unannotated(path)] == []


STRICT = ("config", "io", "model", "run")
"""Folders whose types say what a value is; mypy is strict there, too (pyproject.toml)."""


def vague(path):
    """Return the lines of a file that name Any, or the same type twice in a union."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        both = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
        sides = [ast.unparse(side).split("[")[0] for side in (node.left, node.right)] if both else [0, 1]
        if (isinstance(node, ast.Name) and node.id == "Any") or (sides[0] == sides[1] in ("tuple", "list", "dict")):
            found.append(f"{path.name}, line {node.lineno}")
    return found


@pytest.mark.parametrize("folder", STRICT)
def test_types_say_what_a_value_is(folder):
    assert [line for path in sorted((PACKAGE / folder).rglob("*.py")) for line in vague(path)] == []


def test_a_type_that_says_nothing_is_found(tmp_path):
    path = tmp_path / "some.py"
    path.write_text("def f(a: Any) -> tuple[int] | tuple: ...\ndef g(a: int | tuple) -> list[str] | None: ...\n")
    assert vague(path) == ["some.py, line 1", "some.py, line 1"]


def test_a_function_without_a_type_is_found(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(
        "@kernel\ndef k(a):\n    def inner(b): pass\n\n"
        "class C:\n    def good(self, a: int) -> int: ...\n    def bad(self, a) -> int: ...\n\n"
        "def worse(a: int): ...\ndef fine(*a: int) -> None: ...\n",
        encoding="utf-8",
    )
    assert unannotated(path) == ["some.bad, line 7", "some.worse, line 9"]


def test_ruff_sees_the_programs_without_a_suffix():
    tools = PACKAGE.parent / "tools"
    programs = [path for path in tools.iterdir() if path.is_file() and "." not in path.name]
    python = {f"tools/{path.name}" for path in programs if "python" in path.read_text(encoding="utf-8").split("\n")[0]}
    assert python == set(RUFF["extend-include"])


def test_helpers_of_tests_are_imported_under_one_name():
    """From `tests`, never from a folder inside it, or one module would be there twice."""
    tests = Path(__file__).parents[1]
    inside = {path.name for path in tests.iterdir() if path.is_dir()} | {"conftest"}
    twice = [
        (path.name, module)
        for path in tests.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
        if module.split(".")[0] in inside and (isinstance(node, ast.Import) or node.level == 0)
    ]
    assert twice == []


def test_bounds_are_checked_in_every_folder_with_kernels():
    """`tools/check` runs their unit tests once more, some with --long; papers' kernels have tests of their own."""
    folders = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if any(
            isinstance(node, ast.FunctionDef) and is_kernel(node)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    }
    check = (PACKAGE.parent / "tools" / "check").read_text(encoding="utf-8")
    chosen = re.findall(r"kernel_tests=\(tests/unit/\{(.*?)\}", check)
    assert len(chosen) == 2 and folders - {"papers", "jit"} <= set(",".join(chosen).split(",")), chosen


def test_the_formatter_decides_but_for_tables_of_numbers():
    root = PACKAGE.parent
    paths = [path for folder in ("hpcchain", "tests", "tools") for path in (root / folder).rglob("*.py")]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        marks = [k for k, line in enumerate(text.splitlines(), 1) if re.search(r"# fmt: (skip|off)$", line)]
        for line in marks:
            inside = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign) and about(node, line)]
            words = [one for node in inside for one in ast.walk(node) if isinstance(getattr(one, "value", 0), str)]
            assert len(marks) == 1 and inside and not words, (path, line)


def about(node, line):
    """Whether a statement ends on a line, or begins behind it."""
    return node.end_lineno == line or node.lineno == line + 1
