"""Regions of large groups under contact dynamics: what is solved with the rest held, and groups that need it."""

import numpy as np
import pytest

from hpcchain.errors import EngineError
from hpcchain.layout import arrays as L
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.friction import cluster_solver, friction_kernels, regions
from hpcchain.steps.friction.cluster_solver import ClusterSolver
from tests.support.heaps import heap
from tests.support.stepped import require_equal, run_on, system_of


def fallen(kinds=("monomer",), count=60, pitch=1.6, restitution=0.0, residual=1e-6, seed=2):
    """Return the System of molecules that fall into a box of walls, where they make one heap."""
    law = {"restitution": restitution, "friction": 0.5}
    tables = heap(seed, count, pitch, kinds, contact=law, propagator={"tolerance": residual})
    tables["external"]["gravity"] = [0.0, 0.0, -5.0]
    return system_of(tables)


@pytest.fixture
def small(monkeypatch):
    """Make groups of more than 16 contacts large ones, which have regions after ten sweeps, and count these."""
    solved, once = [], regions.solve_region

    def counted(*given):
        once(*given)
        solved.append(1)

    monkeypatch.setattr(cluster_solver, "DENSE", 16)
    monkeypatch.setattr(cluster_solver, "REGIONS_FROM", 1)
    monkeypatch.setattr(cluster_solver, "FIRST_SWEEPS", 10)
    monkeypatch.setattr(regions, "solve_region", counted)
    monkeypatch.setattr(regions, "MOST_CONTACTS", 40)
    return solved


def test_a_region_is_what_acts_on_a_contact_nearest_first():
    """A row of six balls: contact k joins balls k and k + 1, of which -1 passes nothing on."""
    mates = np.array([[0, 1], [1, 2], [2, 3], [3, -1], [4, 5], [-1, 4]])
    near = regions.Neighbours(mates)
    assert near.region(1, 10).tolist() == [0, 1, 2, 3]
    assert near.region(1, 3).tolist() == [0, 1, 2]
    assert near.region(0, 2).tolist() == [0, 1]
    assert near.region(3, 2).tolist() == [2, 3]
    assert near.region(5, 10).tolist() == [4, 5]


@pytest.mark.parametrize("kinds", [("monomer",), ("chain", "monomer", "ring")])
def test_a_region_is_solved_with_the_rest_held(kinds, small, monkeypatch):
    """Within it the residual is reached, outside impulses stay, and bodies have what impulses give them."""
    met, once = [], regions.solve_region

    def watched(bodies, still, contacts, rows, unit):
        before = contacts.impulse.copy()
        once(bodies, still, contacts, rows, unit)
        left = np.empty(len(before))
        friction_kernels.residuals(bodies, contacts, 0, len(before), left)
        others = np.delete(np.arange(len(before)), rows)
        met.append((left[rows].max() / unit, contacts.impulse[others].tobytes() == before[others].tobytes()))
        assert not still.velocity.any() and not still.spin.any()

    monkeypatch.setattr(regions, "solve_region", watched)
    count, pitch, end = (60, 1.6, 1.8) if kinds == ("monomer",) else (12, 4.7, 3.4)
    SteppedEngine(fallen(kinds, count, pitch, residual=1e-5)).advance(end)
    worst, held = np.array([one[0] for one in met]), [one[1] for one in met]
    assert len(met) >= 10
    assert all(held)
    assert np.median(worst) < 0.2
    assert np.mean(worst < 1.0) > 0.9


def test_there_are_no_regions_where_many_contacts_fail(monkeypatch):
    """Ten balls that do not touch one another: three of them fail, then two."""
    monkeypatch.setattr(regions, "solve_region", lambda *given: met.append(given[3]))
    mates, contacts = np.column_stack([np.arange(10), np.full(10, -1)]), (np.zeros(10),)
    for failing, count in ((3, 0), (2, 2)):
        met, left = [], np.where(np.arange(10) < 10 - failing, 0.5, 2.0)
        monkeypatch.setattr(friction_kernels, "residuals", lambda *given, left=left: np.copyto(given[-1], left))
        monkeypatch.setattr(friction_kernels, "residual", lambda *given, left=left: left.max())
        assert not regions.solve_regions((), (), contacts, 0, 10, mates, 1.0)
        assert [rows.tolist() for rows in met] == [[8], [9]][:count]


@pytest.mark.parametrize("reaches", [False, True])
def test_a_heap_whose_sweeps_go_round_is_solved_by_regions(reaches, monkeypatch):
    """Sixty balls, residual 1e-6: 6,240 sweeps of the group end unsolved, with regions of it they do not."""
    monkeypatch.setattr(cluster_solver, "DENSE", 20)
    monkeypatch.setattr(cluster_solver, "NEWTON_TURNS", 3)
    monkeypatch.setattr(cluster_solver, "REGION_TURNS", cluster_solver.REGION_TURNS if reaches else 0)
    monkeypatch.setattr(regions, "MOST_CONTACTS", 60)
    engine = SteppedEngine(fallen(seed=3))
    if reaches:
        engine.advance(2.8)
        return
    with pytest.raises(EngineError, match="no solution"):
        engine.advance(2.8)


@pytest.mark.parametrize(("restitution", "last"), [(0.0, 1.8), (0.3, 2.4)])
def test_regions_reach_the_residual_and_win_no_energy(restitution, last, small):
    """Each group is within the residual, which is checked anew from its impulses; energy never grows."""
    system = fallen(restitution=restitution, residual=1e-5)
    engine, once, worst = SteppedEngine(system), ClusterSolver.solved, []

    def watched(self, velocity, spin, offset, start, left):
        found = once(self, velocity, spin, offset, start, left)
        bodies, unit = self._pushed(self.bodies.gathered(velocity, spin)), self._units(velocity, spin)
        ends = zip(self.starts, self.starts[1:], unit, left, strict=False)
        worst.extend(
            friction_kernels.residual(bodies, self.contacts, low, high) / one for low, high, one, of in ends if of
        )
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterSolver, "solved", watched)
        before = energy_of(engine, system)
        for end in np.arange(0.1, last + 0.05, 0.1).tolist():
            engine.advance(end)
            now = energy_of(engine, system)
            assert now <= before + 1e-4 * abs(before)
            before = now
    assert sum(small) >= 2
    assert len(worst) > 100
    assert max(worst) < 1.0 + 1e-6


def energy_of(engine, system):
    """Return kinetic, turning and potential energy."""
    turning = engine.beads.own.extra[:, L.SPIN : L.SPIN + 3]
    mass, moment = system.topology.whole().mass, system.topology.whole().moment
    moving = mass @ np.sum(engine.beads.own.velocity**2, axis=1) + moment @ np.sum(turning**2, axis=1)
    return 0.5 * moving + engine.energies()[:, 0].sum()


def test_regions_leave_no_trace_of_ranks(small):
    """Bits of groups that are solved so on 1, 2 and 3 ranks."""
    system, end = fallen(residual=1e-5), 1.6
    once = run_on(system, end, 1)
    alone = sum(small)
    assert alone >= 3
    for ranks in (2, 3):
        require_equal(once, run_on(system, end, ranks))
    assert sum(small) == 3 * alone
