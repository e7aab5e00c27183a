"""Which rank solves what: contacts that hang together are solved once, by one of the ranks that own their molecules.

What hangs together on one rank is solved there. A group across ranks is solved by the rank that has most of its
contacts, the lowest of several. Owners send it the molecules, and it sends back what it has found. Meanwhile others
solve their own groups, and then wait asleep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.molecules.exclusion import component_of
from hpcchain.steps.contacts.clusters import ROW, pool_of, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpcchain.model.composition import Composition
    from hpcchain.steps.contacts.clusters import Pool

NO_RANK = -1
"""Solves what only links join: there is no contact."""


@dataclass
class Share:
    """What a rank solves, and which ranks it sends the outcome to or receives it from.

    Attributes
    ----------
    comm : Exchange
    here : list of (Pool, (n, 2) int64 array)
        Molecules and contacts that are solved here: those of own molecules alone, then those of groups across ranks.
    across : bool
        Whether any rank has groups across ranks.
    sent : dict of rank -> (s,) int64 array
        Which beads of the last Pool here, by their rows, a rank owns.
    received : dict of rank -> (r,) int64 array
        Own beads, by global number, of groups that a rank solves.
    """

    comm: Any
    here: list
    across: bool = False
    sent: dict = field(default_factory=dict)
    received: dict = field(default_factory=dict)

    def solved(self, solve: Callable, table: Callable) -> tuple[list, list]:
        """Solve what is to be solved here, and return what that gives and what becomes of beads; collective.

        Parameters
        ----------
        solve : callable
            Of a Pool and its contacts.
        table : callable
            Of what `solve` returns: (m, w) float64 array, rows of the Pool's beads, the same w on all ranks.

        Returns
        -------
        list, list of ((m,) int64 array, (m, w) float64 array)
            What `solve` has returned. Beads and their rows: own ones and, of groups that are solved here, others.
        """
        done = [solve(*one) for one in self.here]
        rows = [(pool.ids, table(one)) for (pool, _), one in zip(self.here, done, strict=True)]
        if self.across:
            leaving = {rank: rows[-1][1][which].ravel() for rank, which in self.sent.items()}
            found = self.comm.exchange_known(leaving, sorted(self.received), asleep=True)
            rows += [
                (self.received[rank], values.reshape(len(self.received[rank]), -1)) for rank, values in found.items()
            ]
        return done, rows


class Sharing:
    """Deals contacts out to ranks.

    Parameters
    ----------
    composition : Composition
    comm : Exchange
    """

    def __init__(self, composition: Composition, comm: Any) -> None:
        self.composition, self.comm = composition, comm

    def share(self, pool: Pool, pairs: np.ndarray) -> Share:
        """Return the Share of a rank; collective.

        Parameters
        ----------
        pool : Pool
            Own molecules.
        pairs : (n, 2) int64 array
            Contacts of own beads; others may be among them.
        """
        links = pool.links
        crossing, across = np.zeros(len(pairs), dtype=bool), np.zeros(len(links), dtype=bool)
        if self.comm.size > 1:
            here, label = self._labelled(pairs, links)
            foreign = np.unique(label[~np.isin(here, pool.molecules)])
            crossing, across = (np.isin(self._label(one, here, label), foreign) for one in (pairs, links))
        inner = pool.part(np.searchsorted(pool.molecules, self._molecules(pairs[~crossing])), links[~across])
        found = [(inner, pairs[~crossing])] if len(inner.molecules) else []
        flag = np.array([float(crossing.any())])
        if self.comm.size == 1 or self.comm.maximum(flag)[0] == 0.0:
            return Share(self.comm, found)
        return self._dealt(pool, found, self.comm.allgather((pairs[crossing], links[across])))

    def _dealt(self, pool: Pool, found: list, named: list) -> Share:
        """Return the Share of a rank that solves `found` alone; ranks have named contacts and links; collective."""
        every, joined = (together(*(one[k] for one in named)) for k in (0, 1))
        here, label = self._labelled(every, joined)
        least = np.unique(label)
        counts = np.zeros((self.comm.size, len(least)), dtype=np.int64)
        for rank, (pairs, _) in enumerate(named):
            np.add.at(counts[rank], np.searchsorted(least, self._label(pairs, here, label)), 1)
        solver = np.where(counts.any(axis=0), np.argmax(counts, axis=0), NO_RANK)[np.searchsorted(least, label)]
        mine = np.isin(here, pool.molecules)
        width, kept, share = ROW + pool.extra.shape[1], np.zeros((0, 0)), Share(self.comm, found, True)
        leaving = {}
        for rank in np.unique(solver[mine & (solver != NO_RANK)]).tolist():
            rows = pool.packed(np.searchsorted(pool.molecules, here[mine & (solver == rank)]))
            if rank == self.comm.rank:
                kept = rows
            else:
                leaving[rank], share.received[rank] = rows.ravel(), rows[:, 0].astype(np.int64)
        come = self.comm.exchange_unknown(leaving)
        come = {rank: come[rank].reshape(-1, width) for rank in sorted(come)}
        chosen, linked = (self._label(one, here, solver) == self.comm.rank for one in (every, joined))
        if chosen.any():
            rows = np.concatenate([kept.reshape(-1, width), *come.values()])
            whole = pool_of(self.composition, rows, joined[linked])
            found.append((whole, every[chosen]))
            share.sent = {rank: np.searchsorted(whole.ids, rows[:, 0].astype(np.int64)) for rank, rows in come.items()}
        return share

    def _molecules(self, pairs: np.ndarray) -> np.ndarray:
        return np.unique(self.composition.molecule_of(pairs[pairs >= 0]))

    def _labelled(self, pairs: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the molecules of contacts, ascending, and for each the least that it hangs together with."""
        joined = np.concatenate([pairs, links])
        here = self._molecules(joined)
        one = np.searchsorted(here, self.composition.molecule_of(joined[:, 0]))
        other = np.searchsorted(here, self.composition.molecule_of(np.maximum(joined[:, 1], 0)))
        return here, component_of(len(here), np.column_stack([one, np.where(joined[:, 1] < 0, one, other)]))

    def _label(self, pairs: np.ndarray, here: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Return what the molecules of contacts or links have (n,), of `label` of the molecules `here`."""
        return label[np.searchsorted(here, self.composition.molecule_of(pairs[:, 0]))]
