"""What a signal asks of a run: stop with a checkpoint (USR1, TERM, INT) or a checkpoint in passing (USR2)."""

from __future__ import annotations

import signal
from typing import Any

from hpcchain.errors import EXIT_RESUBMIT, HpcchainError

STOP = ("SIGUSR1", "SIGTERM", "SIGINT")
SAVE = ("SIGUSR2",)


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
        for names, action in ((STOP, self._on_stop), (SAVE, self._on_save)):
            for name in names:
                number = getattr(signal, name)
                self._before[number] = signal.signal(number, action)
        return self

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_stop(self, *_: Any) -> None:
        self.stop = True

    def _on_save(self, *_: Any) -> None:
        self.save = True
