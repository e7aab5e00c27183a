"""Small systems and runs' output made by hand, for the tests of the files."""

from itertools import groupby

import numpy as np

from hpcchain.config.load import config_from_table
from hpcchain.io.checkpoint.layout import COUNTERS
from hpcchain.io.output.events import EVENT
from hpcchain.model.starts.start import physics_with
from hpcchain.model.system import State, System, Topology
from hpcchain.model.topology import build_box, build_composition

NO_COUNTS = dict.fromkeys(COUNTERS, 0) | {
    **dict.fromkeys(("virial_quantum", "flow_quantum", "impulse_quantum"), 2.0**-9),
    **dict.fromkeys(("interval_flow", "interval_pushes"), [0, 0, 0]),
    "interval_tensor": [0] * 5,
    "part_seal": "",
}
"""The counters of a run in which nothing has happened."""


def event_rows(time, kind, bead, impulse):
    """Return (n,) rows of type EVENT from columns."""
    table = np.empty(len(time), dtype=EVENT)
    table["time"], table["kind"], table["bead"], table["impulse"] = time, kind, bead, impulse
    return table


def chains(lengths, names=None, mass=1.0, diameter=1.0):
    """Return the Topology of chains; those of one length are of one kind, or kinds alternate between given names."""
    lengths = np.asarray(lengths, dtype=np.int64)
    kind = np.arange(len(lengths)) % len(names) if names else np.unique(lengths, return_inverse=True)[1].reshape(-1)
    names = tuple(names) if names else tuple("ABCDEFGH"[: len(np.unique(lengths))])
    first_bead = np.concatenate([[0], np.cumsum(lengths)])
    first_bond = np.concatenate([[0], np.cumsum(np.maximum(lengths - 1, 0))])
    starts = [np.arange(first, first + n - 1) for first, n in zip(first_bead, lengths, strict=False)]
    left = np.concatenate([np.zeros(0, np.int64), *starts])
    beads = int(first_bead[-1])
    return Topology(
        names=names,
        kind=kind.astype(np.int32),
        first_bead=first_bead.astype(np.int64),
        first_bond=first_bond.astype(np.int64),
        bonds=np.column_stack([left, left + 1]).astype(np.int64),
        bond_length=np.ones(len(left)),
        mass=np.full(beads, mass),
        diameter=np.full(beads, diameter),
        self_contact=np.ones(len(lengths), dtype=bool),
    )


def state_of(topology, seed=1):
    """Return a State in which the numbers are different, as far as they can be: straight chains that turn."""
    rng = np.random.default_rng(seed)
    molecules, of, beads = topology.molecules, topology.molecule_of_bead, topology.beads
    axis, turn = rng.normal(size=(2, molecules, 3))
    axis[:, 1] = 0.0  # along the walls
    axis /= np.sqrt(np.sum(axis**2, axis=1))[:, None]
    place = (np.arange(beads) - topology.first_bead[of])[:, None]
    start = rng.uniform(2.0, 5.0, size=(molecules, 3))
    return State(
        position=start[of] + place * axis[of],
        velocity=rng.normal(size=(molecules, 3))[of] + place * np.cross(turn, axis)[of],
        image=(rng.integers(-3, 4, size=(molecules, 3)) * [1, 0, 0])[of],
        ticks=np.floor(rng.uniform(0, 30, molecules))[of],
        remainder=rng.uniform(0, 2.0**-7, molecules)[of],
        depth=rng.integers(0, 3, molecules).astype(np.int32)[of],
        struck=rng.integers(0, 2, beads).astype(bool),
        step=rng.uniform(0, 0.1, molecules)[of],
        in_contact=rng.integers(0, 2**24 + 1, beads).astype(np.int32),
    )


def tables_of(lengths, names=None):
    """Return the input of chains, those that follow one another with one length of one kind; all boundaries are in it.

    Names are those of the kinds: A, B, and so on when left out.
    """
    kinds = [{"kind": "chain", "beads": n, "count": len(list(same))} for n, same in groupby(map(int, lengths))]
    named = [{"name": name, **kind} for name, kind in zip(names, kinds, strict=True)] if names else kinds
    return {
        "title": "é",
        "box": {"size": [7.0, 8.0, 9.1], "origin": [-1.0, 0.0, 0.3], "boundary": ["periodic", "wall", "open"]},
        "molecule": named,
        "initial": {"method": "file", "file": "start.h5"},
        "propagator": {"name": "collocation", "variant": "paper", "step": 0.1, "contact_search": "nested"}
        | {"contact_interval": 0.1 + 0.2},
        "contact": {"contact_time": 0.01},
        "run": {"end_time": 1.0},
    }


def input_of(lengths, names=None):
    """Return the Config of `tables_of`."""
    return config_from_table(tables_of(lengths, names), "in.toml")


def input_for(system):
    """Return the Config of a system that `system_of` has made."""
    topology = system.topology.whole()
    return input_of(np.diff(topology.first_bead), topology.names)


def system_of(lengths, seed=1, names=None):
    """Return a System of chains with a box of all three boundaries."""
    config = input_of(lengths, names)
    composition = build_composition(config)
    state = state_of(composition.whole(), seed)
    return System(build_box(config.box), composition, state, physics_with(config, 2.0**-7))


def same_state(a, b):
    """Return whether two states have the same bits and types."""
    pairs = [(getattr(a, name), getattr(b, name)) for name in State.ARRAYS]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


def same_topology(a, b):
    """Return whether two topologies have the same bits and types."""
    names = [name for name in a.__dataclass_fields__ if not name.endswith("names")]
    pairs = [(getattr(a, name), getattr(b, name)) for name in names]
    return (a.names, a.type_names) == (b.names, b.type_names) and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in pairs
    )


def same_system(a, b):
    """Return whether two systems are the same to the bit."""
    boxes = all(np.array_equal(getattr(a.box, n), getattr(b.box, n)) for n in ("size", "origin", "boundary"))
    alike = same_topology(a.topology.whole(), b.topology.whole()) and a.physics == b.physics
    return boxes and alike and same_state(a.state, b.state)


def frame_of(beads, number):
    """Return (position, velocity, image) of a numbered frame."""
    rng = np.random.default_rng(1000 + number)
    return rng.normal(size=(beads, 3)), rng.normal(size=(beads, 3)), rng.integers(-2, 3, size=(beads, 3))


def events_between(low, high, count, seed=0, ties=True):
    """Return unsorted events with times in [low, high), some of them tied."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(low, high, count)
    if ties and count > 4:
        times[: count // 3] = times[0]
    bead = np.sort(rng.integers(0, 40, size=(count, 2)), axis=1)
    return event_rows(times, rng.integers(0, 2, count).astype(np.uint8), bead, rng.normal(size=count))
