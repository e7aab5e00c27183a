"""What a report holds: energies, momenta, temperature, pressure, contacts.

Read off the segments at the report's time; nothing here feeds back into the motion.
"""

import numpy as np

from hpcchain.model.constraints import degrees_of_freedom


class Observables:
    """Computes one report after another.

    Parameters
    ----------
    system : System
        Its topology, box and state at the start.
    freedom : int, optional
        Degrees of freedom; counted from the state when left out.
    """

    def __init__(self, system, freedom=None):
        self.topology = system.topology
        self.box = system.box
        self.freedom = freedom if freedom is not None else degrees_of_freedom(system.topology, system.state.position)

    def measure(self, position, velocity, image, interval, virial, contacts):
        """Return dict of name -> value.

        Parameters
        ----------
        position, velocity, image : (N, 3) arrays
            Of all beads at the report's time [length], [length / time].
        interval : float
            Time since the report before [time].
        virial : float
            Sum over that interval's contacts of impulse times centre-of-mass vector [mass length^2 / time].
        contacts : int
            Contacts in that interval.
        """
        mass = self.topology.mass[:, None]
        kinetic = 0.5 * float(np.sum(mass * velocity**2))
        unwrapped = position + image * self.box.size
        temperature = 2.0 * kinetic / self.freedom if self.freedom > 0 else 0.0
        pressure = np.nan
        if interval > 0.0:
            pressure = (self.topology.molecules * temperature + virial / (3.0 * interval)) / self.box.volume
        return {
            "kinetic_energy": kinetic,
            "momentum": np.sum(mass * velocity, axis=0),
            "angular_momentum": np.sum(mass * np.cross(unwrapped, velocity), axis=0),
            "temperature": temperature,
            "pressure": pressure,
            "contacts": contacts,
        }
