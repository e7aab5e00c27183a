"""What centres of mass carry, of molecules that blocks cut, against a plain sum over molecules."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.observe.observables import all_carry, block_sums
from tests.support.compositions import composition_of
from tests.support.io_samples import chains


@pytest.mark.parametrize("lengths", [[1] * 20, [3, 3, 3, 7, 7], [40], [1, 17, 1, 4, 4, 30, 2], [8, 8, 16]])
@pytest.mark.parametrize("block", [4, 8, 64])
def test_molecules_that_blocks_cut(lengths, block):
    rng = np.random.default_rng(len(lengths))
    topology = chains(lengths)
    of_kind = rng.uniform(0.5, 2.0, (8, 64))
    mass = np.concatenate([of_kind[k, :n] for k, n in zip(topology.kind, lengths, strict=True)])
    composition = composition_of(replace(topology, mass=mass))
    momentum = mass[:, None] * rng.normal(size=(len(mass), 3))
    energy = np.sum(momentum**2, axis=1) / (2.0 * mass)
    expected, flow, first = np.zeros((3, 3)), np.zeros(3), 0
    for n in lengths:
        carried, whole = momentum[first : first + n].sum(axis=0), mass[first : first + n].sum()
        expected += np.outer(carried, carried) / whole
        flow += energy[first : first + n].sum() * carried / whole
        first += n
    sums = block_sums(composition, 0, momentum, energy, block)
    found = all_carry(sums)
    assert found[0] == pytest.approx(expected, rel=1e-13) and found[1] == pytest.approx(flow, rel=1e-13, abs=1e-13)
    cut = len(mass) // 2 // block * block
    halves = (slice(0, cut), slice(cut, len(mass)))
    parts = [block_sums(composition, own.start, momentum[own], energy[own], block) for own in halves]
    assert np.array_equal(np.concatenate(parts), sums)
