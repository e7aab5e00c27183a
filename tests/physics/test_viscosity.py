"""Transport of hard spheres, by Helfand's moment, against Enskog's theory where it is known to hold."""

import math

import numpy as np
import pytest

from hpcchain import read
from tests.support.run_folders import run_here, write_input

KNOWN, KNOWN_OF_HEAT = 0.03, 0.05
"""How far the theory may be off at these densities, relative (Alder, Gass and Wainwright 1970)."""


def enskog(fraction):
    """Return the viscosity of hard spheres of diameter, mass and temperature 1, contact value of Carnahan, Starling."""
    y = 4.0 * fraction * (1.0 - 0.5 * fraction) / (1.0 - fraction) ** 3
    dilute = 1.016 * 5.0 / (16.0 * math.sqrt(math.pi))
    return dilute * 4.0 * fraction * (1.0 / y + 0.8 + 0.761 * y)


def enskog_of_heat(fraction):
    """Return the conductivity of heat of the same."""
    y = 4.0 * fraction * (1.0 - 0.5 * fraction) / (1.0 - fraction) ** 3
    dilute = 1.02513 * 75.0 / (64.0 * math.sqrt(math.pi))
    return dilute * 4.0 * fraction * (1.0 / y + 1.2 + 0.7574 * y)


@pytest.mark.long
@pytest.mark.parametrize(("fraction", "every", "end"), [(0.1, 0.2, 1500.0), (0.3, 0.05, 500.0)])
def test_transport_of_hard_spheres(tmp_path, fraction, every, end):
    tables = {
        "box": {"packing_fraction": fraction},
        "molecule": [{"kind": "monomer", "count": 256}],
        "initial": {"seed": 5},
        "run": {"end_time": end},
        "output": {"report_every": every, "frame_every": end},
    }
    run = read(run_here(write_input(tmp_path / "in.toml", tables), tmp_path / "out"))
    analysis = run.analysis(start=10.0, figures=("stress", "heat_flux"))
    for name, theory, known in (("viscosity", enskog, KNOWN), ("heat_conductivity", enskog_of_heat, KNOWN_OF_HEAT)):
        for own in (name, f"{name}_green_kubo"):
            found, expected = analysis.value(own), theory(fraction)
            assert found.error < 0.12 * expected
            assert abs(found.value - expected) < 3.0 * np.hypot(found.error, known * expected)
