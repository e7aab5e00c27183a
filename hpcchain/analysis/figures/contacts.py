"""Contacts from their log: of each bead along its molecule, and where they are along a profile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import LENGTH
from hpcchain.analysis.statistics import BLOCKS, Sums
from hpcchain.analysis.tables import Curve, Value
from hpcchain.model.system import images_between

if TYPE_CHECKING:
    from hpcchain.analysis.figures.profile import Profile
    from hpcchain.analysis.kinds import Kind
    from hpcchain.io.output.run_output import Frames

KINDS = {"contacts_by_bead": 0, "wall_contacts_by_bead": 1}
"""Curve, and the kind of event that it counts."""
DRAW, SIDES = 6, 6
"""The kind of event that is no contact; walls of a box, whose codes come before those of shapes."""
PARTS = 12
"""Points of a line between two centres that its product is shared by."""
FINE, TINY = 2.0**-30, 1e-300
"""What sums are in whole numbers of, over their usual size; what keeps quotients finite."""
MOST_MISSED = 0.1
"""Diameters by which contacts may be missed: normals are then wrong by a tenth, and what they carry by a hundredth."""


class ContactCounts:
    """How often the beads of each number in a molecule touch others, per time; whole counts, so sums are exact.

    Parameters
    ----------
    kinds : list of Kind
    times : (float, float)
        Events after the first and up to the last are counted [time].

    Attributes
    ----------
    sums : list of int64 arrays
        Of each kind, counts by block of time and by group of molecules: all that several ranks add up.
    """

    def __init__(self, kinds: list[Kind], times: tuple[float, float]) -> None:
        self.kinds = kinds
        self.edges = np.linspace(*times, BLOCKS + 1)
        beads = sum(kind.beads.size for kind in kinds)
        self._kind, self._group, self._in_molecule = (np.zeros(beads, dtype=np.int64) for _ in range(3))
        for number, kind in enumerate(kinds):
            group = np.repeat(np.arange(len(kind.bounds) - 1), np.diff(kind.bounds))
            self._kind[kind.beads], self._group[kind.beads] = number, group[:, None]
            self._in_molecule[kind.beads] = np.arange(kind.size)
        rows = [size for kind in kinds for size in ((BLOCKS, kind.size), (len(kind.molecules), kind.size))]
        self.sums = [np.zeros((len(KINDS), *size), dtype=np.int64) for size in rows]

    def add(self, table: np.ndarray) -> None:
        """Count a table of events."""
        block = np.searchsorted(self.edges, table["time"], side="left") - 1
        inside = (block >= 0) & (block < BLOCKS)
        for row, event in enumerate(KINDS.values()):
            chosen = inside & (table["kind"] == event)
            beads, when = table["bead"][chosen].ravel(), np.repeat(block[chosen], 2)
            real = (beads >= 0) & (beads < len(self._kind))
            beads, when = beads[real], when[real]
            for number in range(len(self.kinds)):
                own = self._kind[beads] == number
                in_molecule = self._in_molecule[beads[own]]
                by_time, by_group = self.sums[2 * number : 2 * number + 2]
                np.add.at(by_time[row], (when[own], in_molecule), 1)
                np.add.at(by_group[row], (self._group[beads[own]], in_molecule), 1)

    def result(self) -> list[Value | Curve]:
        """Return the contacts per time of the bead of each number; those with walls only where there are any."""
        found: list[Value | Curve] = []
        length = np.diff(self.edges)
        for number, kind in enumerate(self.kinds):
            for row, name in enumerate(KINDS):
                by_time, by_group = (sums[row] for sums in self.sums[2 * number : 2 * number + 2])
                if row == 0 or by_time.any():
                    weight = length * len(kind.beads)
                    sums = Sums(by_time.astype(float), weight, by_group.astype(float), kind.molecules * length.sum())
                    value, error = sums.estimate(lambda x: x)
                    in_molecule = np.arange(float(kind.size))
                    found.append(Curve(name, kind.name, "1 / time", "bead", "", in_molecule, value, error))
        return found


class ContactPlaces:
    """What contacts add to the bins of a profile: how many there are, per time and volume, and their pressure.

    Beads are taken where straight lines from frame to frame lead, and a contact between two where they touch. Its
    impulse times the vector between the centres of mass of the molecules is spread evenly over the line between these.
    So the flow of momentum through planes has it in the mean (Irving and Kirkwood 1950). At a wall the line begins on
    the wall. All sums are of whole numbers, so they are exact.

    Parameters
    ----------
    profile : Profile
    frames : Frames
    rows : (F,) int64 array
        Those from whose first to whose last contacts are counted, two at least.

    Attributes
    ----------
    sums : list of int64 arrays
        Contacts by block of time and bin, what they carry, and by how much beads miss them: all that ranks add up.
    """

    def __init__(self, profile: Profile, frames: Frames, rows: np.ndarray) -> None:
        self.profile, self.frames, self.rows = profile, frames, rows
        self.time = frames.time[rows]
        self.edges = np.linspace(self.time[0], self.time[-1], BLOCKS + 1)
        bins = profile.along.bins
        sizes = (len(KINDS), BLOCKS, bins), (BLOCKS, len(profile.pairs), bins), (2,)
        self.sums = [np.zeros(size, dtype=np.int64) for size in sizes]
        speed = float(np.sqrt(np.mean(frames.table("velocity", int(rows[0])) ** 2))) or 1.0
        usual = np.max(frames.fixed.mass) * np.max(frames.fixed.diameter) * speed
        self.quantum = FINE * 2.0 ** np.ceil(np.log2(usual))

    def why_none(self) -> str:
        """Return why places cannot be found, "" where they can: beads move too far from frame to frame."""
        before, after = self._unwrapped(0), self._unwrapped(1)
        moved = (after - before)[:, self.profile.along.across]
        way, width = float(np.sqrt(np.mean(np.sum(moved**2, axis=1)))), float(np.diff(self.profile.edges[:2])[0])
        if way <= width:
            return ""
        return f"beads move {way:.3g} from frame to frame, more than a bin of {width:.3g}: frames nearer to one another"

    def _unwrapped(self, number: int) -> np.ndarray:
        """Return where beads are in a frame along the ways that they came."""
        row = int(self.rows[number])
        return self.frames.table("position", row) + self.frames.table("image", row) * self.frames.fixed.edges

    def add(self, table: np.ndarray) -> None:
        """Count a table of events."""
        block = np.searchsorted(self.edges, table["time"], side="left") - 1
        inside = (block >= 0) & (block < BLOCKS) & (table["kind"] < DRAW)
        table, block = table[inside], block[inside]
        interval = np.clip(np.searchsorted(self.time, table["time"], side="right") - 1, 0, len(self.rows) - 2)
        for k in np.unique(interval):
            own = np.flatnonzero(interval == k)
            before, after = self._unwrapped(k), self._unwrapped(k + 1)
            for one in np.unique(block[own]):
                some = own[block[own] == one]
                share = (table["time"][some] - self.time[k]) / (self.time[k + 1] - self.time[k])
                self._add_some(table[some], one, before, after - before, share[:, None])

    def _add_some(
        self, table: np.ndarray, block: int, before: np.ndarray, moved: np.ndarray, share: np.ndarray
    ) -> None:
        """Count events of one block of time, when beads have gone a share of their way from `before`."""
        center, (counts, _, missed) = self.profile.center(before), self.sums
        fixed, first, wall = self.frames.fixed, table["bead"][:, 0], table["bead"][:, 1]
        second = np.where(wall < 0, first, wall)
        place, other = (before[bead] + share * moved[bead] for bead in (first, second))
        image = fixed.edges * images_between(other - place, fixed.edges, fixed.periodic)
        way, radius = place - other + image, 0.5 * fixed.diameter[first]
        reach = radius + 0.5 * fixed.diameter[second]
        touching = place - way * (radius / reach)[:, None]
        at, _ = self.profile.placed(touching, np.zeros_like(place), center)
        for row, event in enumerate(KINDS.values()):
            [count] = self.profile.binned(at[table["kind"] == event], [None])
            counts[row, block] += count.astype(np.int64)
        length = np.sqrt(np.sum(way**2, axis=1))
        at_contact = table["kind"] == KINDS["contacts_by_bead"]
        miss = (length / reach - 1.0)[at_contact]
        missed += [len(miss), np.sum(np.rint(miss**2 / FINE).astype(np.int64))]
        normal = way / np.maximum(length, TINY)[:, None]
        side = -1 - wall
        flat = (side >= 0) & (side < SIDES)
        normal[flat] = np.vstack([np.eye(3), -np.eye(3)])[side[flat]]
        centre, passed = self._centres(before), self._centres(moved)
        arm, far = (centre[bead] + share * passed[bead] for bead in (first, second))
        line = arm - place - (far - other) + normal * np.where(at_contact, reach, length)[:, None]
        rows, axis = np.flatnonzero(flat), side[flat] % 3
        face = (fixed.origin + np.outer(side >= 3, fixed.edges))[rows, axis]
        gap = np.abs(place[rows, axis] - face) - radius[flat]
        gap[np.abs(gap) > MOST_MISSED * reach[flat]] = 0.0  # the wall has moved
        line[flat] = (arm - place)[flat] + normal[flat] * (radius[flat] + gap)[:, None]
        same = (wall >= 0) & (fixed.molecule[first] == fixed.molecule[second])
        line[same] = image[same]
        impulse = table["impulse"][:, None] * normal
        if "tangential" in (table.dtype.names or ()):
            impulse += table["tangential"]
        known = (wall >= 0) | flat
        self._spread(block, arm[known], line[known], impulse[known], center)

    def _centres(self, table: np.ndarray) -> np.ndarray:
        """Return (N, 3) the mean of each bead's molecule, weighted by mass, of a table of all beads."""
        found = np.empty_like(table)
        for kind in self.profile.kinds:
            found[kind.beads] = kind.centres(kind.positions(table))[:, None]
        return found

    def _spread(self, block: int, end: np.ndarray, line: np.ndarray, impulse: np.ndarray, center: np.ndarray) -> None:
        """Add products of impulses and lines that end at some points to the bins that the lines go through."""
        for share in (np.arange(PARTS) + 0.5) / PARTS:
            at, j = self.profile.placed(end - share * line, impulse, center)
            _, way = self.profile.placed(end - share * line, line, center)
            products = [0.5 * (j[:, a] * way[:, b] + j[:, b] * way[:, a]) for a, b in self.profile.pairs]
            sums = self.profile.binned(at, [np.rint(one / self.quantum) for one in products])
            self.sums[1][block] += np.array(sums).astype(np.int64)

    def result(self) -> list[Curve]:
        """Return the contacts per time and volume; those with walls only where there are any."""
        names = ("profile_contacts", "profile_wall_contacts")
        return [
            self._curve(name, "1 / (length^3 time)", counts)
            for name, counts in zip(names, self.sums[0], strict=True)
            if name == "profile_contacts" or counts.any()
        ]

    def pressure(self, kinetic: list[Curve]) -> list[Curve] | str:
        """Return the whole pressure from that which centres carry, of each component; or why there is none."""
        _, quanta, (met, missed) = self.sums
        miss = float(np.sqrt(FINE * missed / max(met, 1)))
        if miss > MOST_MISSED:
            return (
                f"straight lines from frame to frame miss the beads' contacts by {miss:.2g} of a diameter, more than "
                f"{MOST_MISSED:g}: frames nearer to one another"
            )
        found = []
        for number, carried in enumerate(kinetic):
            own = self._curve(
                carried.figure.replace("kinetic_", ""), carried.unit, quanta[:, number] * (self.quantum / PARTS)
            )
            error = np.hypot(own.error, carried.error)
            found.append(replace(own, value=own.value + carried.value, error=error))
        return found

    def _curve(self, name: str, unit: str, by_time: np.ndarray) -> Curve:
        """Return sums in blocks of time (BLOCKS, bins) per time and volume."""
        profile, length = self.profile, np.diff(self.edges)
        rates = by_time / profile.shells
        sums = Sums(rates, length, rates.sum(axis=0)[None], length.sum()[None])
        return Curve(name, "", unit, profile.x_name, LENGTH, profile.middles, *sums.estimate(lambda x: x))
