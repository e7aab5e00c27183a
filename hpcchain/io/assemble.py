"""Make trajectory.h5, observables.h5 and events.h5 of a run directory from the earlier files and the closed parts."""

from pathlib import Path

import numpy as np

from hpcchain.errors import DataError
from hpcchain.io import atomic, events, files, observables, rows, trajectory
from hpcchain.io.collective import barrier, root_does, together
from hpcchain.io.parts import COUNTED, list_parts, read_head, sorted_events
from hpcchain.io.provenance import collect

FILES = {"trajectory": "frames", "observables": "reports", "events": "events"}


def assemble(run_dir, comm, topology, box, counters, parts=None, provenance=None):
    """Bring a run directory's output files up to a checkpoint, then remove the parts; collective.

    Each file becomes the first rows of the earlier complete one, as many as there were before the first part, and
    the parts' rows. Killed at any moment and called again, it ends in the same files.

    Parameters
    ----------
    run_dir : path
    comm : communicator or None
    topology : Topology
    box : Box
    counters : dict
        Totals "frames", "events", "reports" that the files shall hold: those of the last checkpoint.
    parts : list of paths, optional
        Closed parts, in order; default: all in run_dir/parts.
    provenance : dict, optional
        Default: `provenance.collect(comm)`.

    Raises
    ------
    DataError
        On every rank, when a part is missing or damaged, or the earlier file is too short; nothing is changed then.
    """
    run_dir = Path(run_dir)
    if parts is None:
        parts = root_does(comm, run_dir, "listing parts", lambda: [path for _, path in list_parts(run_dir / "parts")])
    heads = [read_head(path, comm) for path in parts]
    base = {name: (heads[0].start if heads else counters).get(name, 0) for name in COUNTED}
    _check_chain(run_dir, heads, base, counters)
    provenance = provenance or collect(comm)
    for kind, counted in FILES.items():
        _assemble_one(run_dir / f"{kind}.h5", kind, base[counted], heads, topology, box, provenance, comm)
    barrier(comm)
    atomic.remove([head.path for head in heads], comm)


def _check_chain(run_dir, heads, base, counters):
    """Raise DataError unless each part begins where the one before ends and the last ends at the counters."""
    reached = base
    for head in heads:
        if head.start != reached:
            raise DataError(f"{head.path}: begins at {head.start}, but what comes before it ends at {reached}; "
                            "a part is missing: resume from an older checkpoint")
        reached = head.end
    asked = {name: int(counters.get(name, 0)) for name in COUNTED}
    if reached != asked:
        raise DataError(f"{run_dir / 'parts'}: the parts end at {reached}, the checkpoint counts {asked}; "
                        "resume from an older checkpoint")


def _assemble_one(path, kind, kept, heads, topology, box, provenance, comm):
    """Make one output file, unless it needs no change or was never asked for."""
    have = root_does(comm, path, "reading", lambda: rows_in(path, kind) if path.exists() else None)
    exists = have is not None
    if exists and have < kept:
        raise DataError(f"{path}: has {have} rows where the checkpoint counts {kept}; move it away to go on without")
    if exists and not heads and have == kept:
        return
    if kind == "events" and not exists and not any(head.log_events for head in heads):
        return
    earlier, kept = (path, kept) if exists else (None, 0)
    make = {"trajectory": _trajectory, "observables": _observables, "events": _events}[kind]
    with files.writing(path, kind, comm) as file:
        files.put_json(file, "provenance", provenance, comm)
        make(file, earlier, kept, heads, topology, box, comm)


def rows_in(path, kind):
    """Return how many frames, reports or events a complete file has."""
    with files.reading(path, kind) as file:
        if kind == "trajectory":
            return len(file[f"{trajectory.GROUP}/position/time"])
        if kind == "events":
            return len(file["events/time"])
        return int(file.attrs["reports"])


def _trajectory(file, earlier, kept, heads, topology, box, comm):
    steps, times = _clocks(earlier, kept, heads, comm)
    trajectory.create_layout(file, len(times), topology, box, comm)
    trajectory.write_clock(file, steps, times, comm)
    number = 0
    if earlier is not None:
        with files.reading(earlier, "trajectory") as source:
            names = {name: source[f"{trajectory.GROUP}/{name}/value"] for name in trajectory.VECTORS}
            for row in range(kept):
                _copy_frame(file, number, {name: (data, row) for name, data in names.items()}, comm)
                number += 1
    for head in heads:
        with files.reading(head.path, "part", checked=False) as source:
            for row in range(head.count("frames")):
                group = source[f"frames/{row:08d}"]
                _copy_frame(file, number, {name: (group[name], ()) for name in trajectory.VECTORS}, comm)
                number += 1


def _copy_frame(file, number, tables, comm):
    """Copy this rank's slab of a frame; tables: name -> (dataset, row), row () where the dataset is the frame."""
    slabs = {}
    with together(comm, file.filename, "copying a frame"):
        for name, (data, row) in tables.items():
            low, high = rows.slab(data.shape[-2], comm)
            slabs[name] = data[low:high] if row == () else data[row, low:high]
    trajectory.write_frame(file, number, slabs, comm)


def _clocks(earlier, kept, heads, comm):
    """Return the steps and times of all frames."""
    pairs = [(np.empty(0, np.int64), np.empty(0))]
    with together(comm, earlier or "parts", "reading times"):
        if earlier is not None:
            with files.reading(earlier, "trajectory") as source:
                clock = [files.get(source, f"{trajectory.GROUP}/position/{name}") for name in ("step", "time")]
                pairs.append(tuple(values[:kept] for values in clock))
        for head in heads:
            with files.reading(head.path, "part", checked=False) as source:
                pairs.append((files.get(source, "frame_step"), files.get(source, "frame_time")))
    return tuple(np.concatenate(columns) for columns in zip(*pairs, strict=True))


def _events(file, earlier, kept, heads, topology, box, comm):
    events.create_tables(file, kept + sum(head.count("events") for head in heads))
    group, done = file["events"], 0
    if earlier is not None:
        with files.reading(earlier, "events") as source:
            for low in range(0, kept, events.COPY_ROWS):
                table = None
                with together(comm, earlier, "reading events"):
                    table = _share(source["events"], low, min(low + events.COPY_ROWS, kept), comm)
                done += events.write_table(group, done, table, comm)
    for head in heads:
        done += events.write_table(group, done, sorted_events(head, comm), comm)


def _share(group, low, high, comm):
    first, last = rows.slab(high - low, comm)
    return events.read_table(group, low + first, low + last)


def _observables(file, earlier, kept, heads, topology, box, comm):
    """Join the reports by name; an observable's first report is remembered, for those that came later."""
    series, first = {}, {}
    with together(comm, file.filename, "collecting reports"):
        if earlier is not None:
            with files.reading(earlier, "observables") as source:
                for name, columns in observables.read_groups(source, observables.names_in(source)).items():
                    first[name] = int(source[name].attrs["first_report"])
                    series[name] = [[column[: max(kept - first[name], 0)]] for column in columns]
        reached = kept
        for head in heads:
            with files.reading(head.path, "part", checked=False) as source:
                names = observables.names_in(source["reports"]) if "reports" in source else []
                for name, columns in (observables.read_groups(source["reports"], names) if names else {}).items():
                    first.setdefault(name, reached)
                    for column, values in zip(series.setdefault(name, [[], [], []]), columns, strict=True):
                        column.append(values)
            reached += head.count("reports")
    file.attrs["reports"] = np.int64(reached)
    for name in sorted(series):
        for column, pieces in zip(observables.COLUMNS, series[name], strict=True):
            rows.put(file, f"{name}/{column}", np.concatenate(pieces), comm)
        file[name].attrs["first_report"] = np.int64(first[name])
