"""What a run directory holds of the output that a checkpoint counts."""

from pathlib import Path

from hpcchain.errors import DataError
from hpcchain.io.assemble import FILES, rows_in
from hpcchain.io.collective import root_does
from hpcchain.io.parts import COUNTED, list_parts, read_head
from hpcchain.io.trajectory import open_trajectory


def standing(run_dir, counters, comm=None):
    """Return the totals "frames", "events", "reports" that a run going on from a checkpoint counts from; collective.

    They are the checkpoint's, or 0 where nothing at all of the earlier output stands beside it.

    Parameters
    ----------
    run_dir : path
    counters : dict
        The checkpoint's.
    comm : communicator or None

    Raises
    ------
    DataError
        When some of the earlier output is missing or damaged: nothing could be joined to it at the end.
    """
    run_dir = Path(run_dir)
    asked = {name: int(counters.get(name, 0)) for name in COUNTED}
    have = root_does(comm, run_dir, "looking at the earlier output", lambda: file_rows(run_dir))
    listed = root_does(comm, run_dir, "listing parts", lambda: list_parts(run_dir / "parts"))
    heads = [read_head(path, comm) for number, path in listed if number < counters.get("part", 0)]
    if not heads and all(rows is None for rows in have.values()):
        return dict.fromkeys(COUNTED, 0)
    for earlier, later in zip(heads, heads[1:], strict=False):
        if earlier.end != later.start:
            raise DataError(f"{later.path}: does not begin where {earlier.path.name} ends; {advice(run_dir)}")
    if heads and heads[-1].end != asked:
        raise DataError(f"{heads[-1].path}: ends at {heads[-1].end}, the checkpoint counts {asked}; {advice(run_dir)}")
    needed = heads[0].start if heads else asked
    for kind, counted in FILES.items():
        if (have[kind] or 0) < needed[counted]:
            raise DataError(f"{run_dir / kind}.h5: has {have[kind] or 0} {counted} of the {needed[counted]} that the "
                            f"checkpoint counts on; {advice(run_dir)}")
    return asked


def file_rows(run_dir):
    """Return {kind: rows of the output file, None where there is none}; not collective."""
    paths = {kind: Path(run_dir) / f"{kind}.h5" for kind in FILES}
    return {kind: rows_in(path, kind) if path.exists() else None for kind, path in paths.items()}


def advice(run_dir):
    """Return what to do when earlier output is missing."""
    return (f"go on from an older checkpoint, restore the file, or move the .h5 files and parts out of {run_dir} to go "
            "on without them")


def is_finished(run_dir, end, comm=None):
    """Return whether a run directory's output is assembled, its last frame at the end time; collective."""
    run_dir = Path(run_dir)
    return root_does(comm, run_dir, "looking at the output", lambda: _is_finished(run_dir, end))


def _is_finished(run_dir, end):
    paths = [run_dir / f"{kind}.h5" for kind in ("trajectory", "observables")]
    if list_parts(run_dir / "parts") or not all(path.exists() for path in paths):
        return False
    with open_trajectory(paths[0]) as found:
        return len(found) > 0 and float(found.time[-1]) == end
