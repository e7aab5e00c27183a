"""What a signal asks of a run: stop with a checkpoint (USR1, TERM, INT) or a checkpoint in passing (USR2)."""

from __future__ import annotations

import signal
from typing import Any

from hpcchain.errors import EXIT_RESUBMIT, HpcchainError

STOP = ("SIGUSR1", "SIGTERM", "SIGINT")
SAVE = ("SIGUSR2",)
HEEDED_BY = ("run", "resume", "build")  # the commands that heed signals


class Stopped(HpcchainError):
    """A signal came before there was anything to keep."""

    exit_code = EXIT_RESUBMIT


class Signals:
    """Remembers signals until the run looks; use as a context.

    Attributes
    ----------
    stop, save : bool
        Whether a stop, or a checkpoint in passing, has been asked for.
    """

    def __init__(self) -> None:
        self.stop = False
        self.save = False
        self._before = {}

    def __enter__(self) -> Signals:
        self._watch(STOP, self._on_stop)
        self._watch(SAVE, self._on_save)
        for handler in self._before.values():
            earlier = getattr(handler, "__self__", None)
            if isinstance(earlier, Signals):
                self.stop |= earlier.stop
                self.save |= earlier.save
        return self

    def _watch(self, names: tuple, action: Any) -> None:
        for name in names:
            number = getattr(signal, name)
            self._before[number] = signal.signal(number, action)

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_stop(self, *_: Any) -> None:
        self.stop = True

    def _on_save(self, *_: Any) -> None:
        self.save = True


def remember_from_the_start(argv: list) -> None:
    """Remember signals to a command that heeds them while its modules load and the ranks join, for its `Signals`.

    Without this a stop in the first seconds would kill the ranks, and a scheduler would call the job failed. Ctrl-C
    stays as it is: nothing is lost yet.
    """
    if argv[:1] and argv[0] in HEEDED_BY:
        early = Signals()
        early._watch(tuple(name for name in STOP if name != "SIGINT"), early._on_stop)
        early._watch(SAVE, early._on_save)
