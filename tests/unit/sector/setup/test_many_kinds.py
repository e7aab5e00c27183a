"""Systems of thousands of kinds of molecules, as polydisperse ones are: work and memory go with their number alone."""

from time import process_time

import numpy as np
import pytest

from hpcchain.contact.coefficients import coefficient_table, row_of
from hpcchain.layout import arrays as L
from hpcchain.model.molecules.equal_shapes import bonded_groups, groups_of
from hpcchain.model.physics.extended import types_apart
from hpcchain.model.physics.step_potentials import PAIRS, bead_types, potential_table
from hpcchain.model.starts.constraints import degrees_of_freedom
from hpcchain.model.system import PERIODIC, Box, Physics, State, System, Topology
from hpcchain.sector.setup.allocate import contact_arrays, parameters
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from hpcchain.steps.contacts.inclusions import Coefficients
from tests.support.compositions import composition_of
from tests.support.extended import with_extended
from tests.support.kernel_tools import plain_sector


def many(kinds, beads=1):
    """Return a System of so many kinds, a molecule of each: chains whose beads have diameters of their own."""
    rng, total = np.random.default_rng(kinds), kinds * beads
    side = int(np.ceil(kinds ** (1 / 3)))
    start = 4.0 * np.stack(np.unravel_index(np.arange(kinds), (side,) * 3), axis=1)
    position = (start[:, None] + np.arange(beads)[:, None] * [1.0, 0.0, 0.0]).reshape(-1, 3)
    joined = np.arange(total).reshape(kinds, beads)
    topology = Topology(
        names=tuple(f"K{k}" for k in range(kinds)),
        kind=np.arange(kinds, dtype=np.int32),
        first_bead=np.arange(0, total + 1, beads),
        first_bond=np.arange(0, kinds * (beads - 1) + 1, beads - 1) if beads > 1 else np.zeros(kinds + 1, np.int64),
        bonds=np.stack([joined[:, :-1], joined[:, 1:]], axis=2).reshape(-1, 2),
        bond_length=np.ones(kinds * (beads - 1)),
        mass=rng.uniform(0.5, 2.0, size=total),
        diameter=rng.uniform(0.8, 1.0, size=total),
        self_contact=np.ones(kinds, dtype=bool),
        rod=np.zeros(kinds, dtype=bool),
        flexible=np.zeros(kinds, dtype=bool),
    )
    box = Box(np.full(3, 4.0 * side), np.zeros(3), np.full(3, PERIODIC))
    state = State.at_time_zero(position, np.zeros_like(position))
    return System(box, composition_of(topology), state, Physics(tick=1.0))


def prepared(system):
    """Do what the making of an engine does for each kind of molecules; return the CPU seconds that it takes."""
    began = process_time()
    composition = system.topology
    classes = MoleculeClasses(system)
    parameters(system, 0.2, 0.0)
    contact_arrays(system)
    groups_of(system.topology.whole())
    degrees_of_freedom(system.topology.whole(), system.state.position)
    taken = process_time() - began
    assert len(classes.rows) == composition.prototypes.molecules
    return taken


@pytest.mark.parametrize("beads", [1, 3])
def test_work_goes_with_the_number_of_kinds(beads):
    """Eight times as many kinds take eight times as long, and work on all pairs of kinds would take 64 times."""
    prepared(many(20, beads))
    few, more = (min(prepared(many(kinds, beads)) for _ in range(2)) for kinds in (750, 6000))
    assert more < 20.0 * few


def pairs_of(names):
    """Return [[contact.pair]] of two types of many, and of one and a wall."""
    own = {"tangential_restitution": None, "contact_time": None}
    return [
        {"types": [names[3], names[5]], "restitution": 0.5, **own},
        {"types": [names[5], "x-"], "restitution": 0.25, **own},
    ]


def test_types_that_no_pair_names_have_one_row_of_coefficients():
    """And all beads and walls have the coefficients that a table of all types has for them."""
    system = many(9)
    names = system.topology.type_names
    system = with_extended(system, pairs=pairs_of(names), gravity=[0.0, 0.0, -1.0])
    whole, s = coefficient_table(system.physics, names), plain_sector(system)
    assert len(s.coefficients) == 3 * (3 + L.SIDES)
    others = [*range(9), *range(-L.SIDES, 0)]
    found = [[s.coefficients[row_of(s, i, j)].tolist() for j in others] for i in range(9)]
    types = [*range(9), *(len(names) - 1 - j for j in others[9:])]
    assert found == whole[:, types].tolist()


def test_steps_have_the_same_coefficients():
    system = many(9)
    names = system.topology.type_names
    system = with_extended(system, pairs=pairs_of(names))
    known = Coefficients(system.topology, system.physics)
    assert known.restitution.shape == (3, 3 + L.SIDES)
    whole = coefficient_table(system.physics, names)[:, :, L.PAIR_NORMAL]
    i, j = (axis.ravel() for axis in np.mgrid[:9, -6:9])
    column = np.where(j < 0, len(names) - 1 - j, j)
    assert np.array_equal(known.of(known.restitution, np.column_stack([i, j])), whole[i, column])


def test_types_that_no_potential_names_are_one():
    system = many(200)
    names = system.topology.type_names
    system = with_extended(system, potentials=[{"types": [names[4], names[7]], "distances": [1.5], "energies": [-1.0]}])
    own, of = bead_types(system.topology.whole(), system.physics)
    assert own == [names[0], names[4], names[7]] and of[4] == 1 and of[7] == 2
    assert np.all(np.delete(of, [4, 7]) == 0)
    table = potential_table(system.topology.whole(), system.physics)
    assert np.flatnonzero(table[PAIRS : PAIRS + 9]).tolist() == [5, 7]


def test_all_types_are_apart_where_all_are_named():
    class Given:
        types = ("A", "B")

    assert types_apart(("A", "B"), [Given])[1].tolist() == [0, 1]
    assert types_apart(("C", "B", "D", "A"), [Given])[1].tolist() == [0, 1, 0, 2]


def test_chains_of_one_size_are_one_group():
    (group,) = bonded_groups(many(50, 4).topology.whole())
    assert group.mass.shape == (50, 4) and group.length.shape == (50, 3) and group.is_chain
