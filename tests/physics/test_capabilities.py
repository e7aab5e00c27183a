"""Every cell of the table of capabilities: what works runs and keeps what it must, on two ranks too; others say no."""

import numpy as np
import pytest

from hpcchain.config.demands.capabilities import CAPABILITIES, EXACT, KINDS
from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.layout import arrays as L
from hpcchain.model.starts.start import build_system
from hpcchain.propagators.catalogue import PROPAGATORS
from hpcchain.sector.serial import Engine
from tests.support.identity import parallel, require_same, serial
from tests.support.whole import frame_of

END = 2.0
STEPS = {
    "taylor": {},
    "collocation": {"step": 0.02},
    "variational": {"step": 0.01, "collision": "exact"},
    "rattle": {"step": 0.01},
}
RING = [[np.cos(a), np.sin(a), 0.0] for a in 2.0 * np.pi * np.arange(5) / 5]
TRIPOD = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.9, 0.0], [0.0, 0.0, 0.8]]
SHAPES = {
    "monomer": ({"kind": "monomer"}, [[0.0, 0.0, 0.0]]),
    "dimer": ({"kind": "chain", "beads": 2}, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
    "chain": ({"kind": "chain", "beads": 4}, [[0.8 * k, 0.6 * (k % 2), 0.0] for k in range(4)]),
    "ring": ({"kind": "ring", "beads": 5}, (np.array(RING) / (2.0 * np.sin(np.pi / 5))).tolist()),
    "star": (
        {"kind": "star", "arms": 3, "arm_beads": 1},
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-0.5, 0.75**0.5, 0.0], [-0.5, -(0.75**0.5), 0.0]],
    ),
    "graph": (
        {"kind": "graph", "beads": 5, "bonds": [[0, 1], [1, 2], [2, 3], [0, 3], [0, 4]]},
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [-0.6, -0.8, 0.0]],
    ),
    "rigid": ({"kind": "rigid", "sites": TRIPOD}, TRIPOD),
    "rod": ({"kind": "rod", "beads": 3}, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]),
}
"""The table of a kind, and where the beads of one are."""
PLACES, OTHERS = [[1.5, 2.0, 2.5], [3.5, 5.0, 5.5]], [[2.0, 4.5, 2.0], [5.5, 3.0, 6.0]]
ASKED = {
    "molecule.types": ({"types": "H"}, {}),
    "contact.pair": ({}, {"contact": {"pair": [{"types": ["A", "B"], "restitution": 0.9}]}}),
    "molecule.exclude": ({"exclude": 2}, {}),
    "contact.tangential_restitution": ({}, {"contact": {"tangential_restitution": -1.0}}),
    "contact.contact_time": ({}, {"contact": {"restitution": 0.9, "contact_time": 0.05}}),
    "contact.simultaneous": ({}, {"contact": {"simultaneous": "moreau"}}),
    "molecule.directors": ({"directors": True}, {}),
    "external.gravity": ({}, {"external": {"gravity": [0.2, 0.0, -1.0]}}),
    "wall.restitution": ({}, {"wall": [{"side": "z-", "restitution": 0.9}]}),
    "wall.velocity": (
        {},
        {
            "wall": [
                {"side": "z-", "velocity": 0.2},
                {"side": "x+", "velocity": -0.2},
                {"side": "y-", "velocity": [0.3, 0.1, -0.2], "temperature": 1.5},
            ]
        },
    ),
    "wall.oscillation": (
        {},
        {
            "wall": [
                {"side": "z-", "oscillation": {"amplitude": 0.1, "period": 0.7}},
                {"side": "x+", "oscillation": {"amplitude": [0.1, 0.0, 0.3], "period": 0.4}, "temperature": 1.5},
            ]
        },
    ),
    "wall.temperature": ({}, {"wall": [{"side": side, "temperature": 1.5} for side in ("x-", "y-", "z-")]}),
    "wall.shape": ({}, {"wall": [{"shape": "sphere", "center": [4.0, 4.0, 4.0], "radius": 5.5}]}),
    "wall.tangential_restitution": (
        {},
        {
            "wall": [
                {"side": "z-", "tangential_restitution": -1.0},
                {"side": "x-", "tangential_restitution": 0.3, "temperature": 1.5},
            ]
        },
    ),
    "molecule.fixed": ({"fixed": [0]}, {}),
    "molecule.fixed_velocity": ({"fixed": [0], "fixed_velocity": [0.1, 0.0, -0.2]}, {}),
    "thermostat": ({}, {"thermostat": {"name": "andersen", "temperature": 1.5, "rate": 1.0}}),
    'potential, name "steps"': ({}, {"potential": [{"name": "steps", "distances": [1.3], "energies": [-0.5]}]}),
    "contact.pair.bridge_distance": (
        {},
        {
            "contact": {
                "pair": [
                    {"types": types, "bridge_distance": 1.1, "bridge_energy": 0.1}
                    for types in (["A", "A"], ["A", "B"], ["B", "B"])
                ]
            }
        },
    ),
    "molecule.distance_limits": ({"distance_limits": [{"separation": 2, "least": 0.95, "most": 1.95}]}, {}),
}
"""What asks for a capability: keys of the molecule, tables of the input."""
LOSES = ("contact.pair", "contact.contact_time", "wall.restitution", "contact.pair.bridge_distance")
"""Of these contacts take energy."""


def cells():
    """Return each cell; those of molecules in steps and of rigid bodies are long: their kernels compile for minutes."""
    found = []
    for one, name, kind in ((one, name, kind) for one in CAPABILITIES for name in PROPAGATORS for kind in KINDS):
        stepped = kind in one.works.get(name, ()) and (kind not in EXACT[name] or kind == "rigid")
        marks = pytest.mark.long if stepped else ()
        found.append(pytest.param(one, name, kind, marks=marks, id=f"{one.key}-{name}-{kind}"))
    return found


def table_of(one, name, kind):
    """Return the input of two molecules of a kind, and two other beads, that asks for a capability."""
    keys, tables = ASKED[one.key]
    table, places = SHAPES[kind]
    positions = (np.array(PLACES)[:, None] + np.array(places)[None]).reshape(-1, 3).tolist()
    own = table | {"name": "A", "count": 2, "diameter": 0.8, "positions": positions} | keys
    beads = {"name": "B", "kind": "monomer", "count": 2, "diameter": 0.8, "positions": OTHERS}
    side = "open" if one.key == "wall.shape" else "wall"
    return {
        "box": {"size": [8.0] * 3, "boundary": [side] * 3},
        "molecule": [own, beads],
        "initial": {"method": "explicit", "seed": 4, "temperature": 4.0},
        "propagator": {"name": name} | STEPS[name],
        "run": {"end_time": END},
    } | tables


def energies(system, frame, spins):
    """Return kinetic energy, that of spins and of heights, of what is not fixed."""
    topology, extended = system.topology.whole(), system.physics.extended
    mass = np.where(topology.fixed, 0.0, topology.mass)
    position, velocity, image = frame
    place = position + image * system.box.size
    found = 0.5 * mass @ np.sum(velocity**2, axis=1) - mass @ place @ np.array(extended.gravity or [0.0] * 3)
    return float(found + (extended.rough is not None) * 0.5 * topology.moment @ np.sum(spins**2, axis=1))


def balance(system):
    """Return the energy at the start, and by how much it has grown at the end but for work and heat."""
    engines = Engine(system), Engine(system)
    engines[1].advance(END)
    found = []
    for engine, time in zip(engines, (0.0, END), strict=True):
        spins = engine.state().extra[np.argsort(engine.ids), L.SPIN : L.SPIN + 3]
        inside = engine.energies()
        found.append(energies(system, frame_of(engine, time), spins) + (0.0 if inside is None else inside[:, 0].sum()))
    brought = (engines[1].sums[L.SUM_WORK] + engines[1].sums[L.SUM_HEAT]) * engines[1].energy_quantum
    return found[0], found[1] - found[0] - brought


@pytest.mark.parametrize(("one", "name", "kind"), cells())
def test_each_cell_is_what_the_table_says(one, name, kind):
    table = table_of(one, name, kind)
    if kind not in one.works.get(name, ()):
        with pytest.raises(ConfigError) as caught:
            config_from_table(table, "in.toml")
        said = str(caught.value)
        assert "does not work for molecule[0]" in said and f"kind '{kind}', with propagator '{name}'" in said
        assert said.startswith(f"in.toml: {one.key.split('_velocity')[0]}") and "\n" not in said
        return
    system = build_system(config_from_table(table, "in.toml"))
    run = serial(system, END)
    topology, position = system.topology.whole(), run.frame[0]
    assert len(run.events) > 0
    first, grown = balance(system)
    exact = kind in EXACT[name]
    assert grown < 1e-9 if exact else grown < 0.02 * first
    assert one.key in LOSES or abs(grown) < (1e-9 if exact else 0.02 * first)
    length = np.linalg.norm(position[topology.bonds[:, 1]] - position[topology.bonds[:, 0]], axis=1)
    assert np.max(np.abs(length - topology.bond_length), initial=0.0) < (1e-11 if name == "taylor" else 1e-6)
    require_same(run, parallel(system, END, 2, window=0.3), f"{one.key}, {name}, {kind}")


LAWFUL = [one for one in CAPABILITIES if one.exact_law and "chain" in one.works["variational"]]


@pytest.mark.parametrize("one", LAWFUL, ids=lambda one: one.key)
def test_the_exact_law_is_needed_where_there_is_another(one):
    table = table_of(one, "variational", "chain")
    table["propagator"]["collision"] = "variational"
    with pytest.raises(ConfigError, match=r'works only with propagator.collision = "exact"'):
        config_from_table(table, "in.toml")


def test_others_next_to_molecules_with_limits_fly_exactly():
    table = table_of(next(one for one in CAPABILITIES if one.other_kinds), "taylor", "chain")
    places = (np.array(SHAPES["rod"][1]) + [3.0, 1.0, 6.5]).tolist()
    rod = SHAPES["rod"][0] | {"name": "C", "diameter": 0.8, "positions": places}
    system = build_system(config_from_table(table | {"molecule": [*table["molecule"], rod]}, "in.toml"))
    require_same(serial(system, END), parallel(system, END, 2), "a rod among chains with limits")
    table["molecule"].append(rod | {"propagator": {"name": "rattle", "step": 0.01}})
    with pytest.raises(ConfigError, match=r"molecule.distance_limits: does not work for molecule\[2\], kind 'rod'"):
        config_from_table(table, "in.toml")
