"""Propagators, their variants, solvers and contact searches on ranks: the same bits as on one, also after restarts."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.run.starts.growth import grown_system
from tests.support.identity import in_stages, parallel, require_same, serial
from tests.support.mixtures import to_toml

WAYS = {
    "index2": {},
    "index2 newton": {"stage_solver": "newton", "stages": 3},
    "index2 nested": {"contact_search": "nested", "contact_stages": "all"},
    "index2 falling": {"contact_search": "nested"},
    "index1": {"variant": "index1"},
    "index1 quasi-newton": {"variant": "index1", "stage_solver": "quasi-newton"},
    "paper": {"variant": "paper"},
    "paper falling": {"variant": "paper", "contact_search": "nested", "stages": 5},
    "twelve stages": {"stages": 12},
    "rattle": {"name": "rattle", "step": 0.05},
    "rattle bisection": {"name": "rattle", "step": 0.02, "contact_search": "bisection", "solver": "sweeping"},
    "variational": {"name": "variational", "step": 0.05},
    "each its own": {"name": "taylor"},
}
OWN = [
    None,
    {"name": "variational", "step": 0.04, "solver": "null-space"},
    {"stages": 5, "name": "collocation", "step": 0.07, "contact_search": "nested"},
    {"name": "rattle", "step": 0.03, "contact_search": "bisection"},
    {"name": "collocation", "stages": 3, "step": 0.05, "variant": "index1"},
    None,
    {"name": "variational", "step": 0.05, "collision": "exact"},
]
"""For "each its own": a propagator per molecule kind; monomers and the second chain are left to the general one."""
END = 1.5


def start(folder, keys):
    """Return a small periodic box of chains, a ring, a star and monomers, moved by collocation unless keys say how."""
    tables = {
        "box": {"size": [7.0, 6.5, 6.0]},
        "molecule": [
            {"kind": "monomer", "count": 12, "mass": 0.7},
            {"kind": "chain", "beads": 5, "count": 6},
            {"kind": "chain", "beads": 3, "count": 4, "bond_length": [1.0, 1.2], "mass": [1.0, 2.0, 1.0]},
            {"kind": "ring", "beads": 6, "count": 1},
            {"kind": "star", "arms": 3, "arm_beads": 2, "count": 1},
        ],
        "initial": {"seed": 3},
        "propagator": keys if "name" in keys else {"name": "collocation", "stages": 4, "step": 0.05} | keys,
        "run": {"end_time": END},
    }
    if keys.get("name") == "taylor":
        tables["molecule"] += [{"kind": "chain", "beads": 5, "count": 3}, {"kind": "chain", "beads": 2, "count": 6}]
        tables["box"] = {"size": [7.5, 7.0, 6.5]}
        for kind, own in zip(tables["molecule"], OWN, strict=True):
            kind |= {"propagator": own} if own else {}
    path = folder / "in.toml"
    path.write_text(to_toml(tables))
    return grown_system(load_config(path))


@pytest.mark.parametrize("way", WAYS)
def test_ranks_and_restarts_leave_no_trace(way, tmp_path):
    system = start(tmp_path, WAYS[way])
    one = serial(system, END)
    assert len(one.events) > 60
    require_same(one, parallel(system, END, 2, times=np.arange(0.3, END, 0.4)), f"{way} on 2 ranks")
    require_same(one, parallel(system, END, 3, shell=0.3), f"{way} on 3 ranks")
    parts = in_stages(system, [(0.6123, 2, {}), (1.1, 0, {"threads": 2}), (END, 3, {"threads": 2})])
    require_same(one, parts, f"{way}, stopped twice, with two threads in between")


def test_propagators_mixed_keep_momentum_and_nearly_the_energy(tmp_path):
    """Steps lose and win energy, as they do alone; momentum holds to round-off, whichever meet."""
    system = start(tmp_path, WAYS["each its own"])
    mass = system.topology.whole().mass[:, None]
    after = serial(system, END).frame[1]
    before = system.state.velocity
    assert abs(np.sum(mass * after**2) / np.sum(mass * before**2) - 1) < 0.02
    assert np.abs(np.sum(mass * (after - before), axis=0)).max() < 1e-11


STEPS = {"name": "rattle", "step": 0.05}
RODS = {
    "exactly": ({"name": "taylor"}, {}, {}),
    "in steps": (STEPS, {}, {}),
    "in steps, by bisection": (STEPS | {"contact_search": "bisection"}, {}, {}),
    "in steps, chains exactly": ({"name": "taylor"}, {"propagator": STEPS}, {}),
    "in steps, chains in stages": (STEPS, {}, {"propagator": {"name": "collocation", "step": 0.05}}),
    "in long steps": ({"name": "taylor"}, {"propagator": {"name": "rattle", "step": 5.0}}, {}),
}
"""How rods of 50 beads move: [propagator], and what keys rods and chains have of their own."""
RODS_STOPPED = ("in steps", "in long steps")


@pytest.mark.parametrize("way", RODS)
def test_rods_of_50_beads_mix_with_chains(way, tmp_path):
    """Longer than a sector is wide: the same bits on ranks, and they have met chains."""
    general, of_rods, of_chains = RODS[way]
    rod = {"kind": "rod", "beads": 50, "count": 3, "bond_length": 0.4, "diameter": 0.4, "mass": [1.0, *[0.2] * 49]}
    tables = {
        "box": {"size": [21.0, 11.0, 10.0]},
        "molecule": [
            rod | of_rods,
            {"kind": "chain", "beads": 5, "count": 40} | of_chains,
            {"kind": "monomer", "count": 60},
        ],
        "initial": {"seed": 4},
        "propagator": general,
        "run": {"end_time": 3.0},
    }
    path = tmp_path / "in.toml"
    path.write_text(to_toml(tables))
    system = grown_system(load_config(path))
    one = serial(system, 3.0)
    first, second = one.events["bead"].T
    assert np.sum((first < 150) & (second >= 150) & (second < 350)) > 10
    require_same(one, parallel(system, 3.0, 2, shell=0.3), "rods on 2 ranks")
    require_same(one, parallel(system, 3.0, 3, times=[0.7]), "rods on 3 ranks")
    if way in RODS_STOPPED:
        stopped = in_stages(system, [(1.234, 2, {}), (2.05, 0, {"threads": 2}), (3.0, 3, {"threads": 2})])
        require_same(one, stopped, "rods, stopped twice")
