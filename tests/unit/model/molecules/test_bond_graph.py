"""The symbolic factorisation: sparse where it can be."""

import numpy as np

from hpcchain.model.molecules.bond_graph import BONDS, FILL, SEQUENCE, SIZE, build_structure
from tests.support.molecules import GRAPHS, chain, join_structures, ring, star


def test_a_chain_is_eliminated_in_order_without_fill():
    gs = build_structure(50, chain(50))
    start = gs[SEQUENCE]
    assert gs[start : start + 49].tolist() == list(range(49))
    assert gs[FILL] == 48


def test_a_ring_fills_one_column():
    chain_fill, extra_column = 49, 48
    assert build_structure(50, ring(50))[FILL] == chain_fill + extra_column


def test_a_star_fills_only_the_clique_of_its_centre():
    arms, beads = 6, 10
    assert build_structure(61, star(arms, beads))[FILL] == arms * (beads - 1) + arms * (arms - 1) // 2


def test_structures_are_relocatable():
    parts = [build_structure(n, bonds) for n, bonds in GRAPHS.values()]
    flat, offsets = join_structures(parts)
    for part, offset in zip(parts, offsets, strict=True):
        assert np.array_equal(flat[offset : offset + flat[offset + SIZE]], part)


def test_a_monomer_has_no_bonds():
    assert build_structure(1, [])[BONDS] == 0
