"""Random numbers by counter."""

import numpy as np
import pytest

from hpcchain.model.random import Stream, normal, raw, uniform


@pytest.mark.parametrize(("seed", "purpose", "id_", "draw"), [(1, 1, 5, 0), (2**63 + 9, 3, 2**40, 2**33), (7, 2, 1, 1)])
def test_words_are_those_of_numpys_philox(seed, purpose, id_, draw):
    # numpy steps the counter before each block, so it starts one below
    twin = np.random.Philox(
        key=np.array([seed, purpose], dtype=np.uint64), counter=np.array([id_ - 1, draw, 0, 0], dtype=np.uint64)
    )
    assert raw(seed, purpose, [id_], draw)[0].tolist() == twin.random_raw(4).tolist()


def test_a_number_depends_on_its_own_id_alone():
    together = normal(3, Stream.VELOCITY, np.arange(1000))
    shuffled = np.random.default_rng(0).permutation(1000)
    assert np.array_equal(normal(3, Stream.VELOCITY, shuffled), together[shuffled])
    parts = [normal(3, Stream.VELOCITY, np.arange(a, b)) for a, b in ((0, 7), (7, 500), (500, 1000))]
    assert np.array_equal(np.concatenate(parts), together)


def test_seed_purpose_id_and_draw_all_matter():
    keys = [(1, 1, [1], 1), (2, 1, [1], 1), (1, 2, [1], 1), (1, 1, [2], 1), (1, 1, [1], 2)]
    words = [raw(*key)[0].tobytes() for key in keys]
    assert len(set(words)) == 5
    assert len({int(stream) for stream in Stream}) == len(Stream)


def test_distributions():
    u = uniform(1, Stream.PLACEMENT, np.arange(50_000)).ravel()
    assert 0.0 <= u.min() and u.max() < 1.0
    assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / u.size)
    z = normal(1, Stream.VELOCITY, np.arange(50_000))
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(len(z))
    assert np.abs(z.std(axis=0) - 1.0).max() < 4 / np.sqrt(2 * len(z))
    assert np.abs(np.corrcoef(z.T) - np.eye(4)).max() < 4 / np.sqrt(len(z))
    assert abs((z**4).mean() - 3.0) < 4 * np.sqrt(96 / z.size)
