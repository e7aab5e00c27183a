"""A composition says of any molecules and beads what the full tables do."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.composition import one_of_each
from hpcchain.model.topology import build_composition
from tests.support.compositions import composition_of
from tests.support.io_samples import same_topology
from tests.support.kernel_tools import make_system
from tests.support.mixtures import mixed_input, to_toml

TABLES = ("mass", "diameter", "bond_length", "self_contact", "rod")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("composition") / "mixed.toml"
    path.write_text(to_toml(mixed_input() | {"run": {"end_time": 1.0}}))
    return load_config(path)


@pytest.fixture(scope="module")
def topology(config):
    return build_composition(config).whole()


def shuffled(topology):
    """Return the same molecules in an order in which kinds alternate."""
    return one_of_each(topology, np.random.default_rng(3).permutation(topology.molecules))


@pytest.mark.parametrize("order", [lambda topology: topology, shuffled])
def test_molecules_and_beads(topology, order):
    table = order(topology)
    found = composition_of(table)
    assert (found.beads, found.molecules) == (table.beads, table.molecules)
    molecules = np.random.default_rng(1).permutation(table.molecules)
    first, last = table.first_bead[molecules], table.first_bead[molecules + 1]
    assert np.array_equal(found.first_bead_of(molecules), first)
    assert np.array_equal(found.size_of(molecules), last - first)
    beads = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
    assert np.array_equal(found.beads_of(molecules), beads)
    assert np.array_equal(found.molecule_of(beads), table.molecule_of_bead[beads])
    prototypes, at = found.prototypes, found.prototype_of(beads)
    for name in ("mass", "diameter"):
        assert np.array_equal(getattr(prototypes, name)[at], getattr(table, name)[beads])
    assert np.array_equal(prototypes.kind[found.class_of(molecules)], table.kind[molecules])


@pytest.mark.parametrize("order", [lambda topology: topology, shuffled])
def test_any_rows_of_the_tables(topology, order):
    table = order(topology)
    found = composition_of(table)
    for name in ("kind", "first_bead", "first_bond", "bonds", "bond_length", "mass", "diameter", "self_contact", "rod"):
        values = getattr(table, name)
        assert found.count(name) == len(values)
        assert np.array_equal(getattr(found.whole(), name), values), name
        for low, high in ((0, 0), (7, 40), (len(values) // 2, len(values)), (len(values), len(values))):
            part = found.rows(name, low, high)
            assert np.array_equal(part, values[low:high]) and part.dtype == values.dtype, name
    assert found.names == table.names


@pytest.mark.parametrize("order", [lambda topology: topology, shuffled])
def test_parts_of_the_molecules(topology, order):
    table = order(topology)
    found = composition_of(table)
    molecules = np.flatnonzero(np.random.default_rng(2).random(table.molecules) < 0.3)
    assert same_topology(found.part(molecules), one_of_each(table, molecules))
    assert np.array_equal(found.copies, np.bincount(table.kind))
    assert np.array_equal(found.firsts, np.unique(table.kind, return_index=True)[1])
    limits = [0, 1, 17, 18, 40, table.beads]
    parts = [found.beginning_in(low, high) for low, high in zip(limits[:-1], limits[1:], strict=True)]
    assert np.array_equal(np.concatenate(parts), np.arange(table.molecules))
    for low, high, part in zip(limits[:-1], limits[1:], parts, strict=True):
        first = table.first_bead[part]
        assert np.all((first >= low) & (first < high))


def test_an_inputs_composition(config):
    found = build_composition(config)
    listed = composition_of(found.whole())
    assert same_topology(found.prototypes, listed.prototypes) and same_topology(found.whole(), listed.whole())
    assert np.array_equal(found.run, listed.run)


def test_memory_does_not_grow_with_the_molecules(topology):
    once, often = (
        composition_of(one_of_each(topology, np.repeat(np.arange(topology.molecules), times))) for times in (1, 50)
    )
    assert often.molecules == 50 * once.molecules
    assert len(often.run) == len(once.run) == 8 and often.prototypes.beads == once.prototypes.beads < 100


def test_nothing():
    monomer = make_system([(np.zeros((0, 2)), np.zeros((1, 3)), np.zeros((1, 3)), np.ones(1))]).topology.whole()
    found = composition_of(one_of_each(monomer, np.zeros(0, dtype=np.int64)))
    assert found.molecules == found.beads == 0
