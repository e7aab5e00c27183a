#!/usr/bin/env python3
"""Make the packages of a release from the last commit, twice to the same bytes, and say what a release still lacks.

    tools/release.py build/release

The folder gets the source package, the wheel, SHA256SUMS and the conda recipe. In packages the links of README.md lead
to where setup.cfg says that the sources are. It ends with 1 where the two turns differ, or something is lacking.
"""

import argparse
import configparser
import datetime
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import environment

ROOT = environment.ROOT
RECIPE = "tools/conda/meta.yaml"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def main(argv=None):
    """Make packages in a folder, print what is in it and what is lacking; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the packages go; what is there is replaced")
    folder = parser.parse_args(argv).folder.resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / "SHA256SUMS").is_file():
        parser.error(f"{folder} has other files than packages; name a new folder")
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    epoch = int(git("log", "-1", "--format=%ct"))
    turns = [packages_of(archive, epoch) for _ in range(2)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in turns[0].items()}
    for name, data in turns[0].items():
        (folder / name).write_bytes(data)
        print(f"{sums[name]}  {name}  {len(data)} bytes")
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    recipe = filled((ROOT / RECIPE).read_text(encoding="utf-8"), facts(ROOT), next(iter(sums.values())))
    (folder / "meta.yaml").write_text(recipe, encoding="utf-8")
    wrong = ["the two turns do not have the same bytes"] * (turns[0] != turns[1])
    wrong += lacking(ROOT) + [f"{RECIPE}: {name}" for name in re.findall(r'{% set (\w+) = "" %}', recipe)] + untagged()
    for line in wrong:
        print(f"lacking: {line}")
    return int(bool(wrong))


def packages_of(archive, epoch):
    """Return {name: bytes} of the source package, then of the wheel that is built from it.

    Parameters
    ----------
    archive : bytes
        A tar of the sources.
    epoch : int
        What all files are dated [seconds since 1970].
    """
    with tempfile.TemporaryDirectory() as place:
        sources, made = Path(place) / "sources", Path(place) / "made"
        unpack(archive, sources)
        readme = sources / "README.md"
        readme.write_text(absolute(readme.read_text(encoding="utf-8"), facts(sources)), encoding="utf-8")
        build("build_sdist", sources, made, epoch)
        (sdist,) = made.iterdir()
        data = repacked(sdist.read_bytes(), epoch)
        found = {sdist.name: data}
        sdist.unlink()
        unpack(gzip.decompress(data), Path(place) / "unpacked")
        (sources,) = (Path(place) / "unpacked").iterdir()
        build("build_wheel", sources, made, epoch)
        (wheel,) = made.iterdir()
        return found | {wheel.name: wheel.read_bytes()}


def unpack(archive, folder):
    """Unpack the bytes of a tar; only the owner can write to what comes out."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        opened.extractall(folder, filter="data")


def build(what, sources, made, epoch):
    """Have setuptools build a package in a process of its own."""
    made.mkdir(exist_ok=True)
    own = os.environ | {"SOURCE_DATE_EPOCH": str(epoch), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-c", BUILD, what, str(made)]
    done = subprocess.run(command, cwd=sources, env=own, umask=0o022, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{what} failed:\n{done.stdout}{done.stderr}")


def repacked(data, epoch):
    """Return a source package in which order, dates, owners and modes say nothing of where it was made."""
    target = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            content = old.extractfile(member) if member.isfile() else None
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode, member.pax_headers = 0o755 if member.isdir() or member.mode & 0o100 else 0o644, {}
            new.addfile(member, content)
    return target.getvalue()


def facts(root):
    """Return what the sources say of a release: version, license, source and download, "" where they do not."""
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg", encoding="utf-8")
    given = config["metadata"].get("project_urls", "").strip().splitlines()
    urls = {name.strip(): url.strip() for name, _, url in (line.partition("=") for line in given)}
    version = re.search(r'__version__ = "(.*?)"', (root / "hpcchain" / "__init__.py").read_text(encoding="utf-8"))[1]
    license_name = config["metadata"].get("license_expression", "")
    places = {name.lower(): urls.get(name, "").rstrip("/") for name in ("Source", "Download")}
    return {"version": version, "license": license_name} | places


def absolute(readme, known):
    """Return README's text with links that lead somewhere from anywhere, where it is known where the sources are."""
    if not known["source"]:
        return readme
    base = {mark: f"{known['source']}/{kind}/v{known['version']}/" for mark, kind in (("", "blob"), ("!", "raw"))}
    return LINK.sub(lambda link: f"{link[1]}[{link[2]}]({base[link[1]]}{link[3]})", readme)


def filled(recipe, known, digest):
    """Return the conda recipe with what is known of a release; the rest stays empty."""
    for name, value in (known | {"sha256": digest}).items():
        recipe = re.sub(rf'{{% set {name} = ".*?" %}}', f'{{% set {name} = "{value}" %}}', recipe)
    return recipe


def lacking(root):
    """Return what the sources in a folder lack for a release, one line each."""
    known = facts(root)
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    status = (root / "README.md").read_text(encoding="utf-8").partition("## Status and licence")[2]
    dated = re.search(rf"^## {re.escape(known['version'])} - (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE)
    day = dated[1] if dated else datetime.date.today().isoformat()
    wanted = {
        "setup.cfg: license_expression, which is the owner's choice": known["license"],
        "LICENSE: a file with the license's text": (root / "LICENSE").is_file(),
        "setup.cfg: project_urls, Source": known["source"],
        "setup.cfg: project_urls, Download": known["download"],
        f'CHANGELOG.md: the heading "## {known["version"]} - {day}" in place of "Unreleased"': dated,
        f"CITATION.cff: version: {known['version']}": f"\nversion: {known['version']}\n" in citation,
        f"CITATION.cff: date-released: {day}": f"\ndate-released: {day}\n" in citation,
        f"CITATION.cff: license: {known['license'] or 'the one of setup.cfg'}": known["license"]
        and f"\nlicense: {known['license']}\n" in citation,
        "README.md: under Status and licence, the licence of what is released": known["license"]
        and known["license"] in status
        and "not been released" not in status,
    }
    return [what for what, there in wanted.items() if not there]


def untagged():
    """Return what git lacks for a release: nothing uncommitted, and the version's tag on the last commit."""
    tag = f"v{facts(ROOT)['version']}"
    wanted = {
        "git: a commit of what was changed": not git("status", "--porcelain"),
        f"git: the tag {tag} on the last commit": tag in git("tag", "--points-at", "HEAD").split(),
    }
    return [what for what, there in wanted.items() if not there]


def git(*words):
    """Return what git says."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
