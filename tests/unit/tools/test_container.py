"""The container's definition and the project's set-up stay in step; `tools/validate_container` runs its steps."""

import re
import subprocess
from pathlib import Path

import pytest

from hpcchain.jit import cache

ROOT = Path(__file__).resolve().parents[3]
HOME = "/opt/hpcchain"


@pytest.fixture(scope="module")
def sections():
    """Name -> lines of the definition's sections."""
    found, lines = {}, []
    for line in (ROOT / "tools" / "apptainer.def").read_text(encoding="utf-8").splitlines():
        if line.startswith("%"):
            lines = found.setdefault(line.split()[0][1:], [])
        elif line.strip():
            lines.append(line.strip())
    return found


@pytest.fixture(scope="module")
def setup():
    return (ROOT / "tools" / "setup").read_text(encoding="utf-8")


def test_what_is_copied_is_there_and_is_what_setup_reads(sections, setup):
    copied = dict(line.split() for line in sections["files"])
    for source, target in copied.items():
        assert (ROOT / source).exists() and target == f"{HOME}/{source}"
    read = re.search(r"\{ cat (.*?); echo", setup).group(1).split()
    assert all(name.split("/")[0] in copied for name in read)
    config = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert all(name in copied for name in re.findall(r"file: *(\S+)", config))


def test_packages_are_those_of_setup(sections, setup):
    """What the definition installs itself is Python, by setup's names, and certificates; the rest setup does."""
    install = next(line for line in sections["post"] if "apt-get" in line and " install " in line)
    named = {word for word in install.split(" install ")[1].split() if not word.startswith("-")}
    python = re.search(r"python_can_build; then echo (.*?);", setup).group(1).split()
    assert named == {"ca-certificates", *python}
    assert "bash tools/setup" in sections["post"] and f"cd {HOME}" in sections["post"]


def test_the_cache_that_is_filled_is_copied_to_where_the_program_looks(sections, tmp_path):
    """%environment as a shell runs it, the image's cache in a folder here: once, whole, not over what is there."""
    warm = next(line for line in sections["post"] if line.endswith("hpcchain warmup"))
    folder = re.match(r"NUMBA_CACHE_DIR=(\S+) ", warm).group(1)
    assert f"export PATH={HOME}/.venv/bin:$PATH" in sections["environment"]
    assert sections["post"].index(warm) < sections["post"].index(f"chmod -R a+rX {HOME}")
    kept = tmp_path / "image" / cache.name() / "sector"
    kept.mkdir(parents=True)
    (kept / "loop.nbi").write_text("code")
    script = "\n".join(sections["environment"]).replace(folder, str(tmp_path / "image"))
    places = ({}, tmp_path / ".cache" / "hpcchain"), ({"NUMBA_CACHE_DIR": f"{tmp_path}/node"}, tmp_path / "node")
    for own, place in places:
        for _ in range(2):
            environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **own}
            subprocess.run(["/bin/sh", "-euc", script], env=environment, check=True)
            assert [path.name for path in place.iterdir()] == [cache.name()]
            copied = place / cache.name() / "sector" / "loop.nbi"
            assert copied.read_text() in ("code", "own")
            copied.write_text("own")
        assert copied.read_text() == "own"


def test_every_section_is_run_by_the_tool_that_checks_them(sections):
    tool = (ROOT / "tools" / "validate_container").read_text(encoding="utf-8")
    assert set(sections) == {"files", "post", "environment", "runscript", "test"}
    for name in ("post", "test", "runscript"):
        assert f"inside {name}" in tool
