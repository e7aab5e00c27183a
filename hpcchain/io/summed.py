"""Tables of a checkpoint with a checksum for each block of rows, taken from memory as they were written; collective."""

import numpy as np

from hpcchain.errors import DataError
from hpcchain.io import files, rows
from hpcchain.io.checkpoint_layout import check_table
from hpcchain.io.collective import agree


def put_summed(file, name, count, part, comm):
    """Write this rank's slab of a table of `count` rows, and the checksums of its blocks."""
    rows.put_slab(file, name, count, part, comm)
    rows.put(file, f"checksum/{name}", rows.all_block_sums(part, comm), comm)


def get_summed(file, name, kind, columns, count, comm):
    """Return this rank's slab of a table after checking its type, shape and block checksums.

    Parameters
    ----------
    file : h5py.File
    name : str
    kind, columns, count :
        See `check_table`.
    comm : communicator or None

    Raises
    ------
    DataError
        On every rank.
    """
    dataset = files.dataset_of(file, name)
    check_table(dataset, kind, columns, count)
    low, high = rows.slab(len(dataset), comm)
    part = rows.read_at(dataset, (low, *[0] * (dataset.ndim - 1)), (high - low, *dataset.shape[1:]), comm)
    stored = files.get(file, f"checksum/{name}", comm)
    mine = stored[low // rows.BLOCK : -(-high // rows.BLOCK)] if high > low else stored[:0]
    same = np.array_equal(rows.block_sums(part), mine)
    agree(comm, None if same else DataError(f"{file.filename}: {name} was not written correctly; use an older one"))
    return part.astype(bool) if kind is np.bool_ else part
