"""All-pairs event-driven dynamics on one clock: slow, simple, and sharing nothing with the program it checks.

One turn of the loop: (1) Taylor series of the whole system; (2) earliest contact of all pairs and walls on the
span where the series is exact to round-off; (3) move there, or to the end of the span, and project onto the
bonds; (4) at a contact, collect those that happen at the same instant in the same molecules and solve for one
impulse each.
"""

from dataclasses import dataclass

import numpy as np

from .contacts import INNER, OUTER, WALL, Geometry
from .linear import pushes
from .motion import at, trusted_length
from .systems import mechanics_of

SIMULTANEOUS = 1e-10


@dataclass(frozen=True)
class Event:
    """One contact, in the words of the event log.

    Attributes
    ----------
    time, impulse : float
        [time], momentum along the normal [mass length / time].
    kind : int
        0 bead-bead, 1 wall, 2 well entered, 3 left, 4 turned back at an edge.
    bead : (int, int)
        Ids, lower first; a wall is -1 - axis (lower) or -4 - axis (upper).
    normal_velocity : float
        Rate of the gap before the contact, negative [length / time].
    virial : float
        Impulse times the molecules' centre separation along the normal; 0 for walls and within one molecule.
    shift : (int, int, int)
        Box lengths added to the unwrapped second bead: not 0 within a molecule that meets its own image.
    restitution : float
        Its coefficient: the system's, or 1 (`Engine.restitution`).
    """

    time: np.longdouble
    kind: int
    bead: tuple
    impulse: np.longdouble
    normal_velocity: np.longdouble
    virial: np.longdouble
    shift: tuple
    restitution: np.longdouble


@dataclass(frozen=True)
class Turn:
    """State (N, 3) at an instant of contact: positions, velocities before and after, and its events."""

    time: np.longdouble
    position: np.ndarray
    before: np.ndarray
    after: np.ndarray
    events: tuple


class Engine:
    """The whole system on one clock.

    Parameters
    ----------
    system : tests.reference.systems.System
    dtype : numpy float type
    order : int
        Order of the Taylor series.
    longest : float
        Longest span of one series [time].
    """

    def __init__(self, system, dtype=np.longdouble, order=26, longest=0.25):
        self.system, self.dtype, self.order, self.longest = system, dtype, order, longest
        self.mechanics = mechanics_of(system, dtype)
        self.geometry = Geometry(system, dtype)
        self.error = np.finfo(dtype).eps / 4
        self.time = dtype(0)
        position, velocity = np.asarray(system.position, dtype=dtype), np.asarray(system.velocity, dtype=dtype)
        self.position, self.velocity = self.mechanics.project(position, velocity)
        self.resolved = set()
        self.last_contact = np.full(len(self.position), -np.inf, dtype=dtype)

    def turns(self, end=np.inf):
        """Yield a Turn per instant of contact, up to and excluding those after `end`; then rest at `end`."""
        while self.time < end:
            series = self.mechanics.series(self.position, self.velocity, self.order)
            h = min(self.dtype(min(self.longest, trusted_length(series, self.error))), end - self.time)
            found = self.geometry.search(series, h, self.resolved, self.time)
            if found and h - found[0].dt < 2 * SIMULTANEOUS and h > 8 * SIMULTANEOUS:
                h, found = h / 2, []
            dt = found[0].dt if found else h
            self.move(series, dt)
            if found:
                yield self.cross(found[0]) if found[0].kind in (INNER, OUTER) else self.collide(self.together(found))

    def move(self, series, dt):
        """Move the system by dt along its series."""
        if dt > 0:
            self.resolved.clear()
        self.time = self.time + dt
        self.position, self.velocity = self.mechanics.project(*at(series, dt), sweeps=2)

    def together(self, found):
        """Return the first contact and those of its molecules at the same instant."""
        first = self.molecules(found[0])
        found = [c for c in found if c.kind not in (INNER, OUTER)]
        return [c for c in found if c.dt - found[0].dt <= SIMULTANEOUS and self.molecules(c) & first]

    def molecules(self, contact):
        """Return the ids of the molecules in a contact."""
        return {int(self.system.molecule_of_bead[bead]) for bead in self.beads(contact)}

    def collide(self, contacts):
        """Resolve contacts together, one impulse each, none that pulls: (N Y) p = -(1 + e) N v; return the Turn.

        e is 1 where one of their beads has had a contact within the contact time.
        """
        contacts = sorted(contacts, key=lambda contact: contact.key)
        before = self.velocity
        rows = np.stack([self.geometry.row(contact, self.position) for contact in contacts])
        change = self.mechanics.response(self.position, rows)
        matrix = np.einsum("cni,dni->cd", rows, change)
        rate = np.einsum("cni,ni->c", rows, before)
        rate -= np.array([self.geometry.rate_at(-1 - c.second, self.time) if c.kind == WALL else 0 for c in contacts])
        law = max(self.restitution(contact) for contact in contacts)
        impulse = pushes(matrix, -(1 + law) * rate)
        self.velocity = before + np.einsum("c,cni->ni", impulse, change)
        self.position, self.velocity = self.mechanics.project(self.position, self.velocity, sweeps=1)
        self.resolved |= {contact.key for contact in contacts}
        for contact, size in zip(contacts, impulse, strict=True):
            if size > 0:
                self.last_contact[self.beads(contact)] = self.time
        events = tuple(
            Event(self.time, c.kind, (c.first, c.second), p, u, p * self.lever(c, row), c.shift, law)
            for c, row, p, u in zip(contacts, rows, impulse, rate, strict=True)
            if p > 0
        )
        return Turn(self.time, self.position, before, self.velocity, events)

    def cross(self, contact):
        """Let a pair cross an edge of its well, or turn it back where its energy does not suffice; return the Turn."""
        geometry, before = self.geometry, self.velocity
        p = int(np.flatnonzero((geometry.first == contact.first) & (geometry.second == contact.second))[0])
        row = geometry.row(contact, self.position)
        change = self.mechanics.response(self.position, row[None])[0]
        mobility, rate = np.sum(row * change), np.sum(row * before)
        level = geometry.level[p] + (1 if contact.kind == INNER else -1)
        height = geometry.potential[level] - geometry.potential[geometry.level[p]]
        left, kind, after = rate**2 - 2 * height * mobility, 4, -rate
        if left > 0:
            kind, after = 2 if contact.kind == INNER else 3, np.sign(rate) * np.sqrt(left)
            geometry.level[p] = level
        size = (after - rate) / mobility
        self.velocity = before + size * change
        self.position, self.velocity = self.mechanics.project(self.position, self.velocity, sweeps=1)
        self.resolved |= {(which, *contact.key[1:]) for which in (INNER, OUTER)}
        event = Event(self.time, kind, (contact.first, contact.second), size, rate, 0, contact.shift, self.dtype(1))
        return Turn(self.time, self.position, before, self.velocity, (event,))

    def restitution(self, contact):
        """Return a contact's coefficient of restitution."""
        since, lasts = self.time - max(self.last_contact[self.beads(contact)]), self.system.contact_time
        return self.dtype(1 if lasts > 0 and since <= lasts else self.system.restitution)

    def beads(self, contact):
        """Return the ids of the beads in a contact."""
        return [bead for bead in (contact.first, contact.second) if bead >= 0]

    def lever(self, contact, row):
        """Return the distance of the two molecules' centres of mass along a contact's normal [length]."""
        if contact.second < 0:
            return self.dtype(0)
        molecule = self.system.molecule_of_bead
        first, second = molecule[contact.first], molecule[contact.second]
        between = self.centre(second) + np.array(contact.shift) * self.geometry.size - self.centre(first)
        return between @ row[contact.second]

    def centre(self, molecule):
        """Return the (3,) centre of mass of a molecule [length]."""
        beads = self.system.molecule_of_bead == molecule
        mass = self.mechanics.mass[beads]
        mass = np.isinf(mass).astype(self.dtype) if np.isinf(mass).any() else mass
        return mass @ self.position[beads] / np.sum(mass)


def simulate(system, events=np.inf, end=np.inf, dtype=np.longdouble, **settings):
    """Return the engine and its turns until `events` contacts or time `end`, whichever comes first.

    Parameters
    ----------
    system : tests.reference.systems.System
    events : int
    end : float
        [time]
    """
    engine, turns, count = Engine(system, dtype, **settings), [], 0
    for turn in engine.turns(end):
        turns.append(turn)
        count += len(turn.events)
        if count >= events:
            break
    return engine, turns


def event_list(turns):
    """Return the events of turns in time order."""
    return [event for turn in turns for event in turn.events]
