"""Modules import from the floors below their own and never in a circle; MPI and HDF5 have one importing floor each."""

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = (
    ("errors", "own_folder", "machine"),
    ("jit",),
    ("layout",),
    ("model",),
    ("propagators.catalogue",),
    ("config",),
    ("model.starts", "model.topology", "model.sound"),  # made of, or checked like, an input
    ("propagators",),
    ("contact",),
    ("sector",),
    ("parallel",),
    ("steps",),
    ("io",),
    ("observe",),
    ("analysis",),
    ("run",),
    ("api",),
    ("papers",),
    ("cli", "__main__"),
)
"""From the lowest up; of two names that fit a module the longer counts."""
ONLY_IN = {"mpi4py": "hpcchain.parallel", "h5py": "hpcchain.io"}


def imported(name, path, modules, typed=True):
    """Return the modules that a file imports, also inside functions and, if asked, for its types alone."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in list(ast.walk(tree)):
        if not typed and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}, line {node.lineno}: relative import"
            whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full if full in modules else node.module for full in whole.values()}
    return found


def files():
    """Return module -> path of the whole package."""
    paths = {}
    for path in (ROOT / "hpcchain").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@pytest.fixture(scope="module")
def imports():
    """Return module -> the modules that it imports, of the whole package."""
    paths = files()
    return {name: imported(name, path, paths) for name, path in paths.items()}


def floor_of(module):
    """Return (number, name) of the floor that a module of the package is on; the package itself is the ground."""
    fits = [
        (len(name), number, name)
        for number, floor in enumerate(FLOORS)
        for name in floor
        if f"{module}.".startswith(f"hpcchain.{name}.")
    ]
    assert fits or module == "hpcchain", f"{module} is on no floor"
    return max(fits)[1:] if fits else (-1, "")


def arrows_up(imports):
    """Return the imports from a floor above."""
    return sorted(
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if other in imports and floor_of(other)[0] > floor_of(module)[0]
    )


def test_no_import_runs_up(imports):
    assert arrows_up(imports) == []


def test_imports_that_run_up_are_found(tmp_path):
    """Also those inside functions and those for types alone."""
    path = tmp_path / "core.py"
    for text in (
        "from hpcchain.run import folder",
        "import hpcchain.run.folder",
        "def f():\n    from hpcchain.run.folder import names",
        "if TYPE_CHECKING:\n    from hpcchain.run.folder import names",
    ):
        path.write_text(text, encoding="utf-8")
        modules = {"hpcchain.run.folder": path, "hpcchain.sector.core": path}
        found = {"hpcchain.run.folder": set(), "hpcchain.sector.core": imported("core", path, modules)}
        assert arrows_up(found) == ["hpcchain.sector.core imports hpcchain.run.folder"], text


def test_no_modules_import_each_other_in_a_circle():
    """Two classes may name each other in their annotations; that needs no order of import."""
    paths = files()
    graph = {name: imported(name, path, paths, typed=False) & paths.keys() for name, path in paths.items()}
    assert sum(map(len, graph.values())) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("library", ONLY_IN)
def test_mpi_and_hdf5_are_imported_on_their_own_floors_only(imports, library):
    users = {module for module, others in imports.items() if library in {other.split(".")[0] for other in others}}
    assert users, f"nothing imports {library}"
    assert [module for module in users if not f"{module}.".startswith(f"{ONLY_IN[library]}.")] == []


COMPILERS = {"hpcchain.jit.decorators", "hpcchain.jit.outlined"}
INTRINSICS = {"hpcchain.sector.prefetch"}  # which writes one instruction


def foreign(imports):
    """Return the libraries besides numpy and numba that modules with kernels import, and which do."""
    return [
        (module, library)
        for module, others in imports.items()
        if others & COMPILERS and not module.startswith("hpcchain.jit.")
        for library in sorted({other.split(".")[0] for other in others} - sys.stdlib_module_names - {"hpcchain"})
        if library not in ("numpy", "numba") and not (library == "llvmlite" and module in INTRINSICS)
    ]


def test_modules_with_kernels_import_numpy_and_numba_alone(imports):
    assert sum(bool(others & COMPILERS) for others in imports.values()) > 60
    assert foreign(imports) == []


def test_a_foreign_library_is_found():
    kernel = {"hpcchain.jit.decorators", "numpy", "math"}
    assert foreign({"hpcchain.contact.pair": kernel | {"scipy.linalg"}}) == [("hpcchain.contact.pair", "scipy")]
    assert foreign({"hpcchain.contact.pair": kernel, "hpcchain.observe.plot": {"matplotlib"}}) == []


def test_ranks_read_no_array_of_a_sector():
    """`parallel` asks `GhostedSector`; names of constants are all that it has of `layout.arrays`."""
    for path in (ROOT / "hpcchain" / "parallel").rglob("*.py"):
        reads = [node.lineno for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_sector(node)]
        assert reads == [], path


def is_sector(node):
    """Whether a node takes the arrays, `sector` of an engine or core, or one by its name."""
    return isinstance(node, ast.Attribute) and node.attr in {
        "sector",
        "starts",
        "segment",
        "next_event",
        "mol",
        "timing",
    }


def shadowed(tree):
    """Return the names that a module imports and one of its functions takes for something else."""
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    taken = {
        node.arg if isinstance(node, ast.arg) else node.id
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    return sorted(imported & taken)


def test_no_function_gives_an_imported_name_another_sense():
    for text, expected in (
        ("import time\ndef f():\n    time = 1\n", ["time"]),
        ("from a import b as c\ndef f(x):\n    return [c for c in x]\n", ["c"]),
        ("from a import b\ndef f(b): pass\n", ["b"]),
        ("import time\ndef f(t):\n    return time.time()\ntimes = f\n", []),
    ):
        assert shadowed(ast.parse(text)) == expected, text
    found = {name: shadowed(ast.parse(path.read_text(encoding="utf-8"))) for name, path in files().items()}
    assert {name: names for name, names in found.items() if names} == {}
