"""The event log: its row type, its global order, reading and assembling it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np

from hpcchain.io.hdf5 import slabs
from hpcchain.parallel.agreement import gathered, is_parallel, rank_of, size_of
from hpcchain.parallel.slabs import Way

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator


def columns_of(kind: np.dtype) -> tuple[str, ...]:
    """Return the names of the columns of a type of rows."""
    return kind.names or ()


EVENT = np.dtype([("time", np.float64), ("kind", np.uint8), ("bead", np.int64, (2,)), ("impulse", np.float64)])
"""One event: time, kind, beads (lower first; a wall is negative), normal impulse.

Kinds: 0 two beads touch, 1 a wall, 2 to 5 distances of potentials and limits (`contact.laws.step`), 6 a draw of
the thermostat.
"""

TANGENTIAL = np.dtype([*((name, EVENT[name]) for name in columns_of(EVENT)), ("tangential", np.float64, (3,))])
"""The same where contacts make beads spin, with the tangential impulse on the first bead."""

COPY_ROWS = 1 << 18
SAMPLES = 64


def kind_of(group: h5py.Group) -> np.dtype:
    """Return the type of the rows of an open log, EVENT or TANGENTIAL."""
    return TANGENTIAL if "tangential" in group else EVENT


def sorted_rows(table: np.ndarray) -> np.ndarray:
    """Return the permutation that sorts events by (time, lower bead, higher bead, kind, impulse)."""
    bead = table["bead"]
    return np.lexsort((table["impulse"], table["kind"], bead.max(axis=1), bead.min(axis=1), table["time"]))


def sort_globally(comm: Communicator | None, table: np.ndarray) -> np.ndarray:
    """Return this rank's share of all ranks' events in global order; collective.

    Rank r's share comes before rank r + 1's. Shares are cut at sampled times, so none is much larger than the mean
    unless many events have one time.
    """
    if comm is not None and is_parallel(comm):
        sample = np.sort(table["time"])[np.linspace(0, len(table) - 1, min(SAMPLES, len(table))).astype(np.int64)]
        samples = np.sort(np.concatenate(gathered(comm, sample)))
        cuts = samples[np.arange(1, size_of(comm)) * len(samples) // size_of(comm)] if len(samples) else samples
        table = Way(comm, np.searchsorted(cuts, table["time"], side="right")).sent(table)
    return table[sorted_rows(table)]


def create_tables(file: h5py.File, name: str, count: int, kind: np.dtype) -> h5py.Group:
    """Return a new group of a name with the datasets of an event log of `count` rows of a type."""
    group = file.create_group(name)
    for column in columns_of(kind):
        slabs.create(group, column, (count, *kind[column].shape), kind[column].base)
    return group


def write_table(group: h5py.Group, first: int, table: np.ndarray, comm: Communicator | None) -> int:
    """Write this rank's events behind those of lower ranks, the first of all at row `first`; return the total."""
    counts = gathered(comm, len(table))
    start = first + sum(counts[: rank_of(comm)])
    parts = []
    for name in columns_of(kind_of(group)):
        dataset = group[name]
        part = table[name] if name in columns_of(table.dtype) else np.zeros((len(table), *dataset.shape[1:]))
        parts.append(slabs.Part(dataset, (start,), part))
    slabs.write_all(parts, comm)
    return sum(counts)


def read_table(group: h5py.Group, low: int, high: int) -> np.ndarray:
    """Return the events low:high of an open log; not collective."""
    table = np.empty(max(high - low, 0), dtype=kind_of(group))
    for name in columns_of(table.dtype):
        table[name] = group[name][low:high]
    return table
