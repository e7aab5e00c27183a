"""Packages have what they should; what a release lacks is said; the conda recipe asks for what setup.cfg asks for."""

import configparser
import io
import re
import subprocess
import tarfile
import zipfile
from importlib import import_module

import pytest

from tests.support.launching import ROOT


@pytest.fixture(scope="module")
def release():
    """The program as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
        patch.syspath_prepend(str(ROOT / "tools"))
        yield import_module("release")


@pytest.fixture(scope="module")
def listed():
    """The files that are in version control, and in the folder."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no version control says which files there are")
    return [name for name in done.stdout.split() if (ROOT / name).exists()]


def packed(names):
    """Return the bytes of a tar of files, with links as what they lead to or as links, as git archive has them."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as new:
        for name in names:
            new.add(ROOT / name, name)
    return target.getvalue()


@pytest.fixture(scope="module")
def packages(release, listed):
    """The packages of the sources as they are now."""
    return release.packages_of(packed(listed), 1_000_000_000)


def test_the_source_package_has_all_but_the_repository_s_own_files(packages, listed):
    sdist, wheel = packages.values()
    with tarfile.open(fileobj=io.BytesIO(sdist)) as opened:
        members = {member.name.partition("/")[2]: member for member in opened.getmembers()}
    own = {".ci/run", ".gitignore"}
    assert [name for name in listed if name not in members and name not in own] == []
    assert [
        name for name, each in members.items() if not (each.isfile() or each.isdir())
    ] == []  # links are files there
    extra = {name for name, each in members.items() if each.isfile()} - set(listed)
    assert {name for name in extra if "egg-info" not in name} == {"PKG-INFO"}
    assert {member.mtime for member in members.values()} == {1_000_000_000}
    with zipfile.ZipFile(io.BytesIO(wheel)) as opened:
        inside = [name for name in opened.namelist() if ".dist-info/" not in name]
    assert sorted(inside) == sorted(name for name in listed if name.startswith("hpcchain/"))


def test_what_is_repacked_says_nothing_of_its_origin(release):
    turns = []
    for names, owner, day in ((("a/x", "a/y"), "one", 5), (("a/y", "a/x"), "two", 7)):
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w:gz") as new:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size, member.mtime, member.uname, member.mode = 3, day, owner, 0o600 + day
                new.addfile(member, io.BytesIO(name.encode()))
        turns.append(release.repacked(target.getvalue(), 9))
    assert turns[0] == turns[1]
    with tarfile.open(fileobj=io.BytesIO(turns[0])) as opened:
        assert [(each.name, each.mode, each.mtime) for each in opened] == [("a/x", 0o644, 9), ("a/y", 0o644, 9)]
        assert opened.extractfile("a/y").read() == b"a/y"


def test_links_lead_to_the_sources_from_anywhere(release):
    known = {"version": "1.2.3", "source": "https://example.org/it"}
    text = "![a b](images/a.png) [c](pages/c.md#d) [e](https://example.org) [f](#g)"
    assert release.absolute(text, known) == (
        "![a b](https://example.org/it/raw/v1.2.3/images/a.png) [c](https://example.org/it/blob/v1.2.3/pages/c.md#d) "
        "[e](https://example.org) [f](#g)"
    )
    assert release.absolute(text, known | {"source": ""}) == text
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https://example.org/it/(?:raw|blob)/)\S+\)", release.absolute(readme, known)) == []


def sources(folder, **texts):
    """Write the files that a release is judged by, from those that are here, with some replaced."""
    (folder / "hpcchain").mkdir()
    for name in ("setup.cfg", "CHANGELOG.md", "CITATION.cff", "README.md", "hpcchain/__init__.py"):
        (folder / name).write_text(texts.get(name) or (ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def test_what_is_lacking_is_said_until_nothing_is(release, tmp_path):
    """The licence, its text, two addresses, the date in two files, what README says; here none of them is there yet."""
    found = release.lacking(sources(tmp_path))
    version = release.facts(tmp_path)["version"]
    setup = (
        (tmp_path / "setup.cfg").read_text().replace("# license_expression = an SPDX name", "license_expression = MIT")
    )
    setup = re.sub(r"# project_urls =\n#( +Source =) .*\n#( +Download =) .*\n", r"project_urls =\n\1 a\n\2 b\n", setup)
    (tmp_path / "setup.cfg").write_text(re.sub(r"(expression = MIT).*", r"\1", setup))
    last = ["CITATION.cff: license: MIT", found[-1]]
    assert found[-1].startswith("README.md")
    assert release.lacking(tmp_path) == [line for line in found if not line.startswith("setup.cfg")][:-2] + last
    (tmp_path / "LICENSE").write_text("as you like")
    changes = (tmp_path / "CHANGELOG.md").read_text()
    heading = f"## {version} - 2030-01-02"
    (tmp_path / "CHANGELOG.md").write_text(re.sub(rf"^## .*{re.escape(version)}.*$", heading, changes, flags=re.M))
    assert release.lacking(tmp_path) == ["CITATION.cff: date-released: 2030-01-02", *last]
    citation = (tmp_path / "CITATION.cff").read_text()
    (tmp_path / "CITATION.cff").write_text(f"{citation}date-released: 2030-01-02\nlicense: MIT\n")
    assert release.lacking(tmp_path) == last[1:]
    (tmp_path / "README.md").write_text("## Status and licence\n\nAs you like it (MIT).\n")
    assert release.lacking(tmp_path) == []
    assert release.facts(tmp_path) == {"version": version, "license": "MIT", "source": "a", "download": "b"}


def test_the_recipe_asks_for_what_setup_asks_for(release):
    recipe = (ROOT / release.RECIPE).read_text(encoding="utf-8")
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    needed = config["options"]["install_requires"].split() + ["python" + config["options"]["python_requires"]]
    run = recipe.split("\n  run:\n")[1].split("\n\n")[0].replace("{{ python_min }}", "3.11")
    asked = [line.strip("- ").replace(" mpi_{{ mpi }}_*", "").replace(" ", "") for line in run.splitlines()]
    assert sorted(asked) == sorted([*needed, "{{mpi}}"])
    (minimum,) = re.findall(r'set python_min = "(.*?)"', recipe)
    assert config["options"]["python_requires"] == f">={minimum}"
    (script,) = re.findall(r"entry_points:\n    - (.*)", recipe)
    assert script in config["options.entry_points"]["console_scripts"]
    filled = release.filled(recipe, {"version": "7.8.9", "license": "MIT", "source": "s", "download": "d"}, "abc")
    assert '{% set version = "7.8.9" %}' in filled and re.findall(r'set (\w+) = ""', filled) == ["maintainer"]
