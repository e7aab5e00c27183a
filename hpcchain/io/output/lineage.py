"""Which parts an output file was made of: how the output of one run is told from another's.

A part names the seal of the part before it, a checkpoint that of the last part that it counts, and an output file all
those of which it was made, with the rows that it had after each. So files that are whole, but belong to another run or
another time of it, are not joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import h5py

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import files

if TYPE_CHECKING:
    from hpcchain.io.output.parts import PartHead
    from hpcchain.parallel.agreement import Communicator

FILES = {"trajectory": "frames", "observables": "reports", "events": "events"}
"""Output files, and what of a run's counters counts their rows."""
FILE_NAMES = tuple(f"{kind}.h5" for kind in FILES)
CHECKPOINTS, PARTS, GROWTH, INPUT, LOG_NAME = "checkpoints", "parts", "growth.h5", "input.toml", "run.jsonl"
"""What else there is in a run's folder."""

NAME = "lineage"
ROWS = {"trajectory": "particles/trajectory/position/time", "events": "events/time"}


@dataclass(frozen=True)
class FileHead:
    """How many frames, events or reports an output file has, and its lineage.

    `lineage` is a list of [seal, rows after it], in order.
    """

    path: Path
    rows: int
    lineage: list[object]

    def until(self, link: str, rows: int) -> FileHead:
        """Return the head of the first rows alone, which end with the part whose seal is `link`.

        Raises
        ------
        DataError
            When the file has not so many rows, or they do not end with that part.
        """
        if self.rows < rows:
            raise DataError(f"{self.path}: has {self.rows} rows where {rows} are counted on")
        for number, entry in enumerate(self.lineage, 1):
            if entry == [link, rows]:
                return replace(self, rows=rows, lineage=self.lineage[:number])
        raise DataError(f"{self.path}: is whole, but of another run, or of another time of this one")


def file_head(path: Path, kind: str, comm: Communicator | None = None) -> FileHead:
    """Return the FileHead of an output file after checking every byte of it; collective.

    Raises
    ------
    DataError
        On every rank, when the file is missing, foreign or damaged.
    """

    def read(file: h5py.File) -> FileHead:
        rows = len(files.dataset_of(file, ROWS[kind])) if kind in ROWS else int(file.attrs["reports"])
        return FileHead(Path(path), rows, files.get_json(file, NAME, list))

    return files.read_by_root(path, kind, comm, read)


def require_chain(heads: Sequence[PartHead]) -> None:
    """Raise DataError unless each part begins where the one before it ends."""
    for earlier, later in zip(heads, heads[1:], strict=False):
        if later.start != earlier.end or later.index != earlier.index + 1 or later.after != earlier.seal:
            raise DataError(
                f"{later.path}: does not begin where {earlier.path.name} ends: a part is missing, or of another run"
            )
