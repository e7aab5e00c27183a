"""Figures of single frames against exact cases: rods, freely jointed and rotating chains, ideal gases, crystals."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain import read
from hpcchain.analysis.correlate import square_distances
from hpcchain.analysis.figures.bonds import persistence, triples
from hpcchain.analysis.figures.pairs import pair_counts
from hpcchain.analysis.figures.sizes import ENDS, SQUARE, TENSOR, Sizes
from hpcchain.analysis.figures.structure_factor import (
    FARTHEST,
    SHELLS,
    VECTORS,
    StructureFactor,
    amplitudes,
    wave_vectors,
)
from hpcchain.analysis.kinds import Kind
from hpcchain.analysis.study import Wanted, study
from hpcchain.errors import UsageError
from tests.support.analysed import free_chains, rotating_chains, write_run


def found_in(folder, *figures):
    """Return the Report of some families from time 0 on."""
    return study(folder, Wanted(0.0, figures))


def within(value, exact, sigmas=4.0):
    """Whether a value is so many of its errors from an exact one, and has an error."""
    return 0.0 < value.error and abs(value.value - exact) <= sigmas * value.error


def test_straight_rods(tmp_path):
    """Rg^2 = (n^2 - 1) / 12 bonds, one eigenvalue alone; R^2(s) = s^2; persistence is without end."""
    n, rods = 7, 5
    straight = np.zeros((1, rods, n, 3))
    straight[..., 0] = np.arange(n)
    report = found_in(
        write_run(tmp_path, [n] * rods, straight.reshape(1, -1, 3)),
        "sizes",
        "bond_correlation",
        "bond_angles",
        "internal_distances",
        "nematic_order",
    )
    square = (n**2 - 1) / 12.0
    for figure, exact in (
        ("radius_of_gyration", square**0.5),
        ("end_to_end", n - 1.0),
        ("shape_anisotropy", 1.0),
        ("gyration_eigenvalue_1", square),
        ("gyration_eigenvalue_2", 0.0),
        ("asphericity", square),
        ("gyration_tensor_xx", square),
        ("gyration_tensor_yy", 0.0),
        ("gyration_tensor_xy", 0.0),
        ("bond_angle_cosine", 1.0),
        ("kuhn_length", n - 1.0),
        ("nematic_order", 1.0),
    ):
        assert report.value(figure, "A").value == pytest.approx(exact, abs=1e-12), figure
    assert report.value("persistence_length", "A").value == np.inf
    assert report.curve("internal_distances", "A").value == pytest.approx(np.arange(1.0, n) ** 2)
    assert report.curve("bond_correlation", "A").value == pytest.approx(1.0)
    assert report.curve("bond_angles", "A").value[-1] == pytest.approx(25.0)


def test_sizes_of_a_pair_of_unequal_masses():
    kind = Kind("A", np.array([[0, 1]]), np.array([1.0, 3.0]), np.array([[0, 1]]), np.array([0, 1]))
    row = Sizes(kind).add(SimpleNamespace(position=np.array([[5.0, 5, 5], [5, 5, 9]])))[0]
    assert row[SQUARE] == pytest.approx(3.0) and row[ENDS] == 16.0
    assert row[TENSOR] == pytest.approx([0.0, 0.0, 3.0, 0.0, 0.0, 0.0])


def test_freely_jointed_chains(tmp_path):
    """R_e^2 = n - 1, R_g^2 = (n^2 - 1) / 6 n bonds^2, R^2(s) = s, no correlation of bonds; errors are honest."""
    n, molecules = 10, 100
    position = free_chains(1, 30, molecules, n).reshape(30, -1, 3)
    report = found_in(write_run(tmp_path, [n] * molecules, position), "sizes", "bond_correlation", "internal_distances")
    assert within(report.value("end_to_end", "A"), (n - 1.0) ** 0.5)
    assert within(report.value("radius_of_gyration", "A"), ((n**2 - 1.0) / (6.0 * n)) ** 0.5)
    known = (2.0 / 3.0 / (30 * molecules)) ** 0.5 * (n - 1.0) ** 0.5 / 2.0  # the variance of Re^2 is 2/3 of its square
    assert 0.7 * known < report.value("end_to_end", "A").error < 1.7 * known
    assert within(report.value("kuhn_length", "A"), 1.0)
    assert report.value("bond_length", "A").value == pytest.approx(1.0)
    curve = report.curve("internal_distances", "A")
    assert np.all(np.abs(curve.value[1:] - curve.x[1:]) < 4.5 * curve.error[1:])
    bonds = report.curve("bond_correlation", "A")
    assert np.all(np.abs(bonds.value[1:]) < 4.5 * bonds.error[1:]) and bonds.value[0] == pytest.approx(1.0)


def test_the_persistence_of_freely_rotating_chains(tmp_path):
    """With cos = 1/e the correlation of bonds falls by e a bond: the persistence length is one bond."""
    cosine = np.exp(-1.0)
    position = rotating_chains(2, 400, 8, cosine).reshape(1, -1, 3)
    report = found_in(write_run(tmp_path, [8] * 400, position), "bond_correlation", "bond_angles")
    assert report.value("bond_angle_cosine", "A").value == pytest.approx(cosine, abs=1e-12)
    assert within(report.value("persistence_length", "A"), 1.0) or report.value(
        "persistence_length", "A"
    ).value == pytest.approx(1.0, abs=1e-9)
    curve = report.curve("bond_correlation", "A")
    assert np.all(np.abs(curve.value[2:] - cosine ** curve.x[2:]) < 4.5 * curve.error[2:])


def test_persistence_is_fitted_to_what_is_above_1_by_e():
    assert persistence(np.exp(-np.arange(12.0) / 5.0)) == pytest.approx(5.0)
    assert persistence(0.2 ** np.arange(12.0)) == pytest.approx(-1.0 / np.log(0.2))
    assert np.isnan(persistence(np.array([1.0, -0.1, 0.0]))) and np.isnan(persistence(np.array([1.0])))


def test_distances_along_a_chain_are_those_of_the_double_sum():
    points = np.random.default_rng(3).normal(size=(4, 9, 3)) + 100.0
    for s in range(1, 9):
        exact = np.mean(np.sum((points[:, s:] - points[:, : 9 - s]) ** 2, axis=2), axis=1)
        assert square_distances(points)[:, s] == pytest.approx(exact, rel=1e-9)


def test_angles_of_a_star_are_those_at_its_centre():
    assert triples(4, np.array([[0, 1], [0, 2], [0, 3]])).tolist() == [[1, 0, 2], [1, 0, 3], [2, 0, 3]]


def test_directions_without_order(tmp_path):
    """Of M rods without order S has the mean 0 but for chance: of order M^-1/2, the middle eigenvalue's less."""
    position = free_chains(5, 20, 500, 2).reshape(20, -1, 3)
    report = found_in(write_run(tmp_path, [2] * 500, position), "nematic_order")
    assert 0.0 < report.value("nematic_order", "A").value < 3.0 / 500**0.5
    assert abs(report.value("nematic_order_middle", "A").value) < 0.02


def test_order_of_rods_about_an_axis(tmp_path):
    """Rods at a fixed angle to z, evenly around it: S = (3 cos^2 - 1) / 2."""
    angle, around = 0.3, 2.0 * np.pi * np.arange(60) / 60
    ends = np.column_stack([np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), np.full(60, np.cos(angle))])
    position = np.stack([np.zeros_like(ends), ends], axis=1).reshape(1, -1, 3)
    report = found_in(write_run(tmp_path, [2] * 60, position), "nematic_order")
    assert report.value("nematic_order", "A").value == pytest.approx(1.5 * np.cos(angle) ** 2 - 0.5)


def test_an_ideal_gas_has_g_and_s_of_1(tmp_path):
    position = np.random.default_rng(4).uniform(0.0, 10.0, size=(40, 400, 3))
    report = found_in(write_run(tmp_path, [2] * 200, position, edge=10.0), "pair_distribution", "structure_factor")
    g = report.curve("pair_distribution")
    wide = np.add.reduceat(g.value * g.x**2, np.arange(0, 200, 10)) / np.add.reduceat(g.x**2, np.arange(0, 200, 10))
    assert g.x[-1] == pytest.approx(4.0, rel=0.01)
    assert np.all(np.abs(wide[2:] - 1.0) < 0.05)
    parts = [report.curve(f"pair_distribution_{part}").value for part in ("inter", "intra")]
    assert parts[0] + parts[1] == pytest.approx(g.value)
    s = report.curve("structure_factor")
    assert np.all(np.abs(s.value - 1.0) < 5.0 * s.error) and np.median(s.error) < 0.1


def fcc(cells):
    """Return the 4 cells^3 sites of a face-centred cubic crystal of lattice constant 1."""
    corner = np.stack(np.meshgrid(*[np.arange(float(cells))] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    return (corner + np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])).reshape(-1, 3)


def test_a_crystal_scatters_at_its_own_wave_vectors_alone(tmp_path):
    """S = N at the reciprocal lattice, Miller indices all odd or all even, else 0; 12 neighbours at 1/2^½."""
    site = fcc(4)
    whole = np.array([[4, 4, 4], [8, 0, 0], [4, 0, 0], [8, 4, 4], [8, 8, 0], [3, 1, 2], [4, 4, 5]])
    s = np.abs(amplitudes(site, np.full(3, 4.0), whole)) ** 2 / len(site)
    assert s == pytest.approx([256.0, 256.0, 0.0, 0.0, 256.0, 0.0, 0.0], abs=1e-9)
    report = found_in(write_run(tmp_path, [1] * 256, site[None] + 0.01, edge=4.0), "pair_distribution")
    g = report.curve("pair_distribution")
    shell = 4.0 * np.pi * g.x**2 * (g.x[1] - g.x[0]) * 255 / 64.0
    first = g.x < 0.85
    assert np.sum(g.value[first] * shell[first]) == pytest.approx(12.0, rel=0.01)
    assert len(report.curves) == 1, "single beads have no pairs in one molecule"


@pytest.mark.parametrize(
    ("edges", "reach"),
    [
        ((6.0, 6.5, 7.0), 1.0),
        ((4.0, 20.0, 9.0), 2.0),
        ((3.0, 3.0, 3.0), 1.5),
        ((5.0, 6.0, 7.0), 2.0),
        ((9.0, 2.0, 9.0), 1.0),
    ],
)
@pytest.mark.parametrize("beads", [1, 150])
def test_pairs_are_counted_as_by_looking_at_all(edges, reach, beads):
    rng, box = np.random.default_rng(6), np.array(edges)
    position, molecule = rng.uniform(-1.0, 2.0, size=(beads, 3)) * box, np.arange(beads) // 5
    i, j = np.triu_indices(beads, 1)
    away = position[i] - position[j]
    away -= box * np.rint(away / box)
    distance, bounds = np.sqrt(np.sum(away**2, axis=1)), np.linspace(0.0, reach, 41)
    exact = [np.histogram(distance[chosen], bounds)[0] for chosen in (i < j, molecule[i] == molecule[j])]
    assert pair_counts(position, box, molecule, reach, 40).tolist() == np.array(exact).tolist()
    assert beads == 1 or exact[0].sum() > 50


def test_amplitudes_are_sums_of_exponential_functions():
    rng, box = np.random.default_rng(7), np.array([10.0, 12.0, 40.0])
    position, whole = rng.uniform(-1.0, 2.0, size=(1500, 3)) * box, wave_vectors(box, 12.0, 24)
    exact = np.exp(2j * np.pi * (position / box) @ whole.T).sum(axis=0)
    assert whole.min() < -10 and np.abs(amplitudes(position, box, whole) - exact).max() < 1e-9


def test_a_wide_box_has_no_more_wave_vectors_than_others():
    """Its wave numbers are whole numbers up to 1e9 of the least, of which some hundred are looked at."""
    box = np.full(3, 5e8)
    found = SimpleNamespace(mass=np.ones(5), edges=box, diameter=np.ones(5))
    place = np.random.default_rng(3).uniform(size=(5, 3)) * box
    figure = StructureFactor(found)
    assert len(figure.k) <= SHELLS and len(figure.whole) <= SHELLS * VECTORS
    assert figure.k[-1] == pytest.approx(FARTHEST, rel=1e-6)
    phase = 2.0 * np.pi * ((figure.whole[:, None] * (place / box)).sum(axis=2) % 1.0)
    square = np.abs(np.exp(1j * phase).sum(axis=1)) ** 2 / 5
    exact = [square[figure.shell == shell].mean() for shell in range(len(figure.k))]
    assert figure.add(SimpleNamespace(position=place))[0] == pytest.approx(exact, abs=1e-5)


def test_wave_vectors_are_each_once_and_within_reach():
    box = np.array([10.0, 12.0, 40.0])
    whole = wave_vectors(box, 6.0, 24)
    assert len({tuple(row) for row in whole.tolist()} | {tuple(row) for row in (-whole).tolist()}) == 2 * len(whole)
    length = np.sqrt(np.sum((2.0 * np.pi * whole / box) ** 2, axis=1))
    assert 0.0 < length.min() < 0.2 and 5.5 < length.max() < 6.2


def test_local_order_of_a_crystal_by_freud(tmp_path):
    """0.19094 and 0.57452 of the 12 neighbours in a face-centred cubic crystal (Steinhardt et al. 1983)."""
    pytest.importorskip("freud")
    report = found_in(write_run(tmp_path, [1] * 256, fcc(4)[None] + 0.01, edge=4.0), "local_order")
    assert report.value("steinhardt_q4").value == pytest.approx(0.19094, abs=1e-4)
    assert report.value("steinhardt_q6").value == pytest.approx(0.57452, abs=1e-4)


def test_local_order_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "freud", None)
    with pytest.raises(UsageError, match="local_order needs the package freud.*hpcchain\\[analysis\\]"):
        found_in(tmp_path, "local_order")


def test_kinetic_pressure_is_that_of_an_ideal_gas(tmp_path):
    """Of chains in free flight: M V V / volume; with velocities of variance T / m it is the number density times T."""
    velocity = np.random.default_rng(9).normal(size=(30, 200, 1, 3)) * np.array([1.0, 2.0, 0.5])
    velocity = np.repeat(velocity, 2, axis=2).reshape(30, -1, 3)
    report = found_in(write_run(tmp_path, [2] * 200, np.zeros_like(velocity), velocity, edge=10.0), "kinetic_pressure")
    for axes, exact in (("xx", 0.4), ("yy", 1.6), ("zz", 0.1), ("xy", 0.0), ("yz", 0.0)):
        assert within(report.value(f"kinetic_pressure_{axes}"), exact)


def test_the_pressure_tensor_has_both_parts(tmp_path):
    """What frames have of the centres of mass, and the mean of the reports from the start on; the first has none."""
    rng = np.random.default_rng(9)
    velocity = rng.normal(size=(30, 400, 3))
    part = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, -0.3], [0.0, -0.3, 3.0]])
    noise = 0.01 * rng.normal(size=(30, 3, 3))
    tensors = [np.full((3, 3), np.nan), *(part + n + n.T for n in noise[1:])]
    reports = [{"temperature": 1.0, "collisional_pressure": tensor} for tensor in tensors]
    run = write_run(tmp_path, [1] * 400, np.zeros_like(velocity), velocity, edge=10.0, reports=reports)
    report = found_in(run, "pressure_tensor", "observables")
    for axes, exact in (("xx", 1.4), ("yy", 2.4), ("zz", 3.4), ("xy", 0.2), ("xz", 0.0), ("yz", -0.3)):
        assert within(report.value(f"pressure_tensor_{axes}"), exact)
    assert not any(value.figure.startswith("collisional") for value in report.values)


def test_a_run_without_the_part_of_contacts_has_no_pressure_tensor(tmp_path):
    position = np.zeros((4, 5, 3))
    assert (
        "collisional_pressure" in study(write_run(tmp_path, [1] * 5, position), Wanted(0.0)).left_out["pressure_tensor"]
    )


def test_pairs_are_those_that_mdanalysis_counts(tmp_path):
    pytest.importorskip("MDAnalysis")
    from MDAnalysis.analysis.rdf import InterRDF

    position = np.random.default_rng(10).uniform(0.0, 8.0, size=(3, 60, 3))
    folder = write_run(tmp_path, [3] * 20, position, edge=8.0)
    g = found_in(folder, "pair_distribution").curve("pair_distribution")
    universe = read(folder).universe()
    theirs = InterRDF(universe.atoms, universe.atoms, nbins=200, range=(0.0, 4.0), norm="none", exclude_same=None)
    counts = theirs.run().results.count
    width = g.x[1] - g.x[0]
    ideal = 0.5 * 60 * 59 * 4.0 / 3.0 * np.pi * ((g.x + width / 2) ** 3 - (g.x - width / 2) ** 3) / 512.0
    ours = g.value * ideal * 3
    away = (ours - counts / 2.0)[1:]  # their first bin has each bead with itself; they round to single precision
    assert np.abs(away).max() < 1.5 and np.abs(np.cumsum(away)).max() < 2.5 and np.sum(ours) > 2000.0


def test_single_beads_have_no_size_which_is_no_failure(tmp_path):
    """Sizes are asked for by name where nothing is said, as in the analysis of Python programs."""
    run = write_run(tmp_path / "run", [1] * 5, np.random.default_rng(1).uniform(0.0, 9.0, (4, 5, 3)))
    analysis = read(run).analysis(start=0.0)
    assert analysis.value("radius_of_gyration", "A") is None and np.isnan(analysis.molecules["A"].gyration)
