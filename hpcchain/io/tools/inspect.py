"""What is in one of our files, and where it comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import counted
from hpcchain.config.packing import bead_volume
from hpcchain.io.checkpoint.checkpoint import read_outline
from hpcchain.io.checkpoint.store import newest_valid
from hpcchain.io.growth_state import read_growth
from hpcchain.io.hdf5 import files
from hpcchain.io.output.lineage import CHECKPOINTS, FILES, GROWTH, INPUT, PARTS
from hpcchain.io.output.parts import list_parts, read_head
from hpcchain.io.output.run_output import (
    Series,
    folder_of_unjoined,
    has_output,
    open_frames,
    read_reports,
    run_output,
    series_in,
)
from hpcchain.io.output.trajectory import Trajectory, read_trajectory
from hpcchain.model.system import BOUNDARIES, OPEN

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.directors import Directors
    from hpcchain.model.system import Physics

CALLED = {"events": "events logged", "no_roots": "contacts_without_root"}
BOOKKEEPING = re.compile("part|part_seal|interval_.*|.*_quantum|.*_time")  # what a run goes on with and no reader needs


def info(path: Path | str) -> str:
    """Return a description of a run's folder, checkpoint, trajectory, observables, event log or part, a fact a line.

    Raises
    ------
    DataError
        When the file is missing, foreign or damaged.
    """
    path = folder_of_unjoined(Path(path))
    if path.is_dir():
        return _lines(_run(path))
    kind = files.kind_of(path)
    describe = {
        "checkpoint": _checkpoint,
        "trajectory": _trajectory,
        "observables": _observables,
        "events": _events,
        "part": _part,
        "growth": _growth,
    }[kind]
    facts = {"file": str(path), "kind": f"{kind}, format {files.FORMAT[kind]}", "bytes": os.path.getsize(path)}
    return _lines(facts | describe(path) | (_provenance(path) if kind in FILES else {}))


def _lines(facts: Mapping[str, object]) -> str:
    return "\n".join(f"{name + ':':<14} {value}" for name, value in facts.items() if value != "")


def _run(folder: Path) -> dict[str, object]:
    """Return what a run has put out so far, and from which checkpoint it can go on."""
    newest, refused = newest_valid(folder / CHECKPOINTS)
    growing = (folder / GROWTH).is_file() and newest is None
    facts: dict[str, object] = {"run": str(folder)}
    if growing and not list_parts(folder / PARTS):
        return facts | {"state": "its start is still growing"} | _growth(folder / GROWTH)
    if (folder / INPUT).is_file() and not has_output(folder):
        return facts | {"state": "it has written no output yet", "checkpoint": str(newest or "none")}
    output = run_output(folder)
    parts = len(output.parts)
    facts["state"] = (
        f"{counted(parts, 'part')} not yet joined: it goes on, or was killed" if parts else "its output is joined"
    )
    if output.has("trajectory"):
        with open_frames(output) as frames:
            facts |= {"frames": f"{len(frames)}, {_span(frames.time)}"} | _beads(frames.fixed)
    facts |= _reports(dict(sorted(read_reports(output).items())))
    if output.logs_events:
        facts["events"] = output.rows("events")
    facts["checkpoint"] = str(newest or "none")
    facts |= {f"not whole {number + 1}": why for number, (_, why) in enumerate(refused)}
    return facts


def _beads(found: Trajectory) -> dict[str, object]:
    """Return what a trajectory says of its beads and box."""
    return {
        "box": _numbers(found.edges),
        "beads": len(found.species),
        "bonds": len(found.bonds),
        "bead types": ", ".join(found.names),
        **_packing(np.pi / 6.0 * float(np.sum(found.diameter**3)), found.edges, found.bounded),
    }


def _checkpoint(path: Path | str) -> dict[str, object]:
    found = read_outline(path)
    composition, box = found.system.topology, found.system.box
    boundary = " ".join(BOUNDARIES[int(kind)] for kind in box.boundary)
    facts = {
        "time": repr(found.time),
        "box": f"{_numbers(box.size)} from {_numbers(box.origin)}, {boundary}",
        "beads": composition.beads,
        "bonds": composition.count("bonds"),
        "molecules": f"{composition.molecules} ({_kinds(composition)})",
        **_packing(bead_volume(found.config.molecules), box.size, not np.any(box.boundary == OPEN)),
        "propagator": _propagators(composition, found.system.physics),
    }
    if found.system.directors is not None:
        facts["directors"] = _directors(composition, found.system.directors)
    facts |= {
        f"total {CALLED.get(name, name)}": value
        for name, value in sorted(found.counters.items())
        if not BOOKKEEPING.fullmatch(name)
    }
    return facts | found.provenance


def _packing(volume: float, size: np.ndarray, bounded: bool) -> dict[str, object]:
    """Return the packing fraction of spheres of a volume as a fact; none where nothing bounds the box."""
    box_volume = float(np.prod(size))
    return {"packing": f"fraction {volume / box_volume:.6g}"} if bounded and box_volume > 0.0 else {}


def _kinds(composition: Composition) -> str:
    counts = dict.fromkeys(composition.names, 0)  # sizes of one kind share its name
    for kind, copies in zip(composition.prototypes.kind.tolist(), composition.copies.tolist(), strict=True):
        counts[composition.names[kind]] += copies
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _propagators(topology: Composition, physics: Physics) -> str:
    """Return the propagator, or, where kinds have their own, that of each kind."""
    if not physics.kinds:
        return physics.propagator
    return ", ".join(dict.fromkeys(f"{name} {physics.of(kind).propagator}" for kind, name in enumerate(topology.names)))


def _directors(composition: Composition, directors: Directors) -> str:
    """Return which kinds carry an orientation, with their moment of inertia and how they turn."""
    each = zip(composition.names, directors.moment.tolist(), directors.step.tolist(), strict=True)
    texts = [
        f"{name} (moment {moment!r}, {f'null-space steps of {step!r}' if step else 'exact'})"
        for name, moment, step in each
        if moment > 0.0
    ]
    return ", ".join(dict.fromkeys(texts))


def _trajectory(path: Path | str) -> dict[str, object]:
    found = read_trajectory(path)
    facts = {"frames": len(found), "times": _span(found.time), **_beads(found)}
    if found.moment_of_inertia is not None and found.angular_velocity is None:
        facts["spins"] = f"angular velocities{' and orientations' * found.turns} of each frame"
    elif found.moment_of_inertia is not None:
        facts["directors"] = f"orientation and spin of {counted(int((found.moment_of_inertia > 0.0).sum()), 'bead')}"
    return facts


def _observables(path: Path | str) -> dict[str, object]:
    with files.reading(path, "observables", checked=False) as file:
        return _reports(series_in(file))


def _reports(series: Mapping[str, Series]) -> dict[str, object]:
    """Return how many reports of each observable there are, and from when to when."""
    return {
        name: f"{counted(len(value), 'report')}{f' of {list(value.shape[1:])}' * (value.ndim > 1)}, {_span(time)}"
        for name, (_, time, value) in series.items()
    }


def _events(path: Path | str) -> dict[str, object]:
    with files.reading(path, "events", checked=False) as file:
        time, kind = files.get(file, "events/time"), files.get(file, "events/kind")
    return {
        "events": len(time),
        "bead-bead": int((kind == 0).sum()),
        "wall": int((kind == 1).sum()),
        "times": _span(time),
    }


def _part(path: Path | str) -> dict[str, object]:
    head = read_head(Path(path))
    return {"part": head.index} | {name: f"{head.count(name)} after {head.start[name]}" for name in sorted(head.start)}


def _growth(path: Path | str) -> dict[str, object]:
    state, _ = read_growth(Path(path))
    return {"beads": len(state.position), "grown to": f"{state.size:.6g} of full size"}


def _provenance(path: Path | str) -> dict[str, object]:
    with files.reading(path, None, checked=False) as file:
        return files.get_json(file, "provenance", dict)


def _span(times: np.ndarray) -> str:
    return f"time {float(times[0])!r} to {float(times[-1])!r}" if len(times) else "none"


def _numbers(values: np.ndarray) -> str:
    return " x ".join(f"{float(value)!r}" for value in values)
