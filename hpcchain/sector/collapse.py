"""What to say where beads meet without end: those that lose energy collapse, others are wedged."""

from hpcchain.errors import ConfigError, EngineError
from hpcchain.sector.loop import MOST_DEPTH


def way_out(physics):
    """Return what ends the inelastic collapse of a run with these constants."""
    if physics.restitution == 0.0:
        return "take a contact.restitution above 0 and a contact.contact_time"
    return f"a {'longer ' if physics.contact_time > 0.0 else ''}contact.contact_time ends that"


def stuck(physics, bead=None):
    """Return the error for too many contacts at one instant, of a bead if that is known.

    A ConfigError where beads lose energy, an EngineError where they do not.
    """
    many = f"{'' if bead is None else f'bead {bead}: '}more than {MOST_DEPTH} contacts at one instant"
    if physics.restitution < 1.0:
        return ConfigError(f"{many}: beads that lose energy are pressed together (inelastic collapse); "
                           f"{way_out(physics)}")
    return EngineError(f"{many}; start from positions that are not wedged")
