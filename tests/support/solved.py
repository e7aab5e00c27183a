"""Systems in the engine moved by collocation, rattle or variational, and what tests ask of their motion."""

import numpy as np

from hpcchain.config import load_config
from hpcchain.model.starts.start import build_system
from tests.reference.systems import Molecule, System, place, thermal, toml
from tests.support.whole import frame_of, state_of

RING = {"kind": "ring", "beads": 6, "mass": [1.0, 2.0, 1.0, 0.5, 1.0, 3.0]}
STAR = {"kind": "star", "beads": 7, "arms": 3, "diameter": 0.9, "mass": [3.0, *[1.0] * 6]}


def start(system, folder, **propagator):
    """Return the engine's System of a reference system moved as a [propagator] table says."""
    source = folder / "in.toml"
    source.write_text(toml(system.input(1.0) | {"propagator": propagator}))
    return build_system(load_config(source))


def instants(events):
    """Return the times of contacts, simultaneous ones once."""
    time = events["time"]
    return time[np.diff(time, prepend=-np.inf) > 1e-6]


def invariants(system, position, velocity):
    """Return energy, momentum and angular momentum."""
    mass = system.mass[:, None]
    moment = np.sum(mass * np.cross(position, velocity), axis=0)
    return np.array([0.5 * np.sum(mass * velocity**2), *np.sum(mass * velocity, axis=0), *moment])


def stretched(system, position):
    """Return the largest relative error of a bond."""
    bond = position[system.bonds[:, 1]] - position[system.bonds[:, 0]]
    return np.max(np.abs(np.linalg.norm(bond, axis=1) / system.bond_length - 1))


def tumbling(kind, **keys):
    """Return two equal molecules of unequal masses in a small periodic box."""
    system = System([Molecule(kind, count=2, **keys)], (5.0, 5.2, 5.4))
    random = np.random.default_rng(5)
    return thermal(place(system, random), random)


def bits(engine, time):
    """Return the bytes of the state and of a frame at the engine's time."""
    state, frame = state_of(engine), frame_of(engine, time)
    return [getattr(state, name).tobytes() for name in state.ARRAYS] + [part.tobytes() for part in frame]


def propagator(stages, step):
    """Return the [propagator] table."""
    return {"name": "collocation", "stages": stages, "step": step}
