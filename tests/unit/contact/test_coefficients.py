"""One table of coefficients for both engines: of pairs of types, sides of the box and walls with shapes."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.contact.coefficients import coefficient_table
from hpcchain.layout import arrays as L
from hpcchain.model.physics.constants import PairConstants, SteppedPhysics
from hpcchain.model.system import PERIODIC, WALL
from hpcchain.steps.contacts.inclusions import Coefficients
from tests.support.extended import wall_table, with_extended
from tests.support.kernel_tools import make_system, plain_sector, random_chain

SPHERE = {"shape": "sphere", "center": [0.0, 0.0, 0.0], "radius": 50.0}


def system_of(**physics):
    """Return the System of two chains."""
    chains = [random_chain(3, 1), random_chain(2, 2)]
    return make_system(chains, boundary=(WALL, PERIODIC, PERIODIC), restitution=0.9, **physics)


def own(types, restitution, contact_time=None):
    """Return a table of [[contact.pair]]."""
    return {
        "types": types,
        "restitution": restitution,
        "tangential_restitution": None,
        "contact_time": contact_time,
    }


def test_a_run_of_smooth_hard_beads_has_one_row():
    """So none asks which one: beads and walls of all types have it."""
    table = plain_sector(system_of(contact_time=0.5)).coefficients
    assert table.tolist() == [[0.9, 1.0, 0.0, 0.0]]


def test_a_walls_own_goes_before_a_pairs_and_this_before_that_of_all():
    plain = system_of()
    name = plain.topology.type_names[0]
    pairs = [own([name, name], 0.5), own([name, "x-"], 0.4), own([name, "x+"], 0.3, contact_time=2.0)]
    walls = [wall_table(side="x-", restitution=0.2), wall_table(**SPHERE, restitution=0.1)]
    system = with_extended(plain, pairs=pairs, walls=walls)
    table = coefficient_table(system.physics, system.topology.type_names)
    types = len(system.topology.type_names)
    assert table.shape == (types, types + L.SIDES + 1, L.PAIR_COEFFICIENTS)
    found = table[0, :, L.PAIR_NORMAL]
    assert found[0] == 0.5 and found[types:].tolist() == [0.2, 0.9, 0.9, 0.3, 0.9, 0.9, 0.1]
    left = table[:, :, L.PAIR_LEFT]
    assert left[0, types + 3] == 0.0 and np.all(np.delete(left.ravel(), types + 3) == L.WHOLE_CONTACT)


@pytest.mark.parametrize("shapes", [0, 1])
def test_steps_have_the_table_of_events(shapes):
    """What pairs and walls say comes to the same place from either engine's settings."""
    plain = system_of()
    name = plain.topology.type_names[0]
    walls = [wall_table(side="x-", restitution=0.2), *[wall_table(**SPHERE, restitution=0.1)] * shapes]
    events = with_extended(plain, pairs=[own([name, name], 0.5), own([name, "x+"], 0.3)], walls=walls)
    steps = SteppedPhysics(step=0.1, integrator="contact")
    pairs = tuple(PairConstants((name, other), e, friction=0.7) for other, e in ((name, 0.5), ("x+", 0.3)))
    steps = replace(steps, pairs=pairs, friction=0.25)
    stepped = with_extended(plain, walls=walls)
    found = Coefficients(plain.topology, replace(stepped.physics, steps=steps))
    table = coefficient_table(events.physics, plain.topology.type_names)
    np.testing.assert_array_equal(found.restitution, table[:, :, L.PAIR_NORMAL])
    types = len(table)
    rubbing = np.full(found.friction.shape, 0.25)
    rubbing[0, 0] = rubbing[0, types + L.SIDE_NAMES.index("x+")] = 0.7
    np.testing.assert_array_equal(found.friction, rubbing)
    assert found.rubs and found.strikes and not found.same
