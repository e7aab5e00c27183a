"""What the README and the demo's input say is what the program does."""

import math
from pathlib import Path

from hpcchain.cli.main import COMMANDS
from hpcchain.config import load_config
from hpcchain.config.schema import markdown

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_lists_every_key_as_the_schema_has_it():
    begin = README.index("\n", README.index("<!-- keys:")) + 1
    assert README[begin : README.index("<!-- end of keys -->")] == markdown()


def test_readme_lists_every_command():
    listed = [line.split()[2].strip("`") for line in README.splitlines() if line.startswith("| `hpcchain ")]
    assert listed == list(COMMANDS)


def test_readme_names_tests_that_exist():
    named = {word.strip("`,;") for word in README.split() if word.startswith("`tests/")}
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_demo_is_a_job_of_real_size():
    config = load_config(ROOT / "jobs" / "demo.toml")
    (chain,) = config.molecules
    beads = chain.count * chain.beads
    assert (chain.kind, chain.beads) == ("chain", 20) and chain.count >= 200
    assert beads * math.pi / 6.0 / math.prod(config.box.size) >= 0.2
