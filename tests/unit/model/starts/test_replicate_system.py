"""Copies of a start: which molecule stands where, bonds, overlaps, velocities of the whole, the same bits in pieces."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts import replicate_system as module
from hpcchain.model.starts.constraints import bond_vectors, degrees_of_freedom
from hpcchain.model.starts.given import check_start
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.starts.replicate_system import Copies, Sums, Thermal, exact_sum
from hpcchain.model.starts.start import build_system
from tests.support.copied import longer, mixed
from tests.support.run_folders import write_input

INPUTS = {"mixed": mixed(), "long chain": longer(), "long rod": longer("rod")}
NUMBERS = [(1, 1, 1), (3, 1, 2), (1, 5, 1), (3, 3, 3)]


def one_copy(folder, tables):
    return build_system(load_config(write_input(folder / "in.toml", tables)))


def copies_of(system, numbers):
    return Copies(system.box, system.topology, system.state.position, numbers)


def thermal(copies, temperature=1.7, seed=5):
    """Return the Thermal of copies, settled, and the number of their beads."""
    found, beads = Thermal(copies, temperature, seed), copies.composition.beads
    found.settle(found.sums(0, beads))
    return found, beads


@pytest.fixture(params=INPUTS)
def system(request, tmp_path):
    return one_copy(tmp_path, INPUTS[request.param])


@pytest.mark.parametrize("numbers", NUMBERS)
def test_molecules_are_those_of_the_input_times_the_copies(system, numbers):
    copies, count = copies_of(system, numbers), math.prod(numbers)
    whole, table = copies.composition.whole(), system.topology.whole()
    assert np.array_equal(copies.box.size, system.box.size * numbers) and np.array_equal(
        copies.box.origin, system.box.origin
    )
    assert np.array_equal(np.bincount(whole.kind), count * np.bincount(table.kind))
    assert np.all(np.diff(whole.kind) >= 0) and whole.beads == count * system.topology.beads
    for kind in range(len(whole.names)):
        one, other = (np.flatnonzero(each.kind == kind)[-1] for each in (table, whole))
        for name, first in (("mass", "first_bead"), ("diameter", "first_bead"), ("bond_length", "first_bond")):
            rows = [
                getattr(each, name)[slice(*getattr(each, first)[at : at + 2])]
                for each, at in ((table, one), (whole, other))
            ]
            assert np.array_equal(*rows)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_each_molecule_is_one_of_the_input_shifted_by_box_lengths(system, numbers):
    """Within a kind copy after copy, the last axis first; nothing is further off than by rounding."""
    copies = copies_of(system, numbers)
    found, beads = thermal(copies)
    position = found.state(0, beads).position
    expected = []
    for kind in range(len(system.topology.names)):
        own = system.state.position[system.topology.whole().kind[system.topology.whole().molecule_of_bead] == kind]
        expected += [own + system.box.size * index for index in np.ndindex(*numbers)]
    assert np.abs(position - np.concatenate(expected)).max() < 1e-13
    if numbers == (1, 1, 1):
        assert np.array_equal(position, system.state.position)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_the_copies_are_a_start(system, numbers):
    """Bonds, rods, walls, rates, and all pairs of the large box, beads that touch among them."""
    copies = copies_of(system, numbers)
    found, beads = thermal(copies)
    state, whole = found.state(0, beads), copies.composition.whole()
    check_start("copies", copies.box, whole, state.position, state.velocity)
    assert bead_overlap(copies.box, whole, state.position, 1e-13) is None
    assert copies.overlap(1e-12) is None and copies.taken(found.sums(0, beads).projected) < 1e-13
    bond = bond_vectors(state.position, whole.bonds)
    assert np.abs(np.linalg.norm(bond, axis=1) / whole.bond_length - 1.0).max() < 2e-14
    rate = np.einsum("bk,bk->b", bond, bond_vectors(state.velocity, whole.bonds))
    assert np.abs(rate).max() < 1e-13


@pytest.mark.parametrize("numbers", NUMBERS)
def test_velocities_have_the_temperature_and_no_momentum(system, numbers):
    copies = copies_of(system, numbers)
    found, beads = thermal(copies)
    state, whole = found.state(0, beads), copies.composition.whole()
    freedom = degrees_of_freedom(whole, state.position)
    energy = 0.5 * math.fsum(whole.mass * np.sum(state.velocity**2, axis=1))
    assert energy == pytest.approx(0.5 * freedom * 1.7, rel=2e-15)
    scale = math.fsum(whole.mass * np.linalg.norm(state.velocity, axis=1))
    assert max(abs(math.fsum(column)) for column in (whole.mass[:, None] * state.velocity).T) < 1e-15 * scale
    if beads > 500:
        assert found.speed == pytest.approx(np.sqrt(np.mean(np.sum(state.velocity**2, axis=1))), rel=0.02)
    assert np.all(state.ticks == 0.0) and np.all(state.depth == -1) and not state.image.any()


def test_copies_do_not_move_alike(tmp_path, monkeypatch):
    """The correlation of two copies' velocities is that of as many random numbers; each copy is a unit."""
    monkeypatch.setattr(module, "UNIT", 9)
    system = one_copy(tmp_path, mixed())
    copies = copies_of(system, (6, 6, 6))
    found, beads = thermal(copies)
    single = found.state(0, beads).velocity[copies.composition.first_bead[2] : copies.composition.first_bead[3]]
    copy = single.reshape(216, 27) * np.sqrt(3.0 / 1.7)  # single beads of mass 3, nine in each
    assert copy.var() == pytest.approx(1.0, abs=5.0 * math.sqrt(2.0 / copy.size))
    assert abs(np.mean(copy[1:] * copy[:-1])) < 5.0 / math.sqrt(copy.size)


def test_no_bit_depends_on_how_beads_are_cut(tmp_path, monkeypatch):
    """Units of some molecules, and pieces that begin and end in the middle of molecules."""
    monkeypatch.setattr(module, "UNIT", 10)
    system = one_copy(tmp_path, mixed())
    copies = copies_of(system, (3, 2, 2))
    whole, beads = thermal(copies)
    expected = whole.state(0, beads)
    cuts = sorted({0, beads, *np.random.default_rng(3).integers(0, beads, 30).tolist()})
    pieces = list(zip(cuts[:-1], cuts[1:], strict=True))
    other = Thermal(copies, 1.7, 5)
    other.settle(sum((other.sums(*piece) for piece in reversed(pieces)), Sums()))
    for low, high in pieces:
        state = other.state(low, high)
        assert np.array_equal(state.position, expected.position[low:high])
        assert np.array_equal(state.velocity, expected.velocity[low:high])
    assert len(other.state(7, 7).position) == 0
    units = list(copies.units(0, beads))
    assert [unit.bead for unit in units] == sorted({unit.bead for unit in units})
    for low, high in pieces:  # those that are needed, and no others
        found = [unit for unit in units if unit.bead < high and low < unit.bead + copies.positions(unit).size // 3]
        assert list(copies.units(low, high)) == found


def test_beads_that_are_too_close_are_found_in_one_copy(tmp_path):
    """A bead of a molecule longer than the box and another's image, which the copies make beads of two molecules."""
    system = one_copy(tmp_path, longer())
    position = system.state.position.copy()
    position[11] = position[3] - [system.box.size[0], 0.0, 0.4]
    copies = Copies(system.box, system.topology, position, (2, 2, 2))
    assert copies.overlap(1e-9)[:2] == (3, 11)
    unit = next(copies.units(0, 1))
    assert bead_overlap(copies.box, copies.composition.whole(), copies._shifted(unit).reshape(-1, 3)) is not None


@pytest.mark.parametrize("far", [3, 10**4, 10**8])
def test_what_rounding_takes_is_not_more_than_is_said(tmp_path, far):
    """The last copy of a chain against whole numbers."""
    system = one_copy(tmp_path, mixed())
    copies = copies_of(system, (far, 1, 1))
    first = int(copies.composition.first_bead[1])  # behind the last chain
    *_, last = copies.units(first - 1, first)
    found, side = copies.positions(last), Fraction(system.box.size[0])
    exact = [[Fraction(x) + (far - 1) * side, Fraction(y), Fraction(z)] for x, y, z in system.state.position[8:12]]
    off = np.abs(np.array([list(map(Fraction, row)) for row in found[-1]]) - np.array(exact)).max()
    assert 0 < off <= copies.rounding + copies.projected(last, found) and copies.rounding < 1e-14 * far


def test_a_single_bead_has_no_temperature(tmp_path):
    system = one_copy(
        tmp_path,
        mixed(
            molecule=[mixed()["molecule"][2] | {"count": 1, "positions": [[1.0, 1.0, 1.0]], "velocities": [[0.0] * 3]}]
        ),
    )
    with pytest.raises(ConfigError, match="initial.temperature"):
        Thermal(copies_of(system, (1, 1, 1)), 1.0, 1)
    Thermal(copies_of(system, (1, 2, 1)), 1.0, 1)


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_exact(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(1000, 3)) * 10.0 ** rng.integers(-300, 290, (1000, 3))
    values[:4] = [[5e-324, -5e-324, 0.0], [-0.0, 1e308, -1e308], [1.0, 2.0**-80, -1.0], [2.0**52 + 0.5, 0.1, 3.0]]
    assert float(exact_sum(values)) == math.fsum(values.ravel())
    assert exact_sum(values) == sum(map(Fraction, values.ravel().tolist()))
    assert exact_sum(values[:500]) + exact_sum(values[500:]) == exact_sum(values[::-1])
    assert exact_sum(np.empty(0)) == 0
