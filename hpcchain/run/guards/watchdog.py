"""Says which rank waits for which when a run has not moved for a while; it ends nothing."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.parallel.activity import ALL

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World

LOG = logging.getLogger("hpcchain.run")
FOLDER = "stuck"


class Watchdog:
    """Watches from a thread of its own; use as a context around a run.

    After a silence each rank writes what it is doing, and where in the program, to stuck/rank-N.txt in the output
    directory; a little later the root rank puts together which rank waits for which. A rank whose thread cannot run,
    because a kernel does not come back, writes no file: the others' say that, and its stack goes to stderr.

    Parameters
    ----------
    comm : Single or World
    folder : path
        The output directory.
    silence : float
        Wall seconds without any step; 0 watches nothing.
    """

    def __init__(self, comm: Single | World, folder: Path, silence: float) -> None:
        self.activity, self.folder = comm.activity, Path(folder) / FOLDER
        self.rank, self.size, self.silence = comm.rank, comm.size, silence
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._main = threading.get_ident()

    def __enter__(self) -> Watchdog:
        if self.silence > 0.0:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.silence > 0.0:
            self._over.set()
            self._thread.join()
            faulthandler.cancel_dump_traceback_later()

    def _watch(self) -> None:
        signs, moved, looked, reported = self.activity.signs, time.monotonic(), False, False
        while not self._over.wait(0.1 * self.silence):
            arm(2.0 * self.silence)
            if self.activity.signs != signs:
                self._say_it_goes_on(reported, moved)
                signs, moved, looked, reported = self.activity.signs, time.monotonic(), False, False
            elif not looked and time.monotonic() - moved > self.silence:
                looked, reported = True, self._report(time.monotonic() - moved)
        if self.activity.signs != signs:  # a run may end before the next look
            self._say_it_goes_on(reported, moved)

    def _say_it_goes_on(self, reported: bool, moved: float) -> None:
        """Log that a silence that was reported is over."""
        if reported:
            LOG.warning("goes on after %.0f s without a step", time.monotonic() - moved)

    def _report(self, quiet: float) -> bool:
        """Write this rank's file; the root waits for the others', logs all, and returns True."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(self.path_of(self.rank), self._state())
        if self.rank != 0 or self._over.wait(0.5 * self.silence):  # the run may end meanwhile
            return False
        LOG.warning("no step for %.0f s: %s; see %s", quiet, self._summary(), self.folder)
        return True

    def _write(self, path: Path, text: str) -> None:
        """Write this rank's file anew; one that is there already may be a link."""
        path.unlink(missing_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)

    def path_of(self, rank: int) -> Path:
        """Return where a rank writes its state."""
        return self.folder / f"rank-{rank:05d}.txt"

    def _state(self) -> str:
        """Return what this rank does: one line to be read by the root, then where every thread is."""
        frames = sys._current_frames()
        stack = traceback.extract_stack(frames[self._main]) if self._main in frames else []
        here = f"{stack[-1].name}, {Path(stack[-1].filename).name}:{stack[-1].lineno}" if stack else "?"
        state = {
            "rank": self.rank,
            "awaited": self.activity.awaited,
            "seconds": time.monotonic() - self.activity.since,
            "at": here,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "now": time.time(),
        }
        return f"{json.dumps(state)}\n\n{''.join(traceback.format_list(stack))}"

    def _summary(self) -> str:
        """Return which ranks wait for which, from the files of those that wrote one lately."""
        states = [self._read(rank) for rank in range(self.size)]
        groups: dict[str, list[int]] = {}
        for rank, state in enumerate(states):
            if state is None:
                words = "say nothing (inside a kernel, or gone)"
            elif state["awaited"] is None:
                words = f"wait for none (in {state['at']} on {state['host']}, process {state['pid']})"
            else:
                words = "wait for " + (ALL if state["awaited"] == ALL else f"rank {state['awaited']}")
            groups.setdefault(words, []).append(rank)
        return "; ".join(f"{ranks_as_text(ranks)} {words}" for words, ranks in groups.items())

    def _read(self, rank: int) -> dict[str, object] | None:
        """Return the state that a rank wrote in this silence, None when it wrote none."""
        with contextlib.suppress(OSError, ValueError):
            path = self.path_of(rank)
            if time.time() - path.stat().st_mtime < 2.0 * self.silence:
                return json.loads(path.read_text(encoding="utf-8").splitlines()[0])
        return None


def arm(seconds: float) -> None:
    """Have the stack written to stderr unless this is called again in time, whatever holds Python up."""
    with contextlib.suppress(OSError, ValueError, AttributeError, RuntimeError):
        faulthandler.dump_traceback_later(seconds, file=sys.__stderr__ or sys.stderr)


def ranks_as_text(ranks: list[int]) -> str:
    """Return rank numbers, long runs of them abbreviated."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    names = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a} to {b}" for a, b in spans]
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(names)
