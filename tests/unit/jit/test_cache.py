"""The compile cache: no other user can put code there, and its name follows every source that decides the code."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hpcchain import own_folder
from hpcchain.errors import ConfigError
from hpcchain.jit import cache as cache_module
from tests.support.launching import ROOT, clean_environment, run_hpcchain, run_python

OTHER = 54321
PACKAGE = ROOT / "hpcchain"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to another user")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that the cache is to be made in: parents of other tests' folders do not count."""
    monkeypatch.setenv(cache_module.VARIABLE, str(tmp_path / "above" / "cache"))
    (tmp_path / "above").mkdir(mode=0o755)
    return tmp_path / "above" / "cache"


def fill(place):
    """Make a cache as numba does; return its folder."""
    folder = cache_module.prepared()
    assert folder == place / cache_module.name()
    (folder / "sector_0123").mkdir()
    (folder / "sector_0123" / "loop.nbi").write_bytes(b"index")
    return folder


def mode(path):
    return path.stat().st_mode & 0o777


def refused(*words):
    """The cache is refused, with these words; return the message."""
    with pytest.raises(ConfigError) as error:
        cache_module.prepared()
    text = str(error.value)
    assert all(word in text for word in (*words, cache_module.VARIABLE)) and "\n" not in text, text
    return text


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_folders_are_made_for_their_owner_alone(place, mask):
    before = os.umask(mask)
    try:
        folder = fill(place)
    finally:
        os.umask(before)
    assert mode(folder) == mode(place) == 0o700
    assert cache_module.prepared() == folder


def test_a_user_without_a_cache_folder_gets_one(tmp_path, monkeypatch):
    monkeypatch.delenv(cache_module.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("", "relative/cache"):  # both count as not given, as the XDG specification says
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache_module.prepared().parent == tmp_path / ".cache" / "hpcchain"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_module.prepared().parent == tmp_path / "xdg" / "hpcchain"
    assert mode(tmp_path / "xdg") == mode(tmp_path / ".cache" / "hpcchain") == 0o700


@pytest.mark.parametrize("what", ["above", "base", "own", "inner", "file"])
@needs_root
def test_what_another_user_made_is_refused(place, what):
    """Any folder on the way, and any file inside, whatever its mode."""
    folder = fill(place)
    path = {
        "above": place.parent,
        "base": place,
        "own": folder,
        "inner": folder / "sector_0123",
        "file": folder / "sector_0123" / "loop.nbi",
    }[what]
    os.chown(path, OTHER, OTHER)
    refused(f"{path}: belongs to the user of number {OTHER}")


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o722])
@pytest.mark.parametrize("what", ["above", "base", "own"])
def test_folders_that_others_can_write_to_are_refused(place, what, bits):
    """Above it they could put another folder in its place."""
    folder = fill(place)
    path = {"above": place.parent, "base": place, "own": folder}[what]
    path.chmod(bits)
    private = os.geteuid() != 0 and bits == 0o770 and own_folder.is_private(path.stat().st_gid)
    if private:
        assert cache_module.prepared() == folder
    else:
        refused(f"{path}: can be written to by other users (mode {bits:o})")


@pytest.mark.parametrize("what", ["inner", "file"])
def test_files_that_others_can_reach_and_write_to_are_refused(place, what):
    folder = fill(place)
    path = folder / "sector_0123" if what == "inner" else folder / "sector_0123" / "loop.nbi"
    path.chmod(0o777)
    assert cache_module.prepared() == folder  # no other user gets there
    folder.chmod(0o755)
    refused(f"{path}: can be written to by other users (mode 777)", f"rm -r {folder}")


def test_a_shared_folder_with_the_sticky_bit_may_hold_ones_own(place):
    place.parent.chmod(0o1777)
    assert mode(fill(place)) == 0o700
    place.chmod(0o1777)
    assert cache_module.prepared().parent == place


@pytest.mark.parametrize("what", ["base", "own", "inner", "file"])
def test_links_are_not_followed(place, tmp_path, what):
    """Nothing is made, read or changed where they lead, be it there or not."""
    folder = fill(place)
    path = {"base": place, "own": folder, "inner": folder / "sector_0123", "file": folder / "sector_0123" / "loop.nbi"}[
        what
    ]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    refused(f"{path}: is ")
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    refused(f"{path}: is ")
    assert not (tmp_path / "nowhere").exists()


def test_ones_own_links_above_are_followed(tmp_path, monkeypatch):
    """A home folder whose caches lie on another disk."""
    (tmp_path / "disk").mkdir(mode=0o755)
    (tmp_path / "home").mkdir(mode=0o755)
    (tmp_path / "home" / ".cache").symlink_to("../disk/me")
    (tmp_path / "disk" / "me").mkdir(mode=0o755)
    monkeypatch.setenv(cache_module.VARIABLE, str(tmp_path / "home" / ".cache" / "hpcchain"))
    assert cache_module.prepared().parent == tmp_path / "disk" / "me" / "hpcchain"
    (tmp_path / "disk").chmod(0o777)  # others can put another folder where the link leads
    refused(f"{tmp_path / 'disk'}: can be written to")


@needs_root
def test_links_of_others_above_are_refused(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to("disk")
    os.chown(tmp_path / "link", OTHER, OTHER, follow_symlinks=False)
    monkeypatch.setenv(cache_module.VARIABLE, str(tmp_path / "link" / "cache"))
    refused(f"{tmp_path / 'link'}: is a link that the user of number {OTHER} made")
    assert not list((tmp_path / "disk").iterdir())


def test_links_in_a_circle_and_files_are_refused(place, tmp_path, monkeypatch):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    monkeypatch.setenv(cache_module.VARIABLE, str(tmp_path / "a" / "cache"))
    refused(f"{tmp_path}/", ": is a link")
    monkeypatch.setenv(cache_module.VARIABLE, str(place))
    place.write_text("a file")
    refused(f"{place}: is not a folder")
    place.unlink()
    place.mkdir(mode=0o700)
    (place / cache_module.name()).write_text("a file")
    refused(f"{place / cache_module.name()}: is not a folder")


def test_roots_folders_in_a_container_without_root(tmp_path, monkeypatch):
    """There root shows as the number of all users that the container does not know."""
    (tmp_path / "map").write_text("         0          0 4294967295\n")
    (tmp_path / "unmapped").write_text("65534\n")
    monkeypatch.setattr(own_folder, "ID_MAP", str(tmp_path / "map"))
    monkeypatch.setattr(own_folder, "UNMAPPED_ID", str(tmp_path / "unmapped"))
    assert own_folder.trusted() == {0, os.geteuid()}
    (tmp_path / "map").write_text("      1000       1000          1\n")
    assert own_folder.trusted() == {0, os.geteuid(), 65534}
    (tmp_path / "map").unlink()
    assert own_folder.trusted() == {0, os.geteuid()}


@pytest.mark.parametrize(
    ("user", "group", "members", "private"),
    [
        (1000, "me", [], True),
        (1000, "me", ["me"], True),
        (1000, "me", ["me", "you"], False),
        (1000, "all", [], False),
        (0, "me", [], False),
    ],
)
def test_a_group_of_ones_own_may_write(tmp_path, monkeypatch, user, group, members, private):
    """Where each user has a group of their own name, folders are often open to it; root's counts as others."""
    monkeypatch.setattr(own_folder.os, "geteuid", lambda: user)
    monkeypatch.setattr(own_folder.pwd, "getpwuid", lambda number: SimpleNamespace(pw_name="me", pw_gid=1000))
    monkeypatch.setattr(own_folder.grp, "getgrgid", lambda number: SimpleNamespace(gr_name=group, gr_mem=members))
    assert own_folder.is_private(1000) == private
    for bits, others in ((0o755, False), (0o775, not private), (0o757, True), (0o777, True)):
        assert own_folder.others_can_write(SimpleNamespace(st_mode=0o040000 | bits, st_gid=1000)) == others
    assert not own_folder.is_private(1001)


class Planted:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


INPUT = """[box]
size = [9.0, 9.0, 9.0]
[[molecule]]
kind = "monomer"
count = 1
positions = [[1.0, 1.0, 1.0]]
velocities = [[1.0, 0.0, 0.0]]
[initial]
method = "explicit"
[run]
end_time = 0.1
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_refuses_a_planted_cache_in_one_message(tmp_path, ranks):
    """Whoever else can write there; help and the check of an input that needs no kernel do not look."""
    (tmp_path / "in.toml").write_text(INPUT)
    cache = tmp_path / "cache"
    planted = cache / cache_module.name() / "sector_0123"
    planted.mkdir(parents=True)
    (planted / "loop.nbi").write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    cache.chmod(0o777)
    done = run_hpcchain(["run", "in.toml", "--output", "out"], tmp_path, ranks, NUMBA_CACHE_DIR=str(cache))
    said = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert done.returncode == 78 and len(said) == 1 and f"{cache}: can be written to" in said[0], done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "ran").exists()
    for words in (["--help"], ["run", "--help"], ["template"]):
        assert run_hpcchain(words, tmp_path, NUMBA_CACHE_DIR=str(cache)).returncode == 0


def test_the_module_prints_the_folder_or_what_is_wrong(tmp_path):
    def call():
        return run_python(["-m", "hpcchain.jit.cache"], tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))

    assert call().stdout == f"{tmp_path / 'cache' / cache_module.name()}\n"
    (tmp_path / "cache").chmod(0o777)
    done = call()
    assert (done.returncode, done.stdout) == (78, "") and done.stderr.startswith("hpcchain: "), done.stderr


def warm(tmp_path):
    """Run what a node does before the ranks start, with a stand-in for the warm-up; return how it ended."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/bash\ncase "$*" in *\' warmup\') echo warmed;; *) exec {sys.executable} "$@";; esac\n')
    python.chmod(0o755)
    words = ["bash", ROOT / "jobs" / "warm_node.sh", tmp_path / "home", tmp_path / "node", python, "-m", "hpcchain"]
    return subprocess.run(
        list(map(str, words)),
        env=clean_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_node_is_warmed_in_a_folder_of_its_own(tmp_path):
    """What the user's cache has is copied; a second job does not copy it again."""
    kept = tmp_path / "home" / cache_module.name()
    kept.mkdir(parents=True)
    (kept / "kernels").write_bytes(b"code")
    done = warm(tmp_path)
    assert done.returncode == 0 and done.stdout.endswith(": warmed\n"), done.stderr
    folder = tmp_path / "node" / cache_module.name()
    assert mode(tmp_path / "node") == mode(folder) == 0o700
    assert (folder / "kernels").read_bytes() == b"code"
    (folder / "kernels").write_bytes(b"own code")
    assert warm(tmp_path).returncode == 0 and (folder / "kernels").read_bytes() == b"own code"


@pytest.mark.parametrize("spot", ["node", "node/.lock", "own", "own/.lock", "own/kernels", "own/.copy"])
def test_links_planted_for_a_node_change_nothing(tmp_path, spot):
    own = tmp_path / "node" / cache_module.name()
    path = own / spot[4:] if spot.startswith("own/") else own if spot == "own" else tmp_path / spot
    path.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "folder").mkdir()
    for target in ("precious", "folder", "missing"):
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / target)
        done = warm(tmp_path)
        assert done.returncode == (0 if spot == "node/.lock" else 78), done.stderr  # that one is not used
        assert (tmp_path / "precious").read_text() == "kept" and not (tmp_path / "missing").exists()
        assert not list((tmp_path / "folder").iterdir())


def test_a_users_cache_that_others_can_write_to_is_not_copied(tmp_path):
    kept = tmp_path / "home" / cache_module.name() / "sector_0123"
    kept.mkdir(parents=True)
    (kept / "loop.nbi").write_bytes(b"index")
    (tmp_path / "home").chmod(0o777)
    done = warm(tmp_path)
    assert done.returncode == 0 and "can be written to by other users" in done.stderr
    assert not (tmp_path / "node" / cache_module.name() / "sector_0123").exists()


@pytest.mark.parametrize("safe", [True, False])
def test_a_job_ends_before_its_ranks_start_when_scratch_is_not_safe(tmp_path, safe):
    """The script of `common.sh`, with a stand-in for srun that starts its command here, and one for the warm-up."""
    for name, text in (
        ("srun", 'while [[ $1 == --* ]]; do shift; done; exec "$@"'),
        ("python", f'case "$*" in *" warmup") echo warm;; *) exec {sys.executable} "$@";; esac'),
    ):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    cache = tmp_path / "scratch" / f"hpcchain-cache-{user}"
    if not safe:
        cache.mkdir(parents=True)
        cache.chmod(0o777)
    environment = clean_environment(
        HPCCHAIN_HOME=str(ROOT),
        HPCCHAIN_VENV=str(tmp_path),
        SLURM_JOB_NUM_NODES="1",
        HPCCHAIN_SCRATCH=str(tmp_path / "scratch"),
        SLURM_JOB_ID="1",
        XDG_CACHE_HOME=str(tmp_path / "home"),
        SLURM_JOB_END_TIME="1",
    )
    done = subprocess.run(
        ["bash", "-c", f"source {ROOT}/jobs/common.sh; warm_nodes || exit; echo ranks start"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if safe:
        assert done.stdout.endswith(": warm\nranks start\n") and mode(cache) == 0o700, done.stderr
    else:
        assert (done.returncode, done.stdout) == (78, ""), done.stderr
        assert f"{cache}: can be written to" in done.stderr and not list(cache.iterdir())


def test_the_job_scripts_start_nothing_from_the_folder_that_they_run_in():
    """A numba.py lying there would be taken for numba."""
    text = (ROOT / "jobs" / "common.sh").read_text(encoding="utf-8")
    assert 'hpcchain=("$venv/bin/python" -P -m hpcchain)' in text


def imports_of(path):
    """Return the modules that a file of the package imports, by its syntax tree; names from modules next to them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports out in full, so that the compile cache knows of them"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def file_of(called, root):
    """Return the file of a module, or of the module that holds a name; None for other packages' modules."""
    for name in (called, called.rpartition(".")[0]):
        path = root.parent / name.replace(".", "/")
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if name and file.is_file():
                return file
    return None


def test_every_file_with_kernels_and_what_it_imports_is_in_the_digest():
    files = {path: imports_of(path) for path in PACKAGE.rglob("*.py")}
    compilers = {PACKAGE / "jit" / "decorators.py", PACKAGE / "jit" / "outlined.py"}
    needed = {
        path
        for path, names in files.items()
        if any(name.split(".")[0] == "numba" or file_of(name, PACKAGE) in compilers for name in names)
    }
    todo = list(needed)
    while todo:
        more = {file_of(name, PACKAGE) for name in files[todo.pop()]} - needed - {None}
        needed |= more
        todo += more
    digested = {PACKAGE / path for path in cache_module.sources()}
    assert needed <= digested and len(needed) > 50
    assert {path.name for path in digested - needed} == set()
    for name in (
        "layout/arrays.py",
        "layout/segment_bits.py",
        "model/starts/placement_kernel.py",
        "steps/friction/sweep_kernels.py",
    ):
        assert PACKAGE / name in digested


TREE = {
    "plain.py": "import os\n",
    "far/off.py": "if True:\n    import numpy; from hpcchain.jit.decorators import kernel\n"
    "from hpcchain.far.values import (  # sizes\n    ONE,\n    TWO,  # more\n)\n"
    "from hpcchain.far import \\\n    deep as d\n",
    "far/__init__.py": "",
    "far/values.py": "import hpcchain.far.more as m, json\n",
    "far/more.py": "A = 1\n",
    "far/deep.py": "",
    "far/idle.py": "",
    "jit/decorators.py": "",
    "compiled.py": "import numba as nb\n",
}


def test_files_are_found_by_what_they_import(tmp_path):
    """In any folder, any form of import, and through constants."""
    root = tmp_path / "hpcchain"
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    found = {"far/off.py", "far/values.py", "far/more.py", "far/deep.py", "jit/decorators.py", "compiled.py"}
    assert set(cache_module.sources(root)) == found
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "old.py").write_text("import numba\n")
    assert set(cache_module.sources(root)) == found


def test_the_digest_follows_every_byte_of_them(tmp_path, monkeypatch):
    before = cache_module.digest()
    texts = cache_module.sources()
    monkeypatch.setattr(cache_module, "sources", lambda: texts)
    assert cache_module.digest() == before
    texts["layout/arrays.py"] += b"\n"
    assert cache_module.digest() != before
