"""Sweeps of contact dynamics: what they spare changes nothing, and what they leave is within the residual asked for."""

import numpy as np
import pytest

from hpcchain.steps.contacts.clusters import together
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.friction import friction_kernels, sweep_kernels
from hpcchain.steps.friction.cluster_solver import ClusterSolver
from tests.support.heaps import heap
from tests.support.stepped import system_of

KINDS = [("monomer",), ("chain", "monomer", "ring")]


@pytest.fixture(scope="module", params=KINDS)
def problems(request):
    """Return what `ClusterSolver._sweep` was given last in a heap: solver, bodies, impulses, offsets, units."""
    found, once, kinds = [], ClusterSolver._sweep, request.param

    def watched(self, bodies, left, unit, most):
        if left.any() and np.diff(self.starts).max() > 8:
            still = bodies._replace(velocity=bodies.velocity.copy(), spin=bodies.spin.copy())
            found.append((self, still, self.contacts.impulse.copy(), self.contacts.offset.copy(), unit.copy()))
        once(self, bodies, left, unit, most)
        assert not left.any()

    count, pitch = (60, 1.6) if kinds == ("monomer",) else (8, 4.7)
    friction, residual = {"restitution": 0.0, "friction": 0.5}, {"tolerance": 1e-4}
    tables = heap(2, count, pitch, kinds, contact=friction, propagator=residual)
    tables["steps"]["solver"], tables["external"]["gravity"] = "gauss-seidel", [0.0, 0.0, -5.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterSolver, "_sweep", watched)
        SteppedEngine(system_of(tables)).advance(3.2)
    assert len(found) > 10
    return found[-10:]


def begun(problem, bodies, impulse, offset):
    """Return the bodies of a problem, which is set back to where it was."""
    problem.contacts.impulse[:], problem.contacts.offset[:] = impulse, offset
    return bodies._replace(velocity=bodies.velocity.copy(), spin=bodies.spin.copy())


def test_contacts_that_sweeps_pass_over_would_not_have_been_changed(problems):
    """With and without what says that a contact's molecules have not changed: the same changes, to the same bits."""
    passed = changed = 0
    for *given, unit in problems:
        problem, ends = given[0], []
        for forgets in (False, True):
            bodies, k = begun(*given), len(problem.contacts.impulse)
            seen, moved = np.full(k, -1, dtype=np.int64), np.zeros(len(bodies.velocity), dtype=np.int64)
            clock = 0
            for turn in range(12):
                seen[:] = -1 if forgets else seen
                _, clock = sweep_kernels.sweep_failing(
                    bodies, problem.contacts, 0, k, turn % 2 == 0, 0.5 * unit.min(), clock, seen, moved
                )
                passed += 0 if forgets else int(np.sum(seen >= 0))
            ends.append((clock, *(one.tobytes() for one in (problem.contacts.impulse, bodies.velocity, bodies.spin))))
        assert ends[0] == ends[1]
        changed += ends[0][0]
    assert passed > 100
    assert changed > 100


def test_every_contact_is_within_the_residual_and_few_are_changed(problems):
    looked = changed = 0
    for *given, unit in problems:
        problem, bodies = given[0], begun(*given)
        left, before = np.ones(len(unit), dtype=bool), problem.counts.copy()
        problem._sweep(bodies, left, unit, 20_000)
        assert not left.any()
        for q in range(len(unit)):
            assert friction_kernels.residual(bodies, problem.contacts, *problem.starts[q : q + 2]) <= unit[q]
        sweeps, changes = (problem.counts - before).T
        looked += int(sweeps @ np.diff(problem.starts))
        changed += int(changes.sum())
    assert 0 < changed < 0.5 * looked


def test_pairs_together_are_each_there_once_in_order():
    rng = np.random.default_rng(3)
    some, more = rng.integers(-3, 6, (40, 2)), rng.integers(-3, 6, (30, 2))
    assert together(some, more).tolist() == np.unique(np.concatenate([some, more]), axis=0).tolist()
    assert together(some[:0], more[:0]).shape == (0, 2)
