"""Forces against a plain NumPy sum over all pairs and against differences of the energy; the order of the steps."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import ConfigError, EngineError, StepError
from hpcchain.model.molecules.exclusion import excluded_pairs
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.local_beads import LocalBeads
from tests.support.stepped import FENE, LJ, SOFT, liquid, run_on, snakes, stepping, system_of, total

TYPES = [
    LJ | {"types": ["A", "A"]},
    {"name": "wca", "epsilon": 0.7, "sigma": 0.9, "types": ["A", "B"]},
    LJ | {"types": ["C", "C"], "sigma": 0.95, "shift": False},
    LJ | {"types": ["A", "C"], "epsilon": 0.4, "cutoff": 1.7},
    FENE,
]
FIELD = [{"name": "center", "stiffness": 0.3, "center": [1.0, 2.0, 3.0]}]


def lennard_jones(one, r):
    """Return energy and force of a pair at a distance, as the input has it."""
    sigma, epsilon = one["sigma"], one["epsilon"]
    cutoff = 2.0 ** (1.0 / 6.0) * sigma if one["name"] == "wca" else one["cutoff"]

    def energy(x):
        return 4.0 * epsilon * ((sigma / x) ** 12 - (sigma / x) ** 6)

    force = 24.0 * epsilon * (2.0 * (sigma / r) ** 12 - (sigma / r) ** 6) / r
    shift = energy(cutoff) if one.get("shift", True) else 0.0
    return (energy(r) - shift, force) if r < cutoff else (0.0, 0.0)


def bonded(one, r):
    """Return energy and force of a bond at a length."""
    if one["name"] == "harmonic":
        return 0.5 * one["stiffness"] * (r - one["length"]) ** 2, -one["stiffness"] * (r - one["length"])
    most = one["length"]
    u, f = lennard_jones({"name": "wca", "sigma": one["sigma"], "epsilon": one["epsilon"]}, r)
    u -= 0.5 * one["stiffness"] * most**2 * np.log(1.0 - (r / most) ** 2)
    return u, f - one["stiffness"] * r / (1.0 - (r / most) ** 2)


def twin(tables, system):
    """Return the energy and the forces (n, 3) of a start, pair by pair."""
    topology, position = system.topology.whole(), system.state.position
    names = [topology.names[k] for k in np.repeat(topology.kind, np.diff(topology.first_bead))]
    pairs, bonds = {}, {}
    for one in tables["potential"]:
        types = [one["types"]] if "types" in one else [(a, b) for a in topology.names for b in topology.names]
        for a, b in types if one["name"] != "center" else ():
            (bonds if one["name"] in ("harmonic", "fene") else pairs)[tuple(sorted((a, b)))] = one
    together = {tuple(bond) for bond in topology.bonds.tolist()}
    left = {tuple(pair) for pair in excluded_pairs(topology).tolist()} - together
    energy, force = 0.0, np.zeros_like(position)
    for i in range(len(position)):
        for j in range(i + 1, len(position)):
            d = position[i] - position[j]
            table, law = (bonds, bonded) if (i, j) in together else (pairs, lennard_jones)
            if table is pairs:
                d = d - system.box.size * np.rint(d / system.box.size)
            one = table.get(tuple(sorted((names[i], names[j]))))
            if one is None or d @ d > 9.0 or (i, j) in left:
                continue
            r = np.sqrt(d @ d)
            u, f = law(one, r)
            energy += u
            force[i] += f * d / r
            force[j] -= f * d / r
    return energy, force


@pytest.mark.parametrize("potentials", [[LJ, FENE], TYPES, [LJ, FENE | {"name": "harmonic"}]])
def test_forces_are_those_of_a_plain_sum(potentials):
    bare = [
        {k: v for k, v in one.items() if one["name"] != "harmonic" or k not in ("epsilon", "sigma")}
        for one in potentials
    ]
    tables = liquid(1, beads=120, potential=bare)
    system = system_of(tables)
    energy, force = twin(tables, system)
    engine = SteppedEngine(system)
    assert np.abs(engine.beads.force - force).max() < 1e-12 * np.abs(force).max()
    assert engine.energies()[:, 0].sum() == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("exclude", [2, 3])
def test_beads_that_few_bonds_join_have_no_pair_potential(exclude):
    tables = liquid(1, beads=60)
    tables["molecule"][2]["exclude"] = exclude
    system = system_of(tables)
    energy, force = twin(tables, system)
    engine = SteppedEngine(system)
    assert np.abs(engine.beads.force - force).max() < 1e-12 * np.abs(force).max()
    assert engine.energies()[:, 0].sum() == pytest.approx(energy, rel=1e-12)
    every = SteppedEngine(system_of(liquid(1, beads=60)))
    assert np.abs(engine.beads.force - every.beads.force).max() > 1e-3 * np.abs(force).max()


def test_a_box_in_which_beads_meet_those_that_are_left_out_is_named():
    tables = liquid(1, beads=0, chains=1)
    tables["molecule"] = [tables["molecule"][2] | {"exclude": 3, "bond_length": 3.4}]
    tables["molecule"][0]["positions"] = snakes(np.random.default_rng(1), 12.0, 1, 12, bond=3.4).tolist()
    tables["potential"] = [LJ, {"name": "harmonic", "stiffness": 30.0, "length": 3.4}]
    with pytest.raises(ConfigError, match=r"box.size: the periodic side 12 along axis 0.*left out by molecule.exclude"):
        SteppedEngine(system_of(tables))


def test_bonds_alone_may_be_longer_than_a_periodic_side():
    """Nothing else acts: there are no lists from which a bead could be missing."""
    tables = liquid(1, beads=0, chains=1)
    tables["box"] = {"size": [3.0] * 3}
    tables["molecule"] = [tables["molecule"][2] | {"bond_length": 3.4, "diameter": 0.5}]
    tables["molecule"][0]["positions"] = (np.arange(12)[:, None] * [3.4, 0.0, 0.0]).tolist()
    tables["potential"] = [{"name": "harmonic", "stiffness": 30.0, "length": 3.4}]
    system = system_of(tables)
    parts = run_on(system, 1.0, 1)
    assert total(parts, system) == pytest.approx(total(run_on(system, 0.0, 1), system), rel=1e-2)


def test_forces_are_the_energys_slope():
    system = system_of(
        liquid(2, beads=60, chains=2, potential=[LJ, FENE, *FIELD], external={"gravity": [0.1, 0.0, -1.0]})
    )
    engine = SteppedEngine(system)
    step = 1e-5
    for bead in (0, 7, 61, 70):
        for axis in range(3):
            sides = []
            for sign in (-1.0, 1.0):
                position = system.state.position.copy()
                position[bead, axis] += sign * step
                moved = replace(system, state=replace(system.state, position=position))
                sides.append(SteppedEngine(moved).energies()[:, 0].sum())
            slope = (sides[1] - sides[0]) / (2.0 * step)
            assert engine.beads.force[bead, axis] == pytest.approx(-slope, rel=1e-6, abs=1e-5)


def test_steps_are_of_order_two_and_keep_the_energy():
    wells = [
        {"name": "harmonic", "stiffness": 40.0, "length": 1.0},
        {"name": "center", "stiffness": 1.0, "center": [6.0, 6.0, 6.0]},
    ]
    system = system_of(liquid(3, beads=2, chains=3, potential=wells))
    exact = run_on(stepping(system, 1.0 / 4096), 1.0, 1)[0]
    error = [np.abs(run_on(stepping(system, 2.0**-k), 1.0, 1)[0] - exact).max() for k in (5, 6, 7, 8)]
    slope = np.polyfit(range(4), np.log2(error), 1)[0]
    assert -2.15 < slope < -1.85
    start = total(run_on(system, 0.0, 1), system)
    late = [total(run_on(stepping(system, 1.0 / 64), time, 1), system) / start - 1.0 for time in (1.0, 5.0, 20.0, 60.0)]
    assert np.abs(late).max() < 0.02


def test_momentum_is_kept():
    system = system_of(liquid(4))
    before, after = (system.topology.whole().mass @ run_on(system, time, 1)[1] for time in (0.0, 0.5))
    assert np.abs(after - before).max() < 1e-10


def test_a_torn_bond_is_named():
    system = system_of(liquid(5, beads=10, chains=1))
    system.state.position[-1] += [0.8, 0.0, 0.0]
    last = len(system.state.position) - 1
    with pytest.raises(EngineError, match=f"beads {last - 1} and {last} is torn.*steps.step"):
        SteppedEngine(system)


@pytest.mark.parametrize(("nearer", "refused"), [(0.6, True), (0.1, False)])
def test_a_start_that_forces_tear_apart_in_a_step_is_refused(nearer, refused):
    """Also on several ranks, where one has the bead."""
    system = system_of(liquid(5, chains=0))
    system.state.position[0] = system.state.position[1] + [1.0 - nearer, 0.0, 0.0]
    for ranks in (1, 2):
        if not refused:
            run_on(system, 0.0, ranks)
            continue
        with pytest.raises(StepError, match=r"at the start forces move bead [01] by .* make steps.step smaller than"):
            run_on(system, 0.0, ranks)


def test_a_box_too_small_for_the_cutoff_is_named():
    with pytest.raises(ConfigError, match="box.size: the periodic side 12 .*cutoff"):
        SteppedEngine(system_of(liquid(6, potential=[LJ | {"cutoff": 5.9}, FENE])))


def test_overlapping_beads_end_a_run():
    tables = liquid(7, beads=2, chains=0)
    tables["molecule"] = [{"kind": "monomer", "count": 2, "positions": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]} | SOFT]
    with pytest.raises(EngineError, match="the force on bead 0, or its place, is not a number"):
        SteppedEngine(system_of(tables))


def test_infinite_forces_on_what_is_moved_end_a_run_as_others_do(monkeypatch):
    """The work of the fixed bead is no number, either. No start has such forces; a later step may."""
    monkeypatch.setattr(LocalBeads, "require_gentle", lambda beads: None)
    tables = liquid(7, beads=2, chains=0)
    one = {"kind": "monomer", "count": 1} | SOFT
    tables["molecule"] = [
        one | {"positions": [[1.0, 1.0, 1.0]], "velocities": [[0.5, 0.0, 0.0]]},
        one | {"positions": [[1.0, 1.0, 1.0]], "fixed": [0], "fixed_velocity": [0.5, 0.0, 0.0]},
    ]
    tables["molecule"][1] |= {"positions": [[1.02, 1.0, 1.0]], "velocities": [[0.5, 0.0, 0.0]]}
    engine = SteppedEngine(system_of(tables | {"potential": [LJ | {"epsilon": 1e-3}]}))
    engine.beads.position[:] = 1.0
    engine.beads.compute()
    with pytest.raises(StepError, match="the force on bead 0, or its place, is not a number"):
        engine.advance(1.0)
