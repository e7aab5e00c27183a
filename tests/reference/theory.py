"""What statistical mechanics says about hard spheres (unit diameter, mass and temperature)."""

import numpy as np

HARD_SPHERES = {0.1: 1.52164, 0.3: 3.98386, 0.45: 9.4040}
TANGENT_DIMERS = {0.1: 1.7565, 0.2: 3.1678, 0.3: 5.856, 0.4: 11.126}


def kolafa_labik_malijevsky(fraction):
    """Return Z = P V / (N k T) in the equation's short form, good to .1 % up to .3; see also HARD_SPHERES."""
    return (1 + fraction + fraction**2 - 2 / 3 * fraction**3 * (1 + fraction)) / (1 - fraction) ** 3


def contact_value(fraction):
    """Return g(1) from Z = 1 + 4 fraction g(1)."""
    return (kolafa_labik_malijevsky(fraction) - 1) / (4 * fraction)


def enskog_rate(fraction, temperature=1.0):
    """Return Enskog's contacts per bead and time; a contact of two beads counts once."""
    density = 6 * fraction / np.pi
    return 2 * density * contact_value(fraction) * np.sqrt(np.pi * temperature)


def speed_ratio(beads):
    """Return <v^4> / <v^2>^2 on a shell of fixed energy and momentum; 5/3 for many beads."""
    freedoms = 3 * (beads - 1)
    return 5 / 3 * freedoms / (freedoms + 2)


def side_for(beads, fraction):
    """Return the side of the cubic box in which so many unit spheres have this packing fraction [length]."""
    return float((beads * np.pi / 6 / fraction) ** (1 / 3))
