"""Make trajectory.h5, observables.h5 and events.h5 of a run directory from the earlier files and the closed parts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import atomic, files, slabs
from hpcchain.io.hdf5.collective import root_does, together
from hpcchain.io.output import events, lineage, trajectory
from hpcchain.io.output.lineage import FILES, PARTS, FileHead
from hpcchain.io.output.parts import list_parts, sorted_events
from hpcchain.io.output.recoverable_output import output_in, way_on
from hpcchain.io.output.run_output import Piece, Series, clock_of, joined_files, joined_reports, pieces_of
from hpcchain.io.output.trajectory import Lasting
from hpcchain.io.provenance import collect
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.agreement import barrier

if TYPE_CHECKING:
    from hpcchain.io.output.recoverable_output import RunOutput
    from hpcchain.parallel.agreement import Communicator

MANY, MOST = 16, 128
"""Parts that are joined while a run goes on once they are as large as the joined files, and however small they are."""


def is_due(run_dir: Path, comm: Communicator | None) -> bool:
    """Return whether the parts of a run that goes on are to be joined; collective, the root looks.

    Joining copies all earlier rows. Of parts as large as these it writes twice their bytes at most: what all such joins
    write grows as the output does. Smaller ones are joined once in MOST checkpoints, so that the folder stays small.
    """

    def look() -> bool:
        parts = [path for _, path in list_parts(Path(run_dir) / PARTS)]
        if not MANY <= len(parts) < MOST:
            return len(parts) >= MOST
        small, joined = (sum(path.stat().st_size for path in paths) for paths in (parts, joined_files(Path(run_dir))))
        return small >= joined

    return root_does(comm, run_dir, "looking at the output", look)


def assemble(
    run_dir: Path,
    comm: Communicator | None,
    lasting: Lasting,
    counters: Mapping[str, object],
    provenance: Mapping[str, str | int] | None = None,
) -> None:
    """Bring a run directory's output files up to a checkpoint, then remove the parts; collective.

    Each file becomes the first rows of the earlier complete one, as many as there were before the first part, and
    the parts' rows. Killed at any moment and called again, it ends in the same files.

    Parameters
    ----------
    run_dir : path
    comm : communicator or None
    lasting : Lasting
    counters : dict
        Totals "frames", "events", "reports" that the files shall hold; "part", the number of the next part; and
        "part_seal": see `lineage`.
    provenance : dict, optional
        Default: `provenance.collect(comm)`.

    Raises
    ------
    DataError
        On every rank, when a part or an earlier file is missing, damaged or of another run; nothing is changed then.
    """
    run_dir = Path(run_dir)
    found = output_in(run_dir, comm)
    try:
        output = found.rows(counters)
    except DataError as error:
        raise DataError(f"{error}; not all rows that the run has written can be joined: {way_on(run_dir)}") from error
    provenance = provenance or collect(comm)
    for kind, head in found.files.items():
        is_whole = isinstance(head, FileHead) and not output.parts and head.rows == output.kept(kind) > 0
        if not is_whole and (head is not None or kind != "events" or output.logs_events):
            _assemble_one(run_dir / f"{kind}.h5", kind, output, lasting, provenance, comm)
    barrier(comm)
    atomic.remove([head.path for head in output.parts], comm)


def _assemble_one(
    path: Path,
    kind: str,
    output: RunOutput,
    lasting: Lasting,
    provenance: Mapping[str, str | int],
    comm: Communicator | None,
) -> None:
    """Make one output file."""
    make = {"trajectory": _trajectory, "observables": _observables, "events": _events}[kind]
    earlier = output.joined[kind].lineage if output.kept(kind) else []
    with files.writing(path, kind, comm) as file:
        files.put_json(file, "provenance", provenance, comm)
        parts = [[head.seal, head.end[FILES[kind]]] for head in output.parts]
        files.put_json(file, lineage.NAME, [*earlier, *parts], comm)
        make(file, output, lasting, comm)


def _trajectory(file: h5py.File, output: RunOutput, lasting: Lasting, comm: Communicator | None) -> None:
    tables = [*trajectory.VECTORS, *lasting.turning]
    low, high = parallel_slabs.slab(lasting.topology.beads, comm)
    with ExitStack() as stack:
        pieces: list[Piece] = []
        with together(comm, file.filename, "reading times"):
            pieces += pieces_of(output, stack)
        trajectory.create_layout(file, *clock_of(pieces), lasting, comm)
        number = 0
        for piece in pieces:
            with piece.opened() as read:
                for row in range(len(piece.time)):
                    rows: dict[str, np.ndarray] = {}
                    with together(comm, file.filename, "copying a frame"):
                        rows |= {name: read(name, np.array([row]), low, high)[0] for name in tables}
                    trajectory.write_frame(file, number, rows, comm)
                    number += 1


def _events(file: h5py.File, output: RunOutput, lasting: Lasting, comm: Communicator | None) -> None:
    kept = output.kept("events")
    kind = events.TANGENTIAL if trajectory.SPIN[0] in lasting.turning else events.EVENT
    group, done = events.create_tables(file, "events", output.rows("events"), kind), 0
    if kept:
        earlier = output.joined["events"].path
        with files.reading(earlier, "events", checked=False) as source:
            for low in range(0, kept, events.COPY_ROWS):
                table = None
                with together(comm, earlier, "reading events"):
                    table = _share(source["events"], low, min(low + events.COPY_ROWS, kept), comm)
                done += events.write_table(group, done, table, comm)
    for head in output.parts:
        done += events.write_table(group, done, sorted_events(head, comm), comm)


def _share(group: h5py.Group, low: int, high: int, comm: Communicator | None) -> np.ndarray:
    first, last = parallel_slabs.slab(high - low, comm)
    return events.read_table(group, low + first, low + last)


def _observables(file: h5py.File, output: RunOutput, lasting: Lasting, comm: Communicator | None) -> None:
    """Join the reports by name; an observable's first report is remembered, for those that came later."""
    series: dict[str, list[list[np.ndarray]]] = {}
    first: dict[str, int] = {}
    with together(comm, file.filename, "collecting reports"):
        series, first = joined_reports(output)
    file.attrs["reports"] = np.int64(output.rows("observables"))
    for name in sorted(series):
        for column, pieces in zip(Series._fields, series[name], strict=True):
            slabs.put(file, f"{name}/{column}", np.concatenate(pieces), comm)
        file[name].attrs["first_report"] = np.int64(first[name])
