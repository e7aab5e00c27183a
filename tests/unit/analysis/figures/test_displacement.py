"""D and its error over many seeds, of molecules whose motion is known; where there is no D; finite boxes."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.analysis.figures.displacement import Displacement, windows, without_box
from hpcchain.analysis.kinds import Kind
from hpcchain.analysis.statistics import split
from hpcchain.analysis.study import Sample, of_kind
from hpcchain.analysis.tables import Report, Value


def walks(seed, molecules, frames, memory):
    """Return (frames, molecules, 3) positions, D = 1: velocities of a correlation time, 0 for Brownian motion."""
    rng = np.random.default_rng([seed, molecules, frames])
    velocity, decay = rng.normal(size=(frames, molecules, 3)), np.exp(-1.0 / memory) if memory else 0.0
    velocity[1:] *= np.sqrt(1.0 - decay**2)
    for k in range(1, frames):
        velocity[k] += decay * velocity[k - 1]
    return np.cumsum(velocity, axis=0) / np.sqrt(0.5 + decay / (1.0 - decay))


def displaced(whole):
    """Return the Report of the motion of molecules, (frames, molecules, beads, 3), frames a time of 1 apart."""
    frames, molecules, beads = whole.shape[:3]
    bonds = np.column_stack([np.arange(beads - 1), np.arange(1, beads)])
    number = np.arange(molecules * beads).reshape(molecules, beads)
    kind = Kind("A", number, np.ones(beads), bonds, split(molecules))
    position = whole.reshape(frames, -1, 3)
    read = {"position": position, "image": np.zeros(position.shape)}
    source = SimpleNamespace(
        beads=lambda name, rows, low, high: read[name][rows, low:high].copy(), fixed=SimpleNamespace(edges=np.ones(3))
    )
    report = Report("walks")
    of_kind(report, kind, [Displacement(kind)], Sample(source, None, [kind], None), slice(0, frames), 1.0)
    return report


@pytest.mark.parametrize(("molecules", "frames", "memory"), [(8, 60, 0.0), (8, 150, 3.0), (12, 60, 1.0)])
def test_errors_of_d_are_what_seeds_scatter(molecules, frames, memory):
    """(D - 1) / error has the mean square 1, within what 200 seeds resolve, and D is not biased."""
    found = [
        displaced(walks(seed, molecules, frames, memory)[:, :, None]).value("diffusion", "A") for seed in range(200)
    ]
    value, error = np.array([(one.value, one.error) for one in found if not one.why]).T
    assert len(value) > 130
    assert 0.85 < np.sqrt(np.mean(((value - 1.0) / error) ** 2)) < 1.2
    assert abs(value.mean() - 1.0) < 4.0 * value.std() / np.sqrt(len(value)) + 0.02


@pytest.mark.parametrize(("length", "given"), [(4.0, True), (30.0, True), (60.0, False)])
def test_d_is_found_where_centres_have_moved_by_their_size(length, given):
    """Of dimers with R_g = length / 2 and D = 1, g3 = 6 t is R_g^2 at t = length^2 / 24; of 300 a third is enough."""
    centre = walks(3, 20, 300, 0.0)[:, :, None]
    report = displaced(centre + np.array([[-0.5 * length, 0.0, 0.0], [0.5 * length, 0.0, 0.0]]))
    found = report.value("diffusion", "A")
    assert bool(found.why) is not given and (given or "no farther than the radius of gyration" in found.why)
    assert not given or abs(found.value - 1.0) < 4.0 * found.error
    assert np.isfinite(report.value("diffusion_exponent", "A").value)


def test_there_is_no_d_where_a_few_molecules_still_fly():
    """Errors of a few molecules are large, so that two of them would let pass what grows as t^1.3."""
    found = [displaced(walks(seed, 10, 100, 10.0)[:, :, None]) for seed in range(40)]
    given = [one.value("diffusion_exponent", "A").value for one in found if not one.value("diffusion", "A").why]
    assert 0 < len(given) < 15 and max(given) < 1.2


def test_longer_runs_have_better_d():
    """The window of its fit goes by how far molecules move, not by the length of the run."""
    short, long = (displaced(walks(5, 20, frames, 0.0)[:, :, None]).value("diffusion", "A") for frames in (50, 800))
    assert long.error < 0.4 * short.error


def test_windows_begin_at_twice_the_lag_of_the_one_before_and_end_at_half_the_time():
    lag = np.arange(101.0)
    bounds = [(lag[window][0], lag[window][-1]) for window in windows(lag, 3.0)]
    assert bounds == [(3.0, 15.0), (6.0, 30.0), (12.0, 50.0), (24.0, 50.0)]
    assert windows(lag, 34.0) == [] and windows(np.zeros(1), 1.0) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"viscosity": None}, "viscosity is not known"),
        ({"viscosity": Value("viscosity", "", np.nan, np.nan)}, "viscosity is not known"),
        ({"diffusion": Value("diffusion", "A", np.nan, np.nan)}, "diffusion coefficient is not known"),
        ({"box": np.array([10.0, 10.0, 12.0])}, "no cube"),
    ],
)
def test_without_the_images_of_the_box(change, why):
    """By hand: D + 2.837297 T / (6 pi eta L), the errors of both as squares; in a cube with both known."""
    given = {
        "diffusion": Value("diffusion", "A", 0.05, 0.003, "length^2 / time"),
        "viscosity": Value("viscosity", "", 2.0, 0.2),
        "temperature": 1.5,
        "box": np.full(3, 10.0),
    }
    found, images = without_box(**given | change), 2.837297 * 1.5 / (6.0 * np.pi * 2.0 * 10.0)
    assert (found.figure, found.molecules) == ("diffusion_infinite_box", "A")
    if why:
        assert why in found.why and np.isnan(found.value)
    else:
        assert not found.why and found.value == pytest.approx(0.05 + images)
        assert found.error == pytest.approx(np.hypot(0.003, 0.1 * images))
