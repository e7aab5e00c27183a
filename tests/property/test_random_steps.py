"""Property test: random systems in steps have the same bits on 1 to 5 ranks, with any lists, and across restarts."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcchain.errors import ConfigError, EngineError
from hpcchain.steps.friction import cluster_solver, regions
from tests.support.heaps import heap
from tests.support.stepped import LJ, liquid, require_equal, rigid, run_on, system_of

END = 0.2


def flexible(seed, hot):
    """Return a liquid of monomers and flexible chains, on either base."""
    base = {"base": ("verlet", "midpoint")[seed % 2]}
    return liquid(seed, beads=90, chains=3, initial={"temperature": 8.0 if hot else 1.0}, steps=base)


def stiff(seed, hot):
    """Return rigid molecules of all shapes."""
    return rigid(seed, count=2, initial={"temperature": 8.0 if hot else 1.0})


def hard(seed, hot):
    """Return hard rigid molecules without potentials."""
    sections = {"initial": {"temperature": 25.0 if hot else 4.0}, "steps": {"step": 0.0025}}
    tables = rigid(seed, count=2, pitch=3.3, potential=[], **sections)
    for kind in tables["molecule"]:
        kind |= {"hard": True, "diameter": 0.7}
    return tables


def attracting(seed, hot):
    """Return hard rigid molecules that attract, on either base and with either energy of reflections."""
    tables = hard(seed, hot)
    tables["potential"] = [LJ | {"sigma": 0.65}]
    tables["steps"] |= {"base": ("verlet", "midpoint")[seed % 2], "energy": ("H", "H2")[seed // 2 % 2]}
    return tables


PAIRS = [
    {"types": ["chain", "monomer"], "restitution": 0.5},
    {"types": ["monomer", "monomer"], "restitution": 0.0},
    {"types": ["dimer", "y-"], "restitution": 0.2},
]
HEAT = ({"name": "langevin", "damping": 0.5}, {"name": "andersen", "rate": 2.0})


def mixed(seed, hot):
    """Return hard molecules between walls with coefficients of pairs, some with exclusion, damping, a thermostat."""
    tables = hard(seed, hot)
    tables["box"] |= {"boundary": ["periodic", "wall", "periodic"]}
    low = min(np.min(np.array(kind["positions"])[:, 1]) for kind in tables["molecule"])
    high = max(np.max(np.array(kind["positions"])[:, 1]) for kind in tables["molecule"])
    tables["box"] |= {"size": [tables["box"]["size"][0], high - low + 0.8, tables["box"]["size"][2]]}
    tables["box"] |= {"origin": [0.0, low - 0.4, 0.0]}
    tables["contact"] = {"restitution": 0.9, "pair": PAIRS}
    if seed % 2:
        tables["contact"]["simultaneous"] = "moreau"
    tables["wall"] = [{"side": "y+", "restitution": 0.4}]
    for kind in tables["molecule"]:
        kind |= {"damping": 0.3 if seed % 3 == 0 else 0.0}
        kind |= {"exclude": 1 + seed % 3} if kind.get("beads", 1) > 2 and kind["kind"] != "rod" else {}
    if seed % 5 < 2:
        tables["thermostat"] = HEAT[seed % 5] | {"temperature": 3.0}
    return tables


def outside(seed, hot):
    """Return molecules of which some hang on fixed beads, between walls of which one or both move."""
    tables = mixed(seed, hot)
    tables["wall"] = [{"side": "y+", "velocity": 0.5, "restitution": 0.8}]
    tables["wall"] += [{"side": "y-", "velocity": -0.3}] if seed % 2 else []
    for kind in tables["molecule"]:
        if kind["name"] in ("chain", "star", "ring")[: 1 + seed % 3]:
            kind["fixed"] = [seed % 2]
    tables["steps"] |= {"integrator": ("gvi", "dsi", "contact")[seed // 3 % 3]}
    if tables["steps"]["integrator"] != "gvi":
        tables["contact"].pop("simultaneous", None)
    if tables["steps"]["integrator"] == "dsi":
        del tables["contact"]["pair"], tables["contact"]["restitution"], tables["wall"][0]["restitution"]
    return tables


def heaped(seed, hot):
    """Return molecules that fall into a box under contact dynamics, with friction and coefficients of pairs."""
    own = [{"types": ["monomer", "monomer"], "friction": 0.0}, {"types": ["dimer", "monomer"], "restitution": 1.0}]
    contact = {"friction": 0.4 * (seed % 2), "pair": own}
    solver = {"solver": ("newton", "gauss-seidel")[seed // 2 % 2]}
    return heap(seed, 3, 2.4, ("monomer", "dimer"), hot=9.0 if hot else 1.0, contact=contact, steps=solver)


def dense(seed, hot):
    """Return balls with friction that are so near to each other that a box of them soon hangs together."""
    law, fall = {"friction": 0.4, "restitution": 0.3 * (seed % 2)}, {"gravity": [0.0, 0.0, -30.0]}
    tables = heap(seed, 64, 1.06, ("monomer",), hot=9.0 if hot else 1.0, contact=law, external=fall)
    return tables | {"propagator": {"tolerance": 1e-7}}


@pytest.mark.parametrize("seed", [3, 21])
def test_the_midpoint_rule_iterates_as_often_on_all_ranks(seed):
    """The fastest bead and the greatest force, to which it is solved, may be on different ranks."""
    system = system_of(liquid(seed, beads=90, chains=3, steps={"base": "midpoint"}))
    once = run_on(system, END, 1)
    for ranks in (2, 3):
        require_equal(once, run_on(system, END, ranks))


DRAWN = {
    "build": st.sampled_from([flexible, stiff, hard, attracting, mixed, outside, heaped]),
    "seed": st.integers(1, 10**6),
    "hot": st.booleans(),
    "ranks": st.lists(st.integers(1, 5), min_size=2, max_size=2),
    "skin": st.sampled_from([0.3, 0.45, 0.7]),
    "cut": st.integers(1, 7),
}


def require_no_trace(build, seed, hot, ranks, skin, cut):
    """Fail unless a run that is stopped on some ranks and goes on on others has the bits of one rank's.

    Molecules that are turned at random may overlap: such starts are left out. Soft beads may lie so near to each other
    that no step fits their forces: all ranks must say so in the same words. Returns whether this start is neither.
    """
    try:
        system, part = system_of(build(seed, hot)), 0.025
    except ConfigError as error:
        assert "overlap" in str(error)
        return False
    if build in (heaped, dense):
        part = 0.02  # its step is longer
    try:
        once = run_on(system, END, 1)
    except EngineError as error:
        with pytest.raises(EngineError, match=f"^{re.escape(str(error))}$"):
            run_on(system, END, ranks[1], skin=skin)
        return False
    begun = replace(system, state=run_on(system, round(part * cut, 3), ranks[0], skin=skin)[4])
    require_equal(once, run_on(begun, END, ranks[1]))
    return True


@settings(max_examples=16, deadline=None, derandomize=True)
@given(**DRAWN)
def test_bits(build, seed, hot, ranks, skin, cut):
    require_no_trace(build, seed, hot, ranks, skin, cut)


@pytest.mark.parametrize("draws", [3, pytest.param(100, marks=pytest.mark.long)])
def test_bits_of_heaps_that_are_solved_region_by_region(draws, monkeypatch):
    """Groups of more than two contacts count as large ones, regions are of four contacts and come after two sweeps."""
    met, once = [], regions.solve_region
    monkeypatch.setattr(cluster_solver, "DENSE", 2)
    monkeypatch.setattr(cluster_solver, "FIRST_SWEEPS", 2)
    monkeypatch.setattr(cluster_solver, "REGIONS_FROM", 1)
    monkeypatch.setattr(regions, "MOST_CONTACTS", 4)
    monkeypatch.setattr(regions, "solve_region", lambda *given: met.append(once(*given)))
    rng = np.random.default_rng(29)
    for _ in range(draws):
        seed, ranks = int(rng.integers(1, 10**6)), rng.integers(1, 4, size=2).tolist()
        given = (bool(rng.integers(2)), ranks, float(rng.choice([0.3, 0.7])), int(rng.integers(1, 8)))
        require_no_trace(dense, seed, *given)
    assert len(met) >= 2 * draws


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_bits_of_many_draws(part):
    """400 draws, which are others than those of `test_bits`."""
    rng = np.random.default_rng([23, part])
    runs, builds = 0, [flexible, stiff, hard, attracting, mixed, outside, heaped]
    for draw in range(40):
        ranks = rng.integers(1, 6, size=2).tolist()
        given = (int(rng.integers(1, 10**6)), bool(rng.integers(2)), ranks, float(rng.choice([0.3, 0.45, 0.7])))
        build = builds[int(rng.integers(len(builds)))]
        cut = int(rng.integers(1, 8))
        try:
            runs += require_no_trace(build, *given, cut)
        except Exception as error:
            raise AssertionError(f"draw {draw}: {build.__name__}, {given}, {cut}") from error
    assert runs > 30
