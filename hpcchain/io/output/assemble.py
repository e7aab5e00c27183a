"""Make trajectory.h5, observables.h5 and events.h5 of a run directory from the earlier files and the closed parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import h5py
import numpy as np

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import atomic, files, slabs
from hpcchain.io.hdf5.collective import root_does, together
from hpcchain.io.output import events, lineage, trajectory
from hpcchain.io.output.inventory import way_on
from hpcchain.io.output.lineage import FILES, file_head, require_chain
from hpcchain.io.output.parts import COUNTED, counts_in, list_parts, read_head, seal_in, sorted_events
from hpcchain.io.output.run_output import COLUMNS, joined_files, joined_reports
from hpcchain.io.provenance import collect
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.agreement import barrier

if TYPE_CHECKING:
    from hpcchain.io.output.parts import PartHead
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, Topology
    from hpcchain.parallel.agreement import Communicator

MANY, MOST = 16, 128
"""Parts that are joined while a run goes on once they are as large as the joined files, and however small they are."""


def is_due(run_dir: Path, comm: Communicator | None) -> bool:
    """Return whether the parts of a run that goes on are to be joined; collective, the root looks.

    Joining copies all earlier rows. Of parts as large as these it writes twice their bytes at most: what all such joins
    write grows as the output does. Smaller ones are joined once in MOST checkpoints, so that the folder stays small.
    """
    return root_does(comm, run_dir, "looking at the output", lambda: _is_due(Path(run_dir)))


def _is_due(run_dir: Path) -> bool:
    parts = [path for _, path in list_parts(run_dir / "parts")]
    if len(parts) < MANY:
        return False
    return len(parts) >= MOST or _bytes(parts) >= _bytes(joined_files(run_dir))


def _bytes(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def assemble(
    run_dir: Path,
    comm: Communicator | None,
    topology: Composition | Topology,
    box: Box,
    counters: Mapping[str, object],
    provenance: Mapping[str, str | int] | None = None,
    spin: trajectory.Spin | None = None,
) -> None:
    """Bring a run directory's output files up to a checkpoint, then remove the parts; collective.

    Each file becomes the first rows of the earlier complete one, as many as there were before the first part, and
    the parts' rows. Killed at any moment and called again, it ends in the same files.

    Parameters
    ----------
    run_dir : path
    comm : communicator or None
    topology : Topology or Composition
    box : Box
    counters : dict
        Totals "frames", "events", "reports" that the files shall hold, and "part_seal": see `lineage`.
    provenance : dict, optional
        Default: `provenance.collect(comm)`.
    spin : dict of name -> array, optional
        Of spheres with directors, see `trajectory.create_layout`.

    Raises
    ------
    DataError
        On every rank, when a part or an earlier file is missing, damaged or of another run; nothing is changed then.
    """
    run_dir = Path(run_dir)
    parts = root_does(comm, run_dir, "listing parts", lambda: [path for _, path in list_parts(run_dir / "parts")])
    try:
        heads = [read_head(path, comm) for path in parts]
        plans = _plans(run_dir, heads, counters, comm)
    except DataError as error:
        raise DataError(f"{error}; not all rows that the run has written can be joined: {way_on(run_dir)}") from error
    provenance = provenance or collect(comm)
    for plan in plans:
        if plan is not None:
            _assemble_one(plan, heads, Lasting(topology, box, spin), provenance, comm)
    barrier(comm)
    atomic.remove([head.path for head in heads], comm)


def _plans(
    run_dir: Path, heads: list[PartHead], counters: Mapping[str, object], comm: Communicator | None
) -> list[Plan | None]:
    """Return the Plan of each output file, or None for it, once all rows are found that the counters count.

    Raises
    ------
    DataError
        Unless each part begins where the one before it ends, the last ends at the counters, and the earlier files have
        all rows from before the first.
    """
    asked, seal = counts_in(counters), seal_in(counters)
    base = heads[0].start if heads else asked
    require_chain(heads)
    reached = heads[-1].end if heads else base
    if reached != asked:
        raise DataError(
            f"{run_dir / 'parts'}: the last part ends at {_counts(reached)} where {_counts(asked)} have "
            "been written: a part is missing"
        )
    if heads and seal != heads[-1].seal:
        raise DataError(f"{heads[-1].path}: is whole, but not the part that the run has written")
    link = heads[0].after if heads else seal
    first = heads[0].path.name if heads else "the next part"
    return [
        _plan(run_dir / f"{kind}.h5", kind, base[counted], link, heads, first, comm) for kind, counted in FILES.items()
    ]


def _counts(counters: Mapping[str, int]) -> str:
    return ", ".join(f"{counters[name]} {name}" for name in COUNTED)


@dataclass(frozen=True)
class Plan:
    """An output file to be made: of which kind, and of how many rows of an earlier one with which lineage."""

    path: Path
    kind: str
    kept: int
    lineage: list[object]

    @property
    def earlier(self) -> Path | None:
        """Return the file that rows are taken from, or None."""
        return self.path if self.kept else None


def _plan(
    path: Path, kind: str, kept: int, link: str, heads: list[PartHead], first: str, comm: Communicator | None
) -> Plan | None:
    """Return the Plan of one output file, None if it needs no change or was never asked for; collective."""
    # The `kept` rows from before part `first` must be in the file as it is now.
    exists = root_does(comm, path, "looking for it", path.exists)
    if not exists and kept:
        raise DataError(
            f"{path.parent}: parts are missing, or {path.name}: the first {kept} {FILES[kind]}, before "
            f"{first}, are nowhere"
        )
    if not exists:
        wanted = kind != "events" or any(head.log_events for head in heads)
        return Plan(path, kind, 0, []) if wanted else None
    if not kept:
        return Plan(path, kind, 0, [])
    earlier = file_head(path, kind, comm)
    history = earlier.until(link, kept)
    return None if not heads and earlier.rows == kept else Plan(path, kind, kept, history)


class Lasting(NamedTuple):
    """What does not change with time."""

    topology: Composition | Topology
    box: Box
    spin: trajectory.Spin | None


def _assemble_one(
    plan: Plan,
    heads: list[PartHead],
    lasting: Lasting,
    provenance: Mapping[str, str | int],
    comm: Communicator | None,
) -> None:
    """Make one output file."""
    make = {"trajectory": _trajectory, "observables": _observables, "events": _events}[plan.kind]
    with files.writing(plan.path, plan.kind, comm) as file:
        files.put_json(file, "provenance", provenance, comm)
        lineage.put(file, plan.lineage, heads, FILES[plan.kind], comm)
        make(file, plan.earlier, plan.kept, heads, lasting, comm)


def _trajectory(
    file: h5py.File, earlier: Path | None, kept: int, heads: list[PartHead], lasting: Lasting, comm: Communicator | None
) -> None:
    topology, box, spin = lasting
    steps, times = _clocks(earlier, kept, heads, comm)
    trajectory.create_layout(file, len(times), topology, box, comm, spin)
    trajectory.write_clock(file, steps, times, comm)
    tables = [*trajectory.VECTORS, *trajectory.turning_tables(spin)]
    number = 0
    if earlier is not None:
        with files.reading(earlier, "trajectory", checked=False) as source:
            found = {name: source[f"{trajectory.GROUP}/{name}/value"] for name in tables}
            for row in range(kept):
                _copy_frame(file, number, {name: Row(data, row) for name, data in found.items()}, comm)
                number += 1
    for head in heads:
        with files.reading(head.path, "part", checked=False) as source:
            for row in range(head.count("frames")):
                group = source[f"frames/{row:08d}"]
                _copy_frame(file, number, {name: Row(group[name], None) for name in tables}, comm)
                number += 1


class Row(NamedTuple):
    """A row of a dataset; None: all of it."""

    data: h5py.Dataset
    number: int | None


def _copy_frame(file: h5py.File, number: int, tables: Mapping[str, Row], comm: Communicator | None) -> None:
    """Copy this rank's slab of a frame."""
    rows = {}
    with together(comm, file.filename, "copying a frame"):
        for name, (data, row) in tables.items():
            low, high = parallel_slabs.slab(data.shape[-2], comm)
            rows[name] = data[low:high] if row is None else data[row, low:high]
    trajectory.write_frame(file, number, rows, comm)


def _clocks(
    earlier: Path | None, kept: int, heads: list[PartHead], comm: Communicator | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps and times of all frames."""
    pairs = [(np.empty(0, np.int64), np.empty(0))]
    with together(comm, earlier or "parts", "reading times"):
        if earlier is not None:
            with files.reading(earlier, "trajectory", checked=False) as source:
                step, time = (files.get(source, f"{trajectory.GROUP}/position/{name}") for name in ("step", "time"))
                pairs.append((step[:kept], time[:kept]))
        for head in heads:
            with files.reading(head.path, "part", checked=False) as source:
                pairs.append((files.get(source, "frame_step"), files.get(source, "frame_time")))
                if {len(column) for column in pairs[-1]} != {head.count("frames")}:
                    raise DataError(f"{head.path}: does not hold the {head.count('frames')} frames that it counts")
    steps, times = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    return steps, times


def _events(
    file: h5py.File, earlier: Path | None, kept: int, heads: list[PartHead], lasting: Lasting, comm: Communicator | None
) -> None:
    spin = lasting.spin
    kind = events.EVENT if spin is None or "angular_velocity" in spin else events.TANGENTIAL
    events.create_tables(file, kept + sum(head.count("events") for head in heads), kind)
    group, done = file["events"], 0
    if earlier is not None:
        with files.reading(earlier, "events", checked=False) as source:
            for low in range(0, kept, events.COPY_ROWS):
                table = None
                with together(comm, earlier, "reading events"):
                    table = _share(source["events"], low, min(low + events.COPY_ROWS, kept), comm)
                done += events.write_table(group, done, table, comm)
    for head in heads:
        done += events.write_table(group, done, sorted_events(head, comm), comm)


def _share(group: h5py.Group, low: int, high: int, comm: Communicator | None) -> np.ndarray:
    first, last = parallel_slabs.slab(high - low, comm)
    return events.read_table(group, low + first, low + last)


def _observables(
    file: h5py.File, earlier: Path | None, kept: int, heads: list[PartHead], lasting: Lasting, comm: Communicator | None
) -> None:
    """Join the reports by name; an observable's first report is remembered, for those that came later."""
    series: dict[str, list[list[np.ndarray]]] = {}
    first: dict[str, int] = {}
    with together(comm, file.filename, "collecting reports"):
        series, first = joined_reports(earlier, kept, heads)
    reached = kept + sum(head.count("reports") for head in heads)
    file.attrs["reports"] = np.int64(reached)
    for name in sorted(series):
        for column, pieces in zip(COLUMNS, series[name], strict=True):
            slabs.put(file, f"{name}/{column}", np.concatenate(pieces), comm)
        file[name].attrs["first_report"] = np.int64(first[name])
