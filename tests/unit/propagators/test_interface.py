"""Molecule kinds with propagators of their own in one box: each flies as if alone; what their contacts keep."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.tools.inspect import info
from hpcchain.model.starts.start import build_system
from hpcchain.model.system import System
from hpcchain.sector.serial import Engine
from tests.support import twins
from tests.support.mixtures import to_toml
from tests.support.solved import bits
from tests.support.whole import frame_of, state_of

TAYLOR = {"name": "taylor"}
RATTLE = {"name": "rattle", "step": 0.05}
EXACT = {"name": "variational", "collision": "exact", "step": 0.04}
LAW = {"name": "variational", "step": 0.1}
NESTED = {"name": "collocation", "stages": 5, "step": 0.1, "contact_search": "nested"}
STAGES = {"name": "collocation", "stages": 3, "step": 0.05, "variant": "index1"}


def molecule(seed, beads, ring=False):
    """Return a [[molecule]] table of one thermal molecule about 0: a zigzag that hits itself soon, or a ring."""
    random = np.random.default_rng(seed)
    if ring:
        angle = 2 * np.pi * np.arange(beads) / beads
        x = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(beads)]) / (2 * np.sin(np.pi / beads))
    else:
        x = np.column_stack([0.6 * np.arange(beads), 0.8 * (np.arange(beads) % 2), np.zeros(beads)])
    bonds = np.column_stack([np.arange(beads - 1), np.arange(1, beads)])
    if ring:
        bonds = np.vstack([bonds, [0, beads - 1]])
    v = twins.project(bonds, x, random.normal(size=x.shape), np.ones(beads))
    return {"kind": "ring" if ring else "chain", "beads": beads, "positions": x, "velocities": v - v.mean(axis=0)}


def build(folder, molecules, **propagator):
    """Return the System of [[molecule]] tables in open space."""
    tables = {
        "box": {"size": [400.0] * 3, "origin": [-200.0] * 3, "boundary": ["open"] * 3},
        "molecule": molecules,
        "initial": {"method": "explicit"},
        "propagator": propagator or TAYLOR,
        "run": {"end_time": 1.0},
    }
    path = folder / "in.toml"
    path.write_text(to_toml(tables), encoding="utf-8")
    return build_system(load_config(path))  # the input stays in the folder


def table(molecule, place, drift=(0.0, 0.0, 0.0), propagator=None):
    """Return a [[molecule]] table moved to a place, with a drift, and with its own propagator if any."""
    made = molecule | {
        "positions": (molecule["positions"] + place).tolist(),
        "velocities": (molecule["velocities"] + drift).tolist(),
    }
    return made if propagator is None else made | {"propagator": propagator}


WAYS = [TAYLOR, RATTLE, EXACT, LAW, NESTED, STAGES]


def far_apart(own):
    """Return tables of six molecules too far from each other to meet, a ring among them, each with its own way."""
    shapes = [(5, False), (6, False), (4, False), (6, True), (5, False), (7, False)]
    return [
        table(molecule(seed, *shape), [60.0 * (seed - 3), 0.0, 0.0], propagator=WAYS[seed] if own else None)
        for seed, shape in enumerate(shapes)
    ]


def test_each_kind_moves_as_if_all_moved_its_way(tmp_path):
    """To the bit: molecules that never meet, against boxes of the same molecules with one propagator for all."""
    mixed = Engine(build(tmp_path, far_apart(True)), log_events=True)
    mixed.advance(6.0)
    assert len(mixed.drain_events()) > 6
    found = state_of(mixed)
    for kind, way in enumerate(WAYS):
        engine = Engine(build(tmp_path, far_apart(False), **way))
        engine.advance(6.0)
        wanted = state_of(engine)
        beads = np.flatnonzero(np.repeat(np.arange(6), [5, 6, 4, 6, 5, 7]) == kind)
        for name in ("position", "velocity", "ticks", "remainder"):
            assert getattr(found, name)[beads].tobytes() == getattr(wanted, name)[beads].tobytes(), (kind, name)


def meeting(folder, one, other, step=None):
    """Return the System of two chains of 4 and 3 that fly at each other, each moved in its own way."""
    if step is not None:
        one, other = (way if way["name"] == "taylor" else way | {"step": step} for way in (one, other))
    still = {"self_contact": False}
    return build(
        folder,
        [
            table(molecule(11, 4) | still, [0.0, 0.1, 0.0], [1.0, 0.0, 0.0], one),
            table(molecule(12, 3) | still, [4.5, 0.2, 0.0], [-1.0, 0.0, 0.0], other),
        ],
    )


def kinetic(system, velocity, beads):
    """Return the kinetic energy of some beads."""
    return 0.5 * np.sum(system.topology.whole().mass[beads, None] * velocity[beads] ** 2)


FIRST, SECOND = slice(0, 4), slice(4, 7)


def first_contact(system):
    """Return the time of the first contact, and the frames just before and after it."""
    engine = Engine(system, log_events=True)
    engine.advance(3.0)
    event = engine.drain_events()[0]
    assert event["bead"][0] < 4 <= event["bead"][1]
    time = float(event["time"])
    engine = Engine(system)
    engine.advance(float(np.nextafter(time, 0)))
    before = frame_of(engine, time)[:2]
    engine.advance(float(np.nextafter(time, 9)))
    return time, before, frame_of(engine, time)[:2]


@pytest.mark.parametrize(
    ("one", "other"),
    [(RATTLE, TAYLOR), (TAYLOR, EXACT), (NESTED, RATTLE), (STAGES, NESTED), (TAYLOR, STAGES), (RATTLE, EXACT)],
    ids=["rattle-taylor", "taylor-exact", "nested-rattle", "index1-nested", "taylor-index1", "rattle-exact"],
)
def test_exact_impulse_keeps_the_kinetic_energy(one, other, tmp_path):
    """Where no molecule of a contact takes the discrete law: that of the velocities on the bonds; momentum, too."""
    system = meeting(tmp_path, one, other)
    _, (x, before), (y, after) = first_contact(system)
    everything = slice(0, 7)
    assert abs(kinetic(system, after, everything) / kinetic(system, before, everything) - 1) < 1e-12
    assert np.abs(system.topology.whole().mass @ (after - before)).max() < 1e-13
    assert np.abs(after - before)[FIRST].max() > 0.1 < np.abs(after - before)[SECOND].max()
    gap = np.linalg.norm(x[FIRST, None] - x[None, SECOND], axis=2).min() - 1.0
    assert abs(gap) < (2e-4 if NESTED in (one, other) else 1e-13)


@pytest.mark.parametrize("other", [TAYLOR, RATTLE, NESTED | {"contact_search": "root"}, EXACT])
def test_discrete_law_keeps_the_energy_of_steps_and_of_the_others_velocities(other, tmp_path):
    """One chain under the variational law: |V|^2 / 2 of its steps before and after, plus the other's kinetic energy."""
    system = meeting(tmp_path, LAW, other)
    time, (x, before), (_, after) = first_contact(system)
    node = LAW["step"] * np.floor(time / LAW["step"])
    ends = []
    for end in (node, node + LAW["step"]):
        engine = Engine(system)
        engine.advance(float(np.nextafter(end, 0)))
        ends.append(frame_of(engine, float(end))[0])
    incoming, outgoing = (x - ends[0]) / (time - node), (ends[1] - x) / (node + LAW["step"] - time)
    was = kinetic(system, incoming, FIRST) + kinetic(system, before, SECOND)
    now = kinetic(system, outgoing, FIRST) + kinetic(system, after, SECOND)
    assert abs(now / was - 1) < 1e-11
    everything = slice(0, 7)
    assert abs(kinetic(system, after, everything) / kinetic(system, before, everything) - 1) > 1e-6
    assert np.abs(system.topology.whole().mass @ (after - before)).max() < 1e-13


@pytest.mark.parametrize("way", [RATTLE, LAW, EXACT], ids=["rattle", "variational", "exact"])
def test_a_mixed_contact_is_of_order_2(way, tmp_path):
    """Positions after it, of both chains, against those of two chains that fly exactly."""

    def found(*ways):
        engine = Engine(meeting(tmp_path, *ways), log_events=True)
        engine.advance(1.5)
        assert len(engine.drain_events()) == 1
        return frame_of(engine, 1.5)[0]

    exact = found(TAYLOR, TAYLOR)
    steps = 0.02 * 2.0 ** -np.linspace(0, 2, 5)
    errors = np.array([np.abs(found(TAYLOR, way, step) - exact) for step in steps])
    for beads in (FIRST, SECOND):
        worst = errors[:, beads].max(axis=(1, 2))
        slope = np.polyfit(np.log(steps), np.log(worst), 1)[0]
        assert abs(slope - 2) < 0.35, worst


def test_checkpoint_brings_them_back(tmp_path):
    """A run stopped and read again from its file goes on to the same bits; `info` names each kind's propagator."""
    system = build(tmp_path, far_apart(True))
    engine = Engine(system)
    engine.advance(2.1)
    state = state_of(engine)
    engine.advance(4.0)
    path = tmp_path / "stopped.h5"
    write_checkpoint(path, None, replace(system, state=state), 2.1, {}, load_config(tmp_path / "in.toml"))
    again = read_checkpoint(path).system
    assert again.physics == system.physics and len(again.physics.kinds) == 6
    other = Engine(System(again.box, again.topology, again.state, again.physics))
    other.advance(4.0)
    assert bits(other, 4.0) == bits(engine, 4.0)
    assert "A taylor, B rattle, C variational, D variational, E collocation, F collocation" in info(path)


def test_keys_left_out_are_those_of_the_same_propagator(tmp_path):
    shape = molecule(1, 4)
    general = {"name": "rattle", "step": 0.25, "solver": "sweeping", "tolerance": 1e-10}
    system = build(
        tmp_path,
        [
            table(shape, [0.0, 0.0, 0.0]),
            table(shape, [20.0, 0.0, 0.0], propagator={"step": 0.125}),
            table(shape, [40.0, 0.0, 0.0], propagator={"name": "variational", "step": 0.5}),
            table(shape, [60.0, 0.0, 0.0], propagator={"name": "taylor"}),
        ],
        **general,
    )
    found = [(each.propagator, each.step, each.options.solver, each.tolerance) for each in system.physics.every()]
    assert found == [
        ("rattle", 0.25, "sweeping", 1e-10),
        ("rattle", 0.125, "sweeping", 1e-10),
        ("variational", 0.5, "tridiagonal", 1e-12),
        ("taylor", 0.0, "tridiagonal", 1e-12),
    ]
    assert {each.tick for each in system.physics.every()} == {system.physics.tick}


def test_resolved_input_with_own_propagators_loads_back_equal(tmp_path):
    path = tmp_path / "in.toml"
    build(tmp_path, far_apart(True), name="rattle", step=0.25, solver="sweeping")
    config = load_config(path)
    path.write_text(config.to_toml(), encoding="utf-8")
    assert load_config(path) == config
    assert load_config(path, ["molecule.1.propagator.step=0.01"]) != config
