"""Profiles against cases that are known exactly: uniform boxes, gases in a field, shells, flows, droplets."""

import numpy as np
import pytest

from hpcchain.analysis.figures.profile import Along
from hpcchain.analysis.study import Wanted, study
from hpcchain.cli.main import main
from hpcchain.errors import DataError, UsageError
from hpcchain.model.system import OPEN, WALL
from tests.support.analysed import write_run

EDGE = 10.0
SHELLS = ["x", "z", "sphere", "cylinder-x", "cylinder-y", "cylinder-z"]


def profiles(folder, along):
    """Return (figure, molecules) -> Curve of the profiles of a run."""
    report = study(folder, Wanted(0.0, ("profile",), along))
    return {(curve.figure, curve.molecules): curve for curve in report.curves}


def near(curve, exact, most=4.5):
    """Return whether a curve is what is expected, within so many errors, in all bins that have one."""
    known = curve.error > 0.0
    off = np.abs(curve.value - exact)[known] / curve.error[known]
    return bool(np.mean(known) > 0.6 and off.max() < most and np.mean(off**2) < 2.0)


@pytest.fixture(scope="module")
def uniform(tmp_path_factory):
    """A run of 300 single beads anywhere in a periodic cube, with velocities of temperature 1 and a flow along y."""
    rng = np.random.default_rng(3)
    position, velocity = rng.uniform(-EDGE, 2.0 * EDGE, (200, 300, 3)), rng.normal(size=(200, 300, 3))
    velocity[:, :, 1] += 2.0
    return write_run(tmp_path_factory.mktemp("uniform") / "run", [1] * 300, position, velocity, edge=EDGE)


@pytest.mark.parametrize("shape", SHELLS)
def test_a_uniform_box_is_flat(uniform, shape):
    """Density, packing fraction and temperature in slabs and in shells, whose volumes must be right for that."""
    found = profiles(uniform, Along(shape, bins=20))
    density = 300 / EDGE**3
    assert near(found["profile_beads", ""], density)
    assert near(found["profile_packing", ""], density * np.pi / 6.0)
    if shape in ("x", "z", "cylinder-y"):  # along which the flow is the same in a whole bin
        assert near(found["profile_temperature", "A"], 1.0)
    reach = 0.5 * EDGE if shape not in "xyz" else EDGE
    step = found["profile_beads", ""].x[1] - found["profile_beads", ""].x[0]
    assert step == pytest.approx(reach / 20) and found["profile_beads", ""].x[0] == pytest.approx(0.5 * step)
    assert ("profile_molecules", "A") not in found


def test_velocities_are_taken_along_the_line(uniform):
    """A flow along y: in slabs it is v_y, about the y axis it is axial, and about others it has no mean."""
    slabs, about_y = profiles(uniform, Along("z", bins=10)), profiles(uniform, Along("cylinder-y", bins=10))
    for found, name, others in ((slabs, "y", "xz"), (about_y, "axial", ("radial", "around"))):
        assert near(found[f"profile_velocity_{name}", ""], 2.0)
        for other in others:
            assert near(found[f"profile_velocity_{other}", ""], 0.0)


@pytest.mark.parametrize(("shape", "axis"), [("cylinder-x", 0), ("cylinder-y", 1), ("cylinder-z", 2)])
def test_a_turning_fluid(tmp_path, shape, axis):
    """It turns about each axis in the positive sense: the velocity around it is ω r, there is no radial one."""
    rng = np.random.default_rng(4)
    position = rng.uniform(0.0, EDGE, (60, 200, 3))
    along, away = np.eye(3)[axis], position - 0.5 * EDGE
    velocity = 0.5 * np.cross(along, away) + 0.3 * along + 0.1 * rng.normal(size=position.shape)
    found = profiles(write_run(tmp_path / "run", [1] * 200, position, velocity, edge=EDGE), Along(shape, bins=5))
    curve = found["profile_velocity_around", ""]
    assert curve.value == pytest.approx(0.5 * curve.x, rel=0.05, abs=0.1)
    assert found["profile_velocity_axial", ""].value == pytest.approx(np.full(5, 0.3), abs=0.05)
    assert found["profile_velocity_radial", ""].value == pytest.approx(np.zeros(5), abs=0.05)


def test_a_gas_in_a_field_is_barometric(tmp_path):
    """exp(-m g z / T) above a floor, in the mean over each bin; a temperature without what the mean flow carries."""
    rng, height, bins = np.random.default_rng(5), 2.0, 20
    full = 1.0 - np.exp(-EDGE / height)
    z = -height * np.log(1.0 - full * rng.random((300, 200)))
    position = np.stack([*rng.uniform(0.0, EDGE, (2, 300, 200)), z], axis=2)
    velocity = np.sqrt(2.0) * rng.normal(size=position.shape) + np.array([3.0, 0.0, 0.0])
    run = write_run(tmp_path / "run", [1] * 200, position, velocity, edge=EDGE, boundary=WALL)
    found = profiles(run, Along("z", bins=bins))
    edges = np.linspace(0.0, EDGE, bins + 1)
    exact = 200 / EDGE**2 * -np.diff(np.exp(-edges / height)) / full / np.diff(edges)
    assert near(found["profile_beads", ""], exact)
    assert near(found["profile_temperature", "A"], 2.0)
    assert found["profile_velocity_x", ""].value[0] == pytest.approx(3.0, abs=0.1)


def test_molecules_and_types_have_profiles_of_their_own(tmp_path):
    """Dimers along z and single beads: beads of each, centres of mass of each, and their temperature, of M V V."""
    rng = np.random.default_rng(6)
    place, alone = rng.uniform(2.0, 8.0, (50, 100, 1, 3)), rng.uniform(0.0, EDGE, (50, 50, 3))
    dimers = np.concatenate([place - [0.0, 0.0, 0.5], place + [0.0, 0.0, 0.5]], axis=2).reshape(50, 200, 3)
    moving = rng.normal(size=(50, 100, 1, 3)) + np.array([[[[1.0]], [[-1.0]]]]).reshape(1, 1, 2, 1)
    velocity = np.concatenate([moving.reshape(50, 200, 3), rng.normal(size=(50, 50, 3))], axis=1)
    run = write_run(tmp_path / "run", [2] * 100 + [1] * 50, np.concatenate([dimers, alone], axis=1), velocity, EDGE)
    found = profiles(run, Along("z", bins=10))
    total = {key: np.sum(curve.value) * EDGE**3 / 10 for key, curve in found.items() if "beads" in key[0]}
    names = sorted(name for figure, name in found if figure == "profile_molecules")
    single, double = names if np.sum(found["profile_molecules", names[0]].value) * 100 < 60 else names[::-1]
    assert total["profile_beads", ""] == pytest.approx(250)
    assert (total["profile_beads", single], total["profile_beads", double]) == (pytest.approx(50), pytest.approx(200))
    assert np.sum(found["profile_molecules", double].value) * 100 == pytest.approx(100)
    assert np.all(found["profile_molecules", double].value[:2] == 0.0)
    inner = found["profile_temperature", double]
    assert inner.value[3:7] == pytest.approx(np.full(4, 2.0), rel=0.15)


def test_from_the_walls(tmp_path):
    """Beads near either wall, some along it alike and leaving it: both are one, and velocities count away from it."""
    rng = np.random.default_rng(9)
    position, velocity = rng.uniform(0.0, EDGE, (50, 200, 3)), rng.normal(size=(50, 200, 3))
    position[:, :, 2] = 2.0 * rng.random((50, 200))
    upper = np.arange(200) >= 100
    position[:, upper, 2] = EDGE - position[:, upper, 2]
    velocity += np.stack([np.full(200, 1.5), np.zeros(200), np.where(upper, -0.5, 0.5)], axis=1)
    run = write_run(tmp_path / "run", [1] * 200, position, velocity, edge=EDGE, boundary=WALL)
    found = profiles(run, Along("wall-z", bins=5))
    density = found["profile_beads", ""]
    assert density.x_name == "distance" and density.x == pytest.approx(np.arange(5) + 0.5)
    for axis, exact in (("x", 1.5), ("z", 0.5)):
        assert found[f"profile_velocity_{axis}", ""].value[:2] == pytest.approx(np.full(2, exact), abs=0.06)
    assert density.value == pytest.approx([0.5, 0.5, 0.0, 0.0, 0.0], abs=0.02)
    with pytest.raises(DataError, match="no walls along x"):
        profiles(write_run(tmp_path / "open", [1] * 200, position, velocity, edge=EDGE), Along("wall-x"))


def test_stress_and_temperature_of_a_sheared_gas(tmp_path):
    """M V V of centres without the flow's part, of unlike axes too; beads of rigid dimers are colder than centres."""
    rng = np.random.default_rng(10)
    position, velocity = rng.uniform(0.0, EDGE, (200, 300, 3)), rng.normal(size=(200, 300, 3))
    velocity[:, :, 0] += 0.3 * position[:, :, 2] - 0.5 * velocity[:, :, 2]
    found = profiles(write_run(tmp_path / "run", [1] * 300, position, velocity, edge=EDGE), Along("z", bins=20))
    density, spread = 300 / EDGE**3, (0.3 * EDGE / 20) ** 2 / 12.0
    for axes, exact in (("xx", 1.25 + spread), ("yy", 1.0), ("zz", 1.0), ("xz", -0.5), ("xy", 0.0)):
        assert near(found[f"profile_kinetic_pressure_{axes}", ""], density * exact)
    assert near(found["profile_bead_temperature", ""], (3.25 + spread) / 3.0)


def test_contacts_are_where_beads_touch(tmp_path):
    """Two beads that fly along x and touch between two frames; a bead at a wall; frames too far apart give no curve."""
    place, times = np.zeros((3, 2, 3)), np.array([0.0, 1.0, 2.0])
    place[:, 0, 0], place[:, 1, 0] = 2.0 + times, 3.4 + times
    place[:, :, 1:] = 5.0
    events = ([0.5, 1.5, 1.75], [0, 0, 1], [[0, 1], [0, 1], [1, -4]], [1.0, 1.0, 1.0])
    run = write_run(tmp_path / "run", [1, 1], place, edge=EDGE, events=events, times=times, boundary=WALL)
    found = profiles(run, Along("x", bins=5))
    at = np.array([0.0, 1.0, 1.0, 0.0, 0.0])  # 3.2 and 4.2
    assert found["profile_contacts", ""].value == pytest.approx(at / (2.0 * 200.0))
    at = np.array([0.0, 0.0, 1.0, 0.0, 0.0])  # 5.15
    assert found["profile_wall_contacts", ""].value == pytest.approx(at / (2.0 * 200.0))
    report = study(run, Wanted(0.0, ("profile",), Along("x", bins=11)))
    assert report.curve("profile_contacts") is None and "nearer to one another" in report.left_out["profile_contacts"]


def test_contacts_carry_momentum_along_the_line_between_centres(tmp_path):
    """A dimer is hit by a bead, one touches a wall: J l of each is spread from centre to centre, or from the wall."""
    place = np.zeros((3, 4, 3))
    place[:, :, :] = [[5.0, 5.0, 4.5], [5.0, 5.0, 5.5], [5.0, 5.0, 6.5], [2.0, 2.0, 0.5]]
    events = ([0.5, 1.5], [0, 1], [[1, 2], [3, -3]], [3.0, 2.0])
    still = [{"temperature": 1.0, "collisional_pressure": np.zeros((3, 3))}] * 3
    run = write_run(tmp_path / "run", [2, 1, 1], place, edge=EDGE, events=events, reports=still, boundary=WALL)
    found = profiles(run, Along("z", bins=20))
    exact = np.zeros(20)
    exact[10:13] = 3.0 * 0.5 / (50.0 * 2.0)  # from 5.0, the dimer's centre, to 6.5
    exact[0] = 2.0 * 0.5 / (50.0 * 2.0)
    assert found["profile_pressure_zz", ""].value == pytest.approx(exact, abs=1e-9)
    assert found["profile_pressure_xx", ""].value == pytest.approx(np.zeros(20), abs=1e-9)
    around = profiles(run, Along("sphere", (5.0, 5.0, 3.5), bins=7))["profile_pressure_radial", ""]
    assert np.flatnonzero(around.value).tolist() == [3, 4, 5]
    place[1, 1, 2] = 6.2
    run = write_run(tmp_path / "far", [2, 1, 1], place, edge=EDGE, events=events, reports=still, boundary=WALL)
    report = study(run, Wanted(0.0, ("profile",), Along("z", bins=5)))
    assert report.curve("profile_pressure_zz") is None and "miss" in report.left_out["profile_pressure"]


def test_a_droplet_is_found_where_it_is(tmp_path):
    """A ball that moves through a periodic side: about the centre of mass it is dense inside and empty outside."""
    rng = np.random.default_rng(7)
    way = rng.normal(size=(20, 400, 3))
    way *= (2.0 * rng.random((20, 400, 1)) ** (1.0 / 3.0)) / np.linalg.norm(way, axis=2, keepdims=True)
    position = (way + np.linspace(0.0, EDGE, 20)[:, None, None]) % EDGE
    run = write_run(tmp_path / "run", [1] * 400, position, edge=EDGE)
    curve = profiles(run, Along("sphere", "mass", bins=10))["profile_beads", ""]
    inside = 400 / (4.0 / 3.0 * np.pi * 8.0)
    assert curve.value[1:3] == pytest.approx(np.full(2, inside), rel=0.15) and np.all(curve.value[5:] == 0.0)
    fixed = profiles(run, Along("sphere", bins=10))["profile_beads", ""]
    assert fixed.value[1:3].max() < 0.5 * inside


def test_what_a_box_has_no_profile_of_is_reported(tmp_path, uniform):
    place = np.random.default_rng(8).uniform(1.0, 9.0, (4, 10, 3))
    opened = write_run(tmp_path / "open", [1] * 10, place, edge=EDGE, boundary=OPEN)
    walls = write_run(tmp_path / "walls", [1] * 10, place, edge=EDGE, boundary=WALL)
    for run, along, why in (
        (opened, Along("z"), "open axis"),
        (opened, Along("cylinder-x"), "open axis"),
        (walls, Along("sphere", "mass"), "give a center"),
    ):
        report = study(run, Wanted(0.0, None, None))
        assert "profile" not in report.left_out
        with pytest.raises(Exception, match=why):
            study(run, Wanted(0.0, ("profile",), along))
    assert profiles(opened, Along("sphere", (5.0, 5.0, 5.0), reach=20.0))["profile_beads", ""].x[-1] > 19.0
    assert profiles(walls, Along("sphere", (3.0, 5.0, 5.0), bins=3))["profile_beads", ""].x[-1] == pytest.approx(2.5)
    for along in (Along("w"), Along("z", (0.0, 0.0, 0.0)), Along("z", bins=0), Along("sphere", reach=6.0)):
        with pytest.raises(UsageError, match="profile"):
            study(uniform, Wanted(0.0, None, along))
    for run, center in ((uniform, (1e300, 5.0, 5.0)), (walls, (-1.0, 5.0, 5.0))):
        with pytest.raises(UsageError, match="that is outside the box; give a center in it"):
            study(run, Wanted(0.0, None, Along("sphere", center)))


def test_options(uniform, capsys):
    """--along asks for profiles, others say how; they need it."""
    words = ["analyze", str(uniform), "--from", "0", "--figures", "profile"]
    assert main([*words, "--along", "sphere", "--center=-1,2,3", "--bins", "5", "--reach", "2.5", "--csv"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if ",profile_beads," in line]
    assert len(rows) == 5 and ",2.25," in rows[-1]
    assert main(["analyze", str(uniform), "--figures", "sizes", "--bins", "5"]) == 2
    assert "give --along" in capsys.readouterr().err
    assert main(["analyze", str(uniform), "--along", "sphere", "--center", "1,2"]) == 2
    assert "neither three numbers" in capsys.readouterr().err
