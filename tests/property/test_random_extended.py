"""Small random systems of runs that are more than smooth hard beads: ranks, windows, stops and restarts leave no trace.

Each entry of ADDITIONS takes a random generator and a System and returns the System with a capability of
`hpcchain.model.physics.extended` drawn at random; a draw has some of them.
"""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from tests.support.checkpoints import through_file
from tests.support.extended import (
    bridges,
    coefficients,
    crowd,
    distance_limits,
    exclusion,
    fixed_beads,
    gravity,
    rule,
    shapes,
    sides,
    slides,
    step_potentials,
    thermostat,
)
from tests.support.gases import gas
from tests.support.identity import DRAWS, in_stages, parallel, require_same, serial

KINDS = ("monomer", "monomer", "dimer", "chain3", "chain5", "chain10", "ring")
END = 4.0


ADDITIONS = {
    "coefficients": (coefficients, gravity, sides, thermostat),
    "steps": (step_potentials, distance_limits),
    "wet": (bridges, rule, distance_limits, coefficients, sides),
    "driven": (gravity, sides, slides, coefficients, thermostat),
    "everything": (
        exclusion,
        gravity,
        fixed_beads,
        shapes,
        sides,
        thermostat,
        step_potentials,
        distance_limits,
        coefficients,
        rule,
    ),
    "at one instant": (
        rule,
        exclusion,
        gravity,
        shapes,
        sides,
        thermostat,
        step_potentials,
        distance_limits,
        coefficients,
    ),
}
SHARE = {"everything": 0.45, "at one instant": 0.5}
"""How often a draw has each; 0.7 where nothing is said."""


def system_of(seed, what):
    """Return a random system, which may be anything that a run without further capabilities can be, with some more."""
    rng = np.random.default_rng([22, seed])
    restitution = float(rng.choice([1.0, 0.9]))
    if what == "at one instant":
        return rng, added(rng, crowd(seed, rng.choice([0, 0, 1], size=3), restitution), seed, what)
    kinds = rng.choice(KINDS, size=int(rng.integers(8, 28)))
    boundary = rng.choice([0, 0, 1], size=3)
    pitch = 4.2 if {"chain10", "ring"} & set(kinds) else 3.6
    cells = np.array([2, 2, 2]) + (len(kinds) > 8) * np.array([1, 1, 1])
    system = gas(kinds, seed, pitch, tuple(cells), boundary, restitution=restitution)
    return rng, added(rng, system, seed, what)


def added(rng, system, seed, what):
    """Return a system with some of the additions."""
    additions = ADDITIONS[what]
    for number, add in enumerate(additions):
        system = add(rng, system) if rng.random() < SHARE.get(what, 0.7) or number == seed % len(additions) else system
    if system.physics.extended.gravity:  # what falls and loses energy comes to rest by ever shorter flights
        system = replace(system, physics=replace(system.physics, contact_time=0.01))
    return system


def restarted(system, state, time, folder):
    """Return the System with a state that a checkpoint has held in between."""
    return through_file(folder / "c.h5", replace(system, state=state), time)


SEEDS = range(max(4, DRAWS // len(ADDITIONS)) if DRAWS > 12 else 4)
DEAR = 2
"""With everything this seed takes as long as the others together."""


@pytest.mark.parametrize("seed", [pytest.param(k, marks=pytest.mark.long) if k == DEAR else k for k in SEEDS])
@pytest.mark.parametrize("what", ADDITIONS)
def test_ranks_windows_and_stops_leave_no_trace(seed, what):
    rng, system = system_of(seed, what)
    one = serial(system, END)
    assert len(one.events) > 12 and one.state.extra[:, L.CONTACTS].sum() > 12
    for ranks in (1 + seed % 5, 2 + seed % 4):
        window = None if rng.random() < 0.4 else float(10.0 ** rng.uniform(-2.0, 0.3))
        require_same(one, parallel(system, END, ranks, window=window), f"seed {seed} on {ranks} ranks, window {window}")
    stops = [*sorted(rng.uniform(0.0, END, 3)), END]
    stages = [(float(until), int(rng.integers(0, 6)), {}) for until in stops]
    require_same(one, in_stages(system, stages), f"seed {seed} in stages {stages}")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("what", ADDITIONS)
def test_checkpoints_keep_what_beads_have(tmp_path, seed, what):
    _, system = system_of(seed, what)
    one = serial(system, END)
    half = serial(system, 0.5 * END)
    rest = serial(restarted(system, half.state, 0.5 * END, tmp_path), END)
    rest.events = np.sort(np.concatenate([half.events, rest.events]), order=["time", "bead"])
    one.events = np.sort(one.events, order=["time", "bead"])
    rest.sums = one.sums
    require_same(one, rest, f"seed {seed}")


def test_the_number_of_contacts_is_that_of_the_log():
    _, system = system_of(0, "coefficients")
    one = serial(system, END)
    beads = one.events["bead"][one.events["kind"] < 2].ravel()
    counted = np.bincount(beads[beads >= 0], minlength=system.topology.beads)
    assert np.array_equal(counted, one.state.extra[:, L.CONTACTS])
