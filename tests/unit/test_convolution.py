"""The unrolled products of series against numpy.convolve, and the generated file against its generator."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hpcchain.propagators.convolution import append, convolve
from hpcchain.propagators.lanes import ACCEL, BOUND, COEF, FORCE, HIST, KMAX, MASK, RATE, RHS, ROW, TILE

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


@pytest.mark.parametrize("k", range(KMAX - 1))
def test_coefficients_from_accelerations(k):
    """Order k + 2 of beads and (masked) bonds, the sum of sizes into the bound, and the sizes for the caller."""
    rng = np.random.default_rng(k)
    work = rng.normal(size=13 + TILE)
    before, tile = work.copy(), work[13:]
    old = tile.copy()
    append(k, work, 13, 0.25, 3.0)
    accel = old[ACCEL : ACCEL + 48].reshape(3, 16)
    mask = old[MASK : MASK + 8]
    size = 3 * 8
    places = {
        COEF + ROW * (k + 2): 0.25 * accel[:, :8],
        HIST + 32 * (k + 2): 0.25 * (accel[:, 1:9] - accel[:, :8]) * mask,
        BOUND: old[BOUND : BOUND + size].reshape(3, 8) + 3.0 * np.abs(accel[:, :8]),
        RHS: np.abs(accel[:, :8]).sum(axis=0),
    }
    allowed = set()
    for at, expected in places.items():
        got = tile[at : at + expected.size].reshape(expected.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)
        allowed |= set(range(at, at + expected.size))
    assert set(np.flatnonzero(work != before) - 13) <= allowed


def test_generated_file_is_current():
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate_convolution")], capture_output=True, text=True, check=True
    )
    assert made.stdout == (ROOT / "hpcchain" / "propagators" / "convolution.py").read_text()
