"""Which rank solves what: contacts that hang together are solved once, by one of the ranks that own their molecules.

What hangs together on one rank is solved there. A group across ranks is solved by the rank that has most of its
contacts, the lowest of several. Owners send it the molecules, and it sends back what it has found. Meanwhile others
solve their own groups, and then wait asleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.molecules.exclusion import component_of
from hpcchain.steps.contacts.clusters import ROW, pool_of, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpcchain.model.composition import Composition
    from hpcchain.parallel.agreement import Ranks
    from hpcchain.steps.contacts.clusters import Pool

NO_RANK = -1
"""Solves what only links join: there is no contact."""


class Sharing:
    """Deals contacts out to ranks, which solve them.

    Parameters
    ----------
    composition : Composition
    comm : Ranks
    """

    def __init__(self, composition: Composition, comm: Ranks) -> None:
        self.composition, self.comm = composition, comm

    def solved(self, pool: Pool, pairs: np.ndarray, solve: Callable, table: Callable) -> tuple[list, list]:
        """Solve what is this rank's to solve, and return what that gives and what becomes of beads; collective.

        Parameters
        ----------
        pool : Pool
            Own molecules.
        pairs : (n, 2) int64 array
            Contacts of own beads; others may be among them.
        solve : callable
            Of a Pool and its contacts.
        table : callable
            Of what `solve` returns: (m, w) float64 array, rows of the Pool's beads, the same w on all ranks.

        Returns
        -------
        list, list of ((m,) int64 array, (m, w) float64 array)
            What `solve` has returned. Beads and their rows: own ones and, of groups that are solved here, others.
        """
        links = pool.links
        crossing, across = np.zeros(len(pairs), dtype=bool), np.zeros(len(links), dtype=bool)
        if self.comm.size > 1:
            here, label = self._labelled(pairs, links)
            foreign = np.unique(label[~np.isin(here, pool.molecules)])
            crossing, across = (np.isin(self._label(one, here, label), foreign) for one in (pairs, links))
        inner = pool.part(np.searchsorted(pool.molecules, self._molecules(pairs[~crossing])), links[~across])
        parts = [(inner, pairs[~crossing])] if len(inner.molecules) else []
        if self.comm.maximum(np.array([float(crossing.any())]))[0] == 0.0:
            return solved_parts(parts, solve, table)
        sent, received = self._deal(pool, parts, self.comm.allgather((pairs[crossing], links[across])))
        done, rows = solved_parts(parts, solve, table)
        leaving = {rank: rows[-1][1][which].ravel() for rank, which in sent.items()}
        found = self.comm.exchange_known(leaving, sorted(received), asleep=True)
        rows += [(received[rank], values.reshape(len(received[rank]), -1)) for rank, values in found.items()]
        return done, rows

    def _deal(self, pool: Pool, parts: list, named: list) -> tuple[dict, dict]:
        """Deal out contacts and links that ranks have named, add what is solved here to `parts`; collective.

        Returns
        -------
        dict of rank -> (s,) int64 array, dict of rank -> (r,) int64 array
            Which beads of the last part, by their rows, a rank owns; own beads, by global number, of groups that a rank
            solves.
        """
        every, joined = (together(*(one[k] for one in named)) for k in (0, 1))
        here, label = self._labelled(every, joined)
        least = np.unique(label)
        counts = np.zeros((self.comm.size, len(least)), dtype=np.int64)
        for rank, (pairs, _) in enumerate(named):
            np.add.at(counts[rank], np.searchsorted(least, self._label(pairs, here, label)), 1)
        solver = np.where(counts.any(axis=0), np.argmax(counts, axis=0), NO_RANK)[np.searchsorted(least, label)]
        mine = np.isin(here, pool.molecules)
        width, kept = ROW + pool.extra.shape[1], np.zeros((0, 0))
        leaving, sent, received = {}, {}, {}
        for rank in np.unique(solver[mine & (solver != NO_RANK)]).tolist():
            rows = pool.packed(np.searchsorted(pool.molecules, here[mine & (solver == rank)]))
            if rank == self.comm.rank:
                kept = rows
            else:
                leaving[rank], received[rank] = rows.ravel(), rows[:, 0].astype(np.int64)
        come = self.comm.exchange_unknown(leaving)
        come = {rank: come[rank].reshape(-1, width) for rank in sorted(come)}
        chosen, linked = (self._label(one, here, solver) == self.comm.rank for one in (every, joined))
        if chosen.any():
            rows = np.concatenate([kept.reshape(-1, width), *come.values()])
            whole = pool_of(self.composition, rows, joined[linked])
            parts.append((whole, every[chosen]))
            sent = {rank: np.searchsorted(whole.ids, rows[:, 0].astype(np.int64)) for rank, rows in come.items()}
        return sent, received

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


def solved_parts(parts: list, solve: Callable, table: Callable) -> tuple[list, list]:
    """Return what `solve` returns of each Pool and its contacts, and its beads with their rows."""
    done = [solve(*one) for one in parts]
    return done, [(pool.ids, table(one)) for (pool, _), one in zip(parts, done, strict=True)]
