"""Condition numbers of a checkpoint's molecules: those of the papers' experiments, and of matrices in closed form."""

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.model.molecules.rod_matrices import condition_numbers as of_line
from hpcchain.model.starts.start import build_system
from hpcchain.observe import condition_numbers
from hpcchain.papers.experiments.p000_trimer_condition import conditions as printed
from tests.support import twins
from tests.support.free_motion import build
from tests.support.kernel_tools import make_system, random_chain
from tests.support.mixtures import to_toml
from tests.support.rods import random_rod
from tests.support.stepping import dense_step

RATTLE = {"propagator": "rattle", "step": 0.1}


def zigzag(n):
    """Return (bonds, x, v, mass) of a chain of unit bonds and masses that turns about random axes."""
    x = np.column_stack([0.6 * np.arange(n), 0.8 * (np.arange(n) % 2), np.zeros(n)])
    bonds = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    v = twins.project(bonds, x, np.random.default_rng(n).normal(size=x.shape), np.ones(n))
    return bonds, x, v, np.ones(n)


def found(*molecules, **physics):
    """Return (kind, matrix) -> greatest condition number."""
    return {row[:2]: row[4] for row in condition_numbers.condition_numbers(make_system(molecules, **physics))}


def test_those_of_a_step_are_those_of_paper_000():
    """Of both ends of the step, as Fig 7 has them: reduced, and with h^2 lambda for unknown."""
    chain = bonds, x, v, mass = zigzag(3)
    values = found(chain, **RATTLE)
    reduced, _, scaled = printed(x, dense_step(bonds, x, v, mass, 0.1)[1], 0.1)
    assert values["kind0", "null space"] == pytest.approx(reduced, rel=1e-10)
    assert values["kind0", "together"] == pytest.approx(scaled, rel=1e-10)


def test_tension_of_a_stretched_chain_has_a_closed_form():
    """Unit masses on a line: T is tridiagonal with 2 and -1, its eigenvalues 4 sin^2(k pi / 2 n)."""
    n = 9
    bonds, x, v, mass = zigzag(n)
    x = np.arange(n)[:, None] * [1.0, 0.0, 0.0]
    k = np.array([1, n - 1])
    low, high = 4.0 * np.sin(k * np.pi / (2 * n)) ** 2
    values = found((bonds, x, 0.0 * v, mass))
    assert list(values) == [("kind0", "tension")]
    assert values["kind0", "tension"] == pytest.approx(high / low, rel=1e-12)


def test_rods_have_paper_002s():
    bonds, x, v, _ = random_rod(10, 1)
    x = np.arange(10)[:, None] * [0.0, 1.0, 0.0]
    values = found((bonds, x, 0.0 * v, np.ones(10)), rods=(0,), **RATTLE)
    assert values["kind0", "across"] == pytest.approx(of_line(10)[0], rel=1e-12)
    assert values["kind0", "along"] == pytest.approx(5.0, rel=1e-12)


def test_stars_are_trees_and_rings_are_not():
    m = build("star3x2")
    ring = zigzag(4)
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    closed = np.vstack([ring[0], [0, 3]]), square, 0.0 * square, np.ones(4)
    values = found((m.bonds, m.x, m.v, m.mass), closed, random_chain(4, 1), **RATTLE)
    assert ("kind0", "null space") in values and ("kind1", "null space") not in values
    assert all(1.0 <= value < 1e4 for value in values.values())


def test_a_step_too_long_is_halved_as_the_engine_does():
    bonds, x, v, mass = zigzag(5)
    for tau in (0.05, 50.0):
        after = condition_numbers.after_step(bonds, x, v, mass, tau)
        np.testing.assert_allclose(twins.lengths(bonds, after), 1.0, rtol=1e-9)


def test_of_many_molecules_some_are_looked_at(tmp_path, capsys):
    """And `hpcchain info --conditions` prints them; other files have none."""
    x = np.arange(3)[:, None] * [1.0, 0.0, 0.0]
    rows = np.concatenate([x + [0.0, 1.5 * k, 0.0] for k in range(150)])
    tables = {
        "box": {"size": [400.0] * 3, "origin": [-20.0] * 3, "boundary": ["open"] * 3},
        "molecule": [
            {
                "name": "trimer",
                "kind": "chain",
                "beads": 3,
                "count": 150,
                "positions": rows.tolist(),
                "velocities": (0.0 * rows).tolist(),
            },
            {"kind": "monomer", "positions": [[0.0, -5.0, 0.0]], "velocities": [[0.0, 1.0, 0.0]]},
        ],
        "initial": {"method": "explicit"},
        "propagator": {"name": "variational", "step": 0.1},
        "run": {"end_time": 1.0},
    }
    path = tmp_path / "in.toml"
    path.write_text(to_toml(tables))
    config = load_config(path)
    write_checkpoint(tmp_path / "start.h5", None, build_system(config), 0.0, {}, config)
    assert main(["info", str(tmp_path / "start.h5"), "--conditions"]) == 0
    in_words = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("trimer")]
    assert [line[-3] for line in in_words] == ["100"] * 4 and [line[1] for line in in_words[:2]] == [
        "tension",
        "newton",
    ]
    assert in_words[0][-1] == "3"  # (2 + 1) / (2 - 1)
