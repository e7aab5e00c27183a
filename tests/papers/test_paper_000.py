"""The integrator of Leyendecker et al. 2012 in NumPy, and its experiments.

The numbers were found independently (docs/theory/numerics.md).
"""

from copy import deepcopy

import numpy as np
import pytest

from hpcchain.papers import experiments
from hpcchain.papers.collisions import Integrator
from hpcchain.papers.engine import thermal_chain
from hpcchain.papers.experiments import p000_trimer_condition as trimer_condition
from hpcchain.papers.experiments import p000_trimer_energy as trimer_energy
from hpcchain.papers.result import check
from hpcchain.papers.single_chain import Chain, chaotic, null_space, periodic, reparametrise, trimer
from hpcchain.papers.trimers import EXACT_FIRST, EXACT_PERIOD

EXPERIMENTS = [
    "000-drift",
    "000-four-chaotic",
    "000-four-periodic",
    "000-trimer-condition",
    "000-trimer-energy",
    "000-trimer-envelope",
    "000-trimer-phase",
    "000-trimer-table1",
]


def test_exact_times():
    assert abs(EXACT_FIRST - 3.13359423732462494) < 1e-14
    assert abs(EXACT_PERIOD - 3.68939049002904533) < 1e-14


def test_reparametrisation_keeps_bonds_and_starts_along_the_null_space():
    chain, random = periodic(), np.random.default_rng(1)
    u = random.normal(size=9)
    after = reparametrise(chain.position, u)
    assert np.abs(np.linalg.norm(np.diff(after, axis=0), axis=1) - 1).max() < 1e-15
    small = 1e-6 * u
    moved = (reparametrise(chain.position, small) - reparametrise(chain.position, -small)) / 2
    assert np.abs(moved - (null_space(chain.position) @ small).reshape(-1, 3)).max() < 1e-15


@pytest.fixture(scope="module")
def half_steps():
    """The trimer in steps of 0.5: a copy of the Course to t = 362.5, where it has had 100 contacts, and that of 300."""
    integrator = Integrator(trimer(), 0.5)
    early = deepcopy(integrator.run(until=362.5 - 1e-9))
    return early, integrator.run(contacts=300)


def test_unknowns_of_table_1(half_steps):
    """65,750 = 7 (7250 + 1000) + 8 · 1000 for 1000 contacts; a hundred of them here."""
    course, _ = half_steps
    kinds = {kind: course.kind.count(kind) for kind in set(course.kind)}
    assert len(course.contact_time) == 100
    assert kinds["free"] + kinds["after"] == 725
    assert kinds["discarded"] == kinds["contact"] == kinds["after"] == 100
    assert course.unknowns == 6575


@pytest.mark.parametrize(
    ("step", "amplitude", "contacts"), [(0.5, 1.40e-2, 300), (0.25, 3.8e-3, 100), (0.125, 9.1e-4, 40)]
)
def test_energy_of_the_trimer(half_steps, step, amplitude, contacts):
    course = half_steps[1] if step == 0.5 else Integrator(trimer(), step).run(contacts=contacts)
    assert np.ptp(course.energy) == pytest.approx(amplitude, rel=0.02)
    assert course.no_root == 0


def test_period_of_the_trimer(half_steps):
    times = np.array(half_steps[1].contact_time[:200])
    assert np.diff(times).mean() == pytest.approx(3.6250, abs=2e-4)


def test_contact_conserves_the_discrete_energy_and_momentum():
    integrator = Integrator(trimer(), 0.5)
    course = integrator.run(contacts=5)
    chain = integrator.chain
    assert jumps(course).max() < 1e-11
    nodes, times = np.array(course.node_position), np.array(course.node_time)
    momentum = np.diff(nodes, axis=0).sum(axis=1) / np.diff(times)[:, None]
    assert np.abs(momentum - chain.velocity.sum(axis=0)).max() < 1e-11
    angular = np.cross(nodes[:-1], np.diff(nodes, axis=0)).sum(axis=1) / np.diff(times)[:, None]
    assert np.abs(angular - angular[0]).max() < 1e-11


def jumps(course):
    """Return by how much the discrete energy changes at each contact."""
    ends = np.searchsorted(course.energy_time, course.contact_time)
    return np.abs(np.array(course.energy)[ends + 1] - np.array(course.energy)[ends])


def test_contacts_within_one_step_and_contacts_without_a_root():
    """Several contacts of a thermal chain in a step keep the energy; the exact impulse, where (16) has no root, not."""
    course = Integrator(Chain(*thermal_chain(6, 1)), 0.1).run(contacts=60)
    assert np.sum(np.diff(course.contact_time) < 0.1) >= 3
    assert course.no_root == 1
    assert np.sum(jumps(course) > 1e-10) == 1
    assert sum(course.damped) > 0


def test_four_beads():
    """Two contacts at a node in the periodic set-up; walls and beads in the chaotic one."""
    course = Integrator(periodic(), 0.5).run(contacts=20)
    assert all(len(contacts) == 2 for contacts in course.contacts)
    assert np.ptp(course.energy) == pytest.approx(1.06e-2, rel=0.05)
    course = Integrator(chaotic(), 0.5).run(contacts=40)
    assert {contact[0] for contacts in course.contacts for contact in contacts} == {"p", "w"}
    assert course.energy[-1] / course.energy[0] == pytest.approx(1, abs=0.05)


def test_condition_numbers():
    """Null space: of one size at any step; multipliers: h^-3; with h^2 λ for unknown of one size, and smaller."""
    result = trimer_condition.run(False)
    columns = result.data[""]
    steps = columns["step"]
    assert np.ptp(columns["null_space"]) < 0.2 * columns["null_space"].min()
    assert abs(trimer_condition.order(steps, columns["multipliers"]) + 3) < 0.3
    assert np.all(columns["multipliers_scaled"] < 5) and np.ptp(columns["multipliers_scaled"][4:]) < 0.5


def test_experiments_are_there():
    known = experiments.found()
    assert set(EXPERIMENTS) <= set(known)
    result = trimer_energy.run(True)
    check(trimer_energy.NAME, result)
    assert {row.quantity: row.ours for row in result.tables[0].rows}["Newton iterations, free step"] == "3–4"
