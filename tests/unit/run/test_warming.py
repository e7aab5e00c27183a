"""The warm-up: what it compiles, how it knows that all is there, and which old caches it removes."""

import ast
import importlib
import itertools
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import hpcchain
from hpcchain.cli import warmup as command
from hpcchain.cli.main import main
from hpcchain.config.load import config_from_table
from hpcchain.errors import EngineError
from hpcchain.jit import cache
from hpcchain.jit.store import Store
from hpcchain.layout.arrays import Sector
from hpcchain.model.physics.extended import is_extended
from hpcchain.model.starts.start import physics_with
from hpcchain.run import warming
from tests.support.launching import clean_environment, run_python


def configs(texts):
    """Return the resolved inputs of some texts."""
    return [config_from_table(tomllib.loads(text), "warm-up") for text in texts]


def options_of(config):
    """Return which of `Sector`'s options the engine of events takes for an input."""
    moved = {(one.propagator or config.propagator).name for one in config.molecules}
    rigid = any(one.kind == "rigid" for one in config.molecules)
    return moved != {"taylor"} or rigid, is_extended(physics_with(config, 1e-9)), config.propagator.stretches == 100


def test_every_choice_of_options_is_warmed_or_said_to_be_left_out():
    """Kernels are compiled anew for each."""
    assert Sector._fields[-3:] == ("stepper", "extended", "stretched")
    usual, rare = (
        sorted(options_of(one) for one in configs(texts) if one.run.engine == "events")
        for texts in (warming.USUAL, warming.RARE)
    )
    assert sorted(usual + rare) == sorted(itertools.product((False, True), repeat=3))
    assert all(sum(one) > 1 for one in rare)  # as `LEFT_OUT` says: two of these together


def test_the_engine_of_steps_is_warmed_with_all_that_it_moves():
    of_steps = [one for one in configs(warming.USUAL) if one.run.engine == "steps"]
    assert sorted(one.steps.integrator for one in of_steps) == ["contact", "gvi"]
    kinds = [{molecule.kind for molecule in one.molecules} for one in of_steps]
    assert all({"chain", "ring", "monomer", "rigid"} <= one for one in kinds) and "rod" in set.union(*kinds)


CALLED = """
import json, sys
from hpcchain.jit import outlined
own, taken = outlined.KernelCache.load_overload, {}
def load(self, sig, context):
    found = own(self, sig, context)
    if type(self) is outlined.KernelCache:
        taken[f"{self.function.__module__}.{self.function.__qualname__}"] = found is not None
    return found
outlined.KernelCache.load_overload = load
from hpcchain import api
api.warm_up(sys.argv[1])
print(json.dumps(taken))
"""
ELSEWHERE = {
    "hpcchain.analysis": "of `hpcchain analyze`",
    "hpcchain.steps.friction.friction_kernels.fill_matrix": "of contacts that sweeps do not solve",
    "hpcchain.steps.friction.friction_kernels.residual": "of the same",
}
"""Kernels that no run of the warm-up calls, by how their names begin; each compiles in a second or two."""


def called_from_python():
    """Return the names of all kernels that functions which are not compiled refer to."""
    from hpcchain.jit.outlined import Kept

    found = set()
    names = [one.name for one in pkgutil.walk_packages(hpcchain.__path__, "hpcchain.") if "__main__" not in one.name]
    for module in map(importlib.import_module, names):
        pending = list(ast.parse(Path(module.__file__).read_bytes()).body)
        while pending:
            node = pending.pop()
            if isinstance(node, ast.FunctionDef) and isinstance(getattr(module, node.name, None), Kept):
                continue
            value = vars(module).get(node.id) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                value = getattr(vars(module).get(node.value.id), node.attr, None)
            if isinstance(value, Kept):
                found.add(f"{value.py_func.__module__}.{value.py_func.__qualname__}")
            pending += ast.iter_child_nodes(node)
    return found


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_after_the_warm_up_no_kernel_is_left_that_python_calls(tmp_path):
    """Its runs, once more, compile nothing, and what none of them calls is known."""
    warming.warmup()
    taken = {}
    for text in warming.USUAL:
        done = run_python(["-c", CALLED, text], tmp_path, timeout=900.0)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        assert all(found.values()), [name for name, there in found.items() if not there]
        taken |= found
    left = {name for name in called_from_python() - taken.keys() if not name.startswith(tuple(ELSEWHERE))}
    assert left == set()


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The store of a cache folder that only has three records, in place of the real one."""
    folder = tmp_path / "base" / "hpcchain-0123456789abcdef"
    folder.mkdir(parents=True)
    one = Store(folder / warming.NAME)
    for number in range(3):
        one.save(bytes([number]) * 32, b"code" * number)
    monkeypatch.setattr(warming, "STORE", one)
    return one


@pytest.fixture
def asides(monkeypatch):
    """The texts that a warm-up has run, each in no time."""
    run = []

    class Aside:
        def __init__(self, text):
            run.append(text)

        def is_over(self):
            return True

    monkeypatch.setattr(warming, "Aside", Aside)
    monkeypatch.setattr(warming, "POLL_SECONDS", 0.0)
    return run


def said(capsys, words=()):
    """Return what the command prints."""
    assert main(["warmup", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_warm_cache_is_seen_and_said(store, asides, capsys):
    first, left_out = said(capsys)
    assert first.startswith("compile cache ready after ") and left_out == warming.LEFT_OUT
    assert asides == list(warming.USUAL)
    assert said(capsys) == [f"the compile cache has all: 3 kernels in {store.path}", warming.LEFT_OUT]
    assert asides == list(warming.USUAL)
    (ready,) = said(capsys, ["--all"])
    assert ready.startswith("compile cache ready after ")
    assert asides == [*warming.USUAL, *warming.USUAL, *warming.RARE]
    assert said(capsys, ["--all"])[0].startswith("the compile cache has all: ") and len(said(capsys)) == 1


@pytest.mark.parametrize("harm", ["removed", "cut", "damaged"])
def test_a_cache_that_has_lost_something_is_warmed_again(store, asides, capsys, harm):
    said(capsys)
    text = store.path.read_bytes()
    at = text.index(b"codecode")
    if harm == "removed":
        store.path.unlink()
    else:
        store.path.write_bytes(text[:at] if harm == "cut" else text[:at] + b"C" + text[at + 1 :])
    warming.STORE = Store(store.path)
    said(capsys)
    assert asides == 2 * list(warming.USUAL)


def test_a_warm_cache_is_seen_without_numba(tmp_path):
    """Importing that takes longer than all else."""
    code = (
        "import sys\nfrom hpcchain.jit.store import STORE\nSTORE.save(bytes(32), b'code')\nSTORE.keep_list('usual')\n"
        "from hpcchain.cli import warmup\nimport argparse\n"
        "warmup.execute(argparse.Namespace(all=False, prune=False))\nassert 'numba' not in sys.modules\n"
    )
    done = run_python(["-c", code], tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0 and "the compile cache has all: 1 kernels" in done.stdout, done.stderr


def test_a_warm_up_that_fails_says_why_and_leaves_no_process(store, monkeypatch):
    started, own = [], warming.Aside
    monkeypatch.setattr(warming, "USUAL", ("[box]\nsize = [1.0]\n", "[box]\nsize = [2.0]\n", "never begun"))
    monkeypatch.setattr(warming.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(warming, "Aside", lambda text: started.append(own(text)) or started[-1])
    with pytest.raises(EngineError, match=r"(?s)warm-up ended with 1: .*box.size"):
        warming.warmup()
    assert [one.process.wait() != 0 for one in started] == [True] * 2 and warming.kept() == 0


OLD = "hpcchain-00000000000000"


def folder(base, name, age=7200.0, file="kernels"):
    """Make a cache folder of so many seconds ago; return it."""
    made = base / name
    (made / "sector_0").mkdir(parents=True)
    (made / "sector_0" / "loop.nbi").write_bytes(b"x" * 1000)
    if file:
        Store(made / file).save(bytes(32), b"code")
    for path in (*made.rglob("*"), made):
        os.utime(path, (time.time() - age,) * 2)
    return made


HOLD = "import sys, time\nfrom pathlib import Path\nfrom hpcchain.jit.store import Store\n"
HOLD += "Store(Path(sys.argv[1])).load(bytes(32)); print('open', flush=True); time.sleep(60)"


def test_caches_of_other_versions_go_but_no_other_folder(store, asides, capsys):
    base = store.path.parents[1]
    gone = [folder(base, f"{OLD}01"), folder(base, f"{OLD}02", file=None), folder(base, f"{OLD}03", age=0.0)]
    kept = [folder(base, f"{OLD}04", age=0.0, file=None), folder(base, "hpcchain-else"), folder(base, "sector_0")]
    used = folder(base, f"{OLD}05")
    (base / f"{OLD}06").symlink_to(kept[1])
    (base / f"{OLD}07").write_text("a file")
    words = [sys.executable, "-c", HOLD, str(used / "kernels")]
    with subprocess.Popen(words, env=clean_environment(), stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout.readline() == "open\n"
        lines = said(capsys, ["--prune"])
        user.kill()
    assert [line.split(": ")[0] for line in lines[:5]] == [str(base / f"{OLD}0{n}") for n in (1, 2, 3, 4, 5)]
    assert [line.split(": ")[1][:7] for line in lines[:5]] == ["removed"] * 3 + ["stays, "] * 2
    assert not any(one.exists() for one in gone) and all(one.exists() for one in [*kept, used, store.path])
    assert (base / f"{OLD}06").is_symlink() and (base / f"{OLD}07").is_file()
    for one in (used, kept[0]):
        os.utime(one / "sector_0" / "loop.nbi", (0, 0))
        os.utime(one / "sector_0", (0, 0))
        os.utime(one, (0, 0))
    assert sum("removed" in line for line in said(capsys, ["--prune"])) == 2
    assert said(capsys, ["--prune"])[0] == "no caches of other versions are there"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that belong to another user")
def test_a_cache_of_somebody_else_stays(store):
    other = folder(store.path.parents[1], f"{OLD}01")
    os.chown(other, 54321, 54321)
    assert warming.prune() == [] and other.exists()


def test_ranks_that_remove_caches_at_once_leave_each_other_alone(store, monkeypatch):
    """Another takes a folder away, or a part of it, just before this one does."""
    base = store.path.parents[1]
    gone, half, whole = (folder(base, f"{OLD}0{n}") for n in (1, 2, 3))
    remove = shutil.rmtree

    def with_another(path):
        if path == whole or not (path / "sector_0").exists():
            remove(path)
            return
        remove(path if path == gone else path / "sector_0")
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(warming.shutil, "rmtree", with_another)
    assert [path for path, size in warming.prune() if size] == [half, whole]
    assert not any(path.exists() for path in (gone, half, whole))


def test_the_name_that_is_removed_is_that_of_cache_folders():
    assert warming.OTHERS.fullmatch(cache.name()) and command.add_parser
