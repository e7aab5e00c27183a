"""The manual's examples: each runs in small, is analysed and drawn; each has its page's section and picture."""

import re

import pytest

from hpcchain.api import run
from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.parallel.comm import Single
from tests.support.launching import ROOT
from tests.support.manual_pages import command_lines

FOLDER = ROOT / "docs" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.toml"))
PAGE = FOLDER / "index.md"
MOLECULES, THIN, REPORTS = 12, 0.02, 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_in_small(path, tmp_path, capsys):
    config = load_config(path)
    free = [k for k, molecule in enumerate(config.molecules) if molecule.positions is None]
    fewer = [f"molecule.{k}.count={min(config.molecules[k].count, MOLECULES)}" for k in free]
    fewer += [f"box.packing_fraction={THIN}"] * ("packing_fraction" in path.read_text(encoding="utf-8"))
    until = REPORTS * config.output.report_every
    out = tmp_path / path.stem
    assert run(path, output=out, until=until, overrides=fewer, comm=Single()) == 0
    assert main(["analyze", str(out), "--from", "0", "--figures", "observables,sizes"]) == 0
    assert "temperature" in capsys.readouterr().out
    assert main(["export", str(out), "--to", "png", "-o", str(tmp_path / "a.png"), "--width", "80"]) == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_its_section(path):
    (section,) = [text for text in PAGE.read_text(encoding="utf-8").split("\n## ") if f"({path.name})" in text]
    own = {str(path.relative_to(ROOT)), path.stem}  # of many runs also a folder in the one of that name
    commands = [w for w in command_lines(PAGE) if own & {*w, *(word.partition("/")[0] for word in w)}]
    assert [words[0] for words in commands] == ["run", "analyze", "export"]
    (picture,) = re.findall(r"\]\((\S+\.png)\)", section)
    assert (FOLDER / picture).is_file() and load_config(path).output.directory == path.stem
    gallery = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    assert f"]({picture})](#" in gallery


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
