"""Contacts from their log: of each bead along its molecule, and where they are along a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import LENGTH
from hpcchain.analysis.statistics import BLOCKS, Sums
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.figures.profile import Profile
    from hpcchain.analysis.kinds import Kind
    from hpcchain.io.output.run_output import Frames

KINDS = {"contacts_by_bead": 0, "wall_contacts_by_bead": 1}
"""Curve, and the kind of event that it counts."""


class ContactCounts:
    """How often the beads of each number in a molecule touch others, per time; whole counts, so sums are exact.

    Parameters
    ----------
    kinds : list of Kind
    times : (float, float)
        Events after the first and up to the last are counted [time].
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
        self.by_time = [np.zeros((len(KINDS), BLOCKS, kind.size), dtype=np.int64) for kind in kinds]
        self.by_group = [np.zeros((len(KINDS), len(kind.molecules), kind.size), dtype=np.int64) for kind in kinds]

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
                np.add.at(self.by_time[number][row], (when[own], in_molecule), 1)
                np.add.at(self.by_group[number][row], (self._group[beads[own]], in_molecule), 1)

    def join(self, counts: list) -> None:
        """Add the counts of others, each (by_time, by_group)."""
        for by_time, by_group in counts:
            for mine, theirs in zip(self.by_time + self.by_group, by_time + by_group, strict=True):
                mine += theirs

    def result(self) -> list[Value | Curve]:
        """Return the contacts per time of the bead of each number; those with walls only where there are any."""
        found: list[Value | Curve] = []
        length = np.diff(self.edges)
        for number, kind in enumerate(self.kinds):
            for row, name in enumerate(KINDS):
                by_time, by_group = self.by_time[number][row], self.by_group[number][row]
                if row == 0 or by_time.any():
                    weight = length * len(kind.beads)
                    sums = Sums(by_time.astype(float), weight, by_group.astype(float), kind.molecules * length.sum())
                    value, error = sums.estimate(lambda x: x)
                    in_molecule = np.arange(float(kind.size))
                    found.append(Curve(name, kind.name, "1 / time", "bead", "", in_molecule, value, error))
        return found


class ContactPlaces:
    """How many contacts there are in the bins of a profile, per time and volume; whole counts, so sums are exact.

    Beads are taken where straight lines from frame to frame lead, and a contact between two where they touch.

    Parameters
    ----------
    profile : Profile
    frames : Frames
    rows : (F,) int64 array
        Those from whose first to whose last contacts are counted, two at least.
    """

    def __init__(self, profile: Profile, frames: Frames, rows: np.ndarray) -> None:
        self.profile, self.frames, self.rows = profile, frames, rows
        self.time = frames.time[rows]
        self.edges = np.linspace(self.time[0], self.time[-1], BLOCKS + 1)
        self.counts = np.zeros((len(KINDS), BLOCKS, profile.along.bins), dtype=np.int64)

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
        inside = (block >= 0) & (block < BLOCKS) & (table["kind"] <= max(KINDS.values()))
        table, block = table[inside], block[inside]
        interval = np.clip(np.searchsorted(self.time, table["time"], side="right") - 1, 0, len(self.rows) - 2)
        for k in np.unique(interval):
            own = np.flatnonzero(interval == k)
            before, after = self._unwrapped(k), self._unwrapped(k + 1)
            share = (table["time"][own] - self.time[k]) / (self.time[k + 1] - self.time[k])
            place = self._places(table["bead"][own], before, after - before, share[:, None])
            at, _ = self.profile.placed(place, np.zeros_like(place), self.profile.center(before))
            for row, event in enumerate(KINDS.values()):
                chosen = table["kind"][own] == event
                for one in np.unique(block[own][chosen]):
                    [count] = self.profile.binned(at[chosen & (block[own] == one)], [None])
                    self.counts[row, one] += count.astype(np.int64)

    def _places(self, bead: np.ndarray, before: np.ndarray, moved: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return where contacts are, (n, 3), when beads have gone a share of their way: of walls the bead's centre."""
        first, fixed = bead.max(axis=1), self.frames.fixed
        second = np.where(bead.min(axis=1) >= 0, bead.min(axis=1), first)
        place = before[first] + share * moved[first]
        way = before[second] + share * moved[second] - place
        way -= np.where(fixed.periodic, fixed.edges, 0.0) * np.round(way / fixed.edges)
        radius, other = fixed.diameter[first], fixed.diameter[second]
        return place + way * (radius / (radius + other))[:, None]

    def result(self) -> list[Value | Curve]:
        """Return the contacts per time and volume; those with walls only where there are any."""
        found: list[Value | Curve] = []
        length, profile = np.diff(self.edges), self.profile
        for name, counts in zip(("profile_contacts", "profile_wall_contacts"), self.counts, strict=True):
            if name == "profile_contacts" or counts.any():
                rates = counts / profile.shells
                sums = Sums(rates, length, rates.sum(axis=0)[None], length.sum()[None])
                unit = "1 / (length^3 time)"
                estimate = sums.estimate(lambda x: x)
                found.append(Curve(name, "", unit, profile.x_name, LENGTH, profile.middles, *estimate))
        return found
