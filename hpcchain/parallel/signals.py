"""What a signal requests of a run: stop with a checkpoint (USR1, TERM, INT) or a checkpoint in passing (USR2)."""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from hpcchain.errors import EXIT_RESUBMIT, HpcchainError

STOP = ("SIGUSR1", "SIGTERM", "SIGINT")
SAVE = ("SIGUSR2",)
HEEDED_BY = ("run", "resume", "build")  # the commands that heed signals
Handler = Callable[[int, FrameType | None], object]


class Stopped(HpcchainError):
    """A signal came before there was anything to keep."""

    exit_code = EXIT_RESUBMIT


class Signals:
    """Remembers signals until the run looks; use as a context. Threads besides the main one have none.

    Attributes
    ----------
    saves : int
        How often a checkpoint in passing was requested, of this rank or, as far as it knows, of any.
    listen : callable, optional
        Called with this before each look: takes in what others send of their signals (`pass_on`).
    """

    def __init__(self) -> None:
        self._stop = False
        self._save = False
        self.saves = 0
        self.listen: Callable[[Signals], None] | None = None
        self._before: dict[signal.Signals, Handler | int | None] = {}

    @property
    def stop(self) -> bool:
        """Whether to stop with a checkpoint."""
        if self.listen is not None:
            self.listen(self)
        return self._stop

    @property
    def save(self) -> bool:
        """Whether to write a checkpoint in passing."""
        if self.listen is not None:
            self.listen(self)
        return self._save

    @save.setter
    def save(self, requested: bool) -> None:
        self._save = requested

    @property
    def requests(self) -> tuple[bool, int]:
        """Whether to stop, and how many checkpoints in passing were requested, without a look at what others send."""
        return self._stop, self.saves

    def pass_on(self, stop: bool, saves: int) -> None:
        """Heed another rank's signals, of which this one may have had the same: launchers send them to all."""
        self._stop |= stop
        self._save |= saves > self.saves
        self.saves = max(self.saves, saves)

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._watch(STOP, self._on_stop)
            self._watch(SAVE, self._on_save)
        for earlier in self._outer():
            self._stop |= earlier.stop
            self._save |= earlier.save
            self.saves = max(self.saves, earlier.saves)
            self.listen = self.listen or earlier.listen
        return self

    def _outer(self) -> list[Signals]:
        """Return the Signals that had these before, and have them again afterwards."""
        handlers = (getattr(handler, "__self__", None) for handler in self._before.values())
        return [earlier for earlier in handlers if isinstance(earlier, Signals)]

    def _watch(self, names: Iterable[str], action: Handler) -> None:
        for name in names:
            number = getattr(signal, name)
            self._before[number] = signal.signal(number, action)

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for earlier in self._outer():  # what came to one run stops all that were to follow
            earlier._stop |= self._stop
            earlier.saves = max(earlier.saves, self.saves)

    def _on_stop(self, *_: object) -> None:
        self._stop = True

    def _on_interrupt(self, *_: object) -> None:
        self._stop = True
        raise KeyboardInterrupt

    def _on_save(self, *_: object) -> None:
        self._save = True
        self.saves += 1


def remember_from_the_start(argv: list[str]) -> None:
    """Remember signals to a command that heeds them while its modules load and the ranks join, for its `Signals`.

    Without this a stop in the first seconds would kill the ranks, and a scheduler would call the job failed. Ctrl-C
    ends the command at once: nothing is lost yet. Where a module that loads passes over an interrupt, it is remembered
    for the run to stop. Other commands end by TERM, which batch systems and timeout send, as by Ctrl-C:
    analyze prints what it has found, and the warm-up takes its processes along.
    """
    if argv[:1] and argv[0] in HEEDED_BY:
        early = Signals()
        early._watch(tuple(name for name in STOP if name != "SIGINT"), early._on_stop)
        early._watch(SAVE, early._on_save)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            early._watch(("SIGINT",), early._on_interrupt)
        atexit.register(_ignore)
    else:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def interrupts() -> bool:
    """Return whether Ctrl-C raises here: in the main thread, and neither ignored nor remembered to stop a run."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return handler is signal.default_int_handler or getattr(handler, "__func__", None) is Signals._on_interrupt


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the body, where it would raise: a Python program may go on after it."""
    if not interrupts():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def _ignore() -> None:
    """Ignore what has been remembered: all is done, and Python, as it ends, would let signals kill it."""
    for name in (*STOP, *SAVE):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
