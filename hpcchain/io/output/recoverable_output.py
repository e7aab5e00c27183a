"""What a run directory holds of the output that a checkpoint counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hpcchain.errors import DataError
from hpcchain.io.checkpoint.layout import whole
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.output.lineage import FILES, FileHead, file_head, require_chain
from hpcchain.io.output.parts import COUNTED, counts_in, list_parts, read_head, seal_in
from hpcchain.io.output.trajectory import open_trajectory

if TYPE_CHECKING:
    from hpcchain.io.output.parts import PartHead
    from hpcchain.parallel.agreement import Communicator


Head = TypeVar("Head", "FileHead", "PartHead")


@dataclass(frozen=True)
class Output:
    """The output in a run directory: of each file and part the head, the DataError that it gave, or None: not there.

    Attributes
    ----------
    files : dict of kind -> FileHead, DataError or None
    parts : list of (index, PartHead or DataError)
    """

    files: dict[str, FileHead | DataError | None]
    parts: list[tuple[int, PartHead | DataError]]

    def problems(self) -> list[DataError]:
        """Return the DataErrors."""
        found = [*self.files.values(), *(head for _, head in self.parts)]
        return [head for head in found if isinstance(head, DataError)]


def inventory(run_dir: Path | None, comm: Communicator | None = None) -> Output:
    """Return the Output in a run directory after checking every byte of it; None: an empty one; collective."""
    if run_dir is None:
        return Output(dict.fromkeys(FILES), [])
    run_dir = Path(run_dir)
    paths = {kind: run_dir / f"{kind}.h5" for kind in FILES}
    there = root_does(comm, run_dir, "looking at the output", lambda: {k for k, p in paths.items() if p.exists()})
    listed = root_does(comm, run_dir, "listing parts", lambda: list_parts(run_dir / "parts"))
    heads = {kind: _tried(file_head, path, kind, comm) if kind in there else None for kind, path in paths.items()}
    return Output(heads, [(number, _tried(read_head, path, comm)) for number, path in listed])


def _tried(read: Callable[..., Head], *args: object) -> DataError | Head:
    """Return what a reading function returns, or the DataError that it raises."""
    try:
        return read(*args)
    except DataError as error:
        return error


def recoverable_counts(output: Output, counters: Mapping[str, object]) -> dict[str, int | str]:
    """Return what a run that goes on from a checkpoint counts from: "frames", "events", "reports" and "part_seal".

    They are the checkpoint's, or nothing where nothing at all of the earlier output stands with it.

    Parameters
    ----------
    output : Output
    counters : dict
        The checkpoint's.

    Raises
    ------
    DataError
        When some of the earlier output is missing, damaged or another run's: nothing could be joined to it at the end.
    """
    asked, seal, part = counts_in(counters), seal_in(counters), whole(counters, "part")
    heads = [sound(head) for number, head in output.parts if number < part]
    if not heads and all(head is None for head in output.files.values()):
        return dict.fromkeys(COUNTED, 0) | {"part_seal": ""}
    require_chain(heads)
    if heads:
        last = heads[-1]
        if last.end != asked or last.index != part - 1:
            raise DataError(f"{last.path}: ends at {last.end}, the checkpoint counts {asked}: a part is missing")
        if seal != last.seal:
            raise DataError(f"{last.path}: is whole, but not the part that the checkpoint counts")
    needed, link = (heads[0].start, heads[0].after) if heads else (asked, seal)
    for kind, counted in FILES.items():
        if needed[counted]:
            head = output.files[kind]
            if head is None:
                raise DataError(f"{kind}.h5 is missing, of which the checkpoint counts on {needed[counted]} {counted}")
            sound(head).until(link, needed[counted])
    return asked | {"part_seal": seal}


def sound(head: DataError | Head) -> Head:
    """Return the head of a file or part, or raise the DataError that stands for it."""
    if isinstance(head, DataError):
        raise head
    return head


def advice(run_dir: Path) -> str:
    """Return what to do when no checkpoint can be gone on from."""
    return (
        f"restore what is missing or damaged, move the .h5 files and parts out of {run_dir} to go on without them, "
        "or start anew with 'hpcchain run' and another --output"
    )


def is_finished(output: Output, end: float, comm: Communicator | None = None) -> bool:
    """Return whether a run's output is assembled, its last frame at the end time; collective."""
    trajectory, observables = output.files["trajectory"], output.files["observables"]
    if output.parts or not isinstance(trajectory, FileHead) or not isinstance(observables, FileHead):
        return False
    return root_does(comm, trajectory.path, "reading", lambda: _last_time(trajectory.path)) == end


def _last_time(path: Path) -> float | None:
    with open_trajectory(path, checked=False) as found:
        return float(found.time[-1]) if len(found) else None
