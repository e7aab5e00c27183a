"""Which molecules of a trajectory are of one kind, and what the kinds are called."""

from types import SimpleNamespace

import numpy as np

from hpcchain.analysis.kinds import kinds_in, named


def trajectory(molecules):
    """Return what kinds are found in, of (species, bonds, mass) of each molecule."""
    bonds, molecule, species, mass, first = [], [], [], [], 0
    for number, (types, own, heavy) in enumerate(molecules):
        bonds += [(i + first, j + first) for i, j in own]
        molecule += [number] * len(types)
        species += types
        mass += [heavy] * len(types)
        first += len(types)
    return SimpleNamespace(
        bonds=np.array(bonds, dtype=np.int64).reshape(-1, 2),
        molecule=np.array(molecule),
        species=np.array(species),
        mass=np.array(mass, dtype=float),
        diameter=np.ones(first),
        names=["X", "Y"],
    )


CHAIN = [0] * 4, [(0, 1), (1, 2), (2, 3)], 1.0
RING = [0] * 4, [(0, 1), (0, 3), (1, 2), (2, 3)], 1.0
STAR = [0] * 4, [(0, 1), (0, 2), (0, 3)], 1.0
HEAVY = [0] * 4, [(0, 1), (1, 2), (2, 3)], 2.0
MIXED = [1, 0, 1], [(0, 1), (1, 2)], 1.0
SINGLE = [0], [], 1.0


def test_a_chain_a_ring_and_a_star_of_the_same_beads_are_three_kinds():
    kinds = kinds_in(trajectory([CHAIN, RING, CHAIN, STAR, HEAVY, RING]))
    found = {kind.beads[0, 0]: (kind.linear, len(kind.beads), len(kind.bonds), kind.mass[0]) for kind in kinds}
    assert found == {0: (True, 2, 3, 1.0), 4: (False, 2, 4, 1.0), 12: (False, 1, 3, 1.0), 16: (True, 1, 3, 2.0)}
    ring = next(kind for kind in kinds if len(kind.bonds) == 4)
    assert ring.bonds.tolist() == [list(bond) for bond in RING[1]]
    assert ring.beads.tolist() == [[4, 5, 6, 7], [20, 21, 22, 23]]


def test_kinds_have_names_of_their_own():
    kinds = kinds_in(trajectory([SINGLE, MIXED, CHAIN, RING, SINGLE]))
    assert sorted(kind.name for kind in kinds) == ["X", "X-2", "X-3", "Y"]
    assert kinds[0].name == "X" and kinds[0].size == 1 and len(kinds[0].beads) == 2
    assert named(["A", "A", "A-2", "A"]) == ["A", "A-3", "A-2", "A-4"]


def test_equal_molecules_are_one_kind_whatever_the_order_of_the_bonds_in_the_file():
    found = trajectory([CHAIN, CHAIN])
    found.bonds = found.bonds[[3, 0, 4, 1, 2, 5]]
    kinds = kinds_in(found)
    assert [len(kind.beads) for kind in kinds] == [2] and kinds[0].linear


def test_only_chains_are_linear():
    angle, broken, pair = [(0, 1), (0, 2)], [(0, 1), (1, 3), (2, 3)], [(0, 1)]
    others = [([0] * beads, bonds, 1.0) for beads, bonds in ((3, angle), (4, broken), (2, pair))]
    kinds = kinds_in(trajectory([CHAIN, RING, STAR, *others, SINGLE]))
    assert {int(kind.beads[0, 0]) for kind in kinds if kind.linear} == {0, 19, 21} and len(kinds) == 7


def test_a_kind_of_many_sizes_is_divided_by_them_where_asked():
    """Few sizes give a kind each, many give kinds of about as many molecules; each molecule is in one."""
    found = trajectory([CHAIN] * 6 + [SINGLE] * 100)
    found.diameter = np.concatenate([np.repeat([1.0, 1.2, 1.0, 1.2, 1.0, 1.2], 4), np.linspace(0.5, 1.5, 100)])
    assert len(kinds_in(found)) == 2
    kinds = {kind.name: kind for kind in kinds_in(found, 4)}
    names = ["X[0.5-0.7424]", "X[0.7525-0.9949]", "X[1.005-1.247]", "X[1.258-1.5]"]
    assert list(kinds) == [*names, "X-2[1]", "X-2[1.2]"]
    assert sorted(np.concatenate([kinds[name].beads[:, 0] for name in names])) == list(range(24, 124))
    assert kinds["X-2[1.2]"].beads[:, 0].tolist() == [4, 12, 20] and kinds["X-2[1.2]"].bounds[-1] == 3
