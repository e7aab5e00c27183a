"""The unrolled products of series against numpy.convolve, and the generated file against its generator."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hpcchain.propagators.convolution import convolve
from hpcchain.propagators.lanes import FORCE, HIST, KMAX, RATE, TILE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("k", range(1, KMAX - 1))
def test_products(k):
    rng = np.random.default_rng(k)
    offset = 11
    work = rng.normal(size=offset + 2 * TILE)
    before = work.copy()
    history = work[offset + HIST : offset + HIST + (KMAX + 1) * 32].reshape(KMAX + 1, 4, 8).copy()
    bond, tension = history[:, :3], history[:, 3]
    convolve(k, work, offset)
    for lane in range(8):
        for c in range(3):
            # sum_{m<k} tension_m bond_{k-m}: coefficient k without the term in bond_0
            expected = np.convolve(tension[:k, lane], bond[1 : k + 1, c, lane])[k - 1]
            assert work[offset + FORCE + 8 + 16 * c + lane] == pytest.approx(expected, rel=1e-12, abs=1e-13)
        rows = bond[1 : k + 2, :, lane]
        expected = sum(np.convolve(rows[:, c], rows[:, c])[k] for c in range(3))
        assert work[offset + RATE + lane] == pytest.approx(expected, rel=1e-12, abs=1e-13)
    changed = np.flatnonzero(work != before) - offset
    allowed = {FORCE + 8 + 16 * c + i for c in range(3) for i in range(8)} | {RATE + i for i in range(8)}
    assert set(changed) == allowed


def test_generated_file_is_current():
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate_convolution")], capture_output=True, text=True, check=True
    )
    assert made.stdout == (ROOT / "hpcchain" / "propagators" / "convolution.py").read_text()
