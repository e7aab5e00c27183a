"""How the process ends: every failure becomes one message from one rank and an exit code, and ends all ranks."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from hpcchain.errors import EXIT_USAGE, HpcchainError
from hpcchain.parallel import comm as communication
from hpcchain.parallel.comm import launched
from hpcchain.run.failures import EXIT_BROKEN_PIPE, describe

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.signals import Stopped

PATIENCE = 1.0
PATIENCE_PER_RANK = 0.1


def run(action: Callable, debug: bool = False) -> int:
    """Run a command and return the exit code of the whole run, the same on every rank.

    1. Join the ranks, when a launcher started several.
    2. Act; a failure is caught and put into words.
    3. Agree: every rank, failed or not, sends the others how it ended. When all come, the lowest rank that failed
       prints its message and all return its code. When some do not come, because they wait for the failed one in
       the middle of an exchange, the failed rank prints its message and aborts them.

    Parameters
    ----------
    action : callable
        Takes the communicator, returns an exit code.
    debug : bool
        Print the traceback of a failure, too.
    """
    try:
        comm = communication.world() if launched()[0] > 1 else communication.Single()
    except HpcchainError as error:
        if launched()[1] == 0:
            report(*describe(error, 0, 1), error, debug)
        return error.exit_code
    configure(comm.rank, comm.size, debug)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names that the terminal has no letters for
    code, message, failure = attempt(action, comm)
    return conclude(comm, code, message, failure, debug)


def attempt(action: Callable, comm: Single | World) -> tuple[int, str | None, BaseException | Stopped | None]:
    """Return (exit code, message or None, exception or None) of an action; results are the root rank's to print."""
    try:
        with results_of_root(comm.rank):
            code = action(comm)
            sys.stdout.flush()
        return code, None, None
    except SystemExit as done:  # argparse's --help raises one with 0
        code = done.code or 0
        return code if isinstance(code, int) else EXIT_USAGE, None, None
    except BaseException as error:
        code, message = describe(error, comm.rank, comm.size)
        return code, message, error


def conclude(
    comm: Single | World, code: int, message: str | None, failure: BaseException | Stopped | None, debug: bool
) -> int:
    """Agree on how the run ended, print the one message, and return the one exit code."""
    failed = failure is not None
    patience = PATIENCE + PATIENCE_PER_RANK * comm.rank if failed else None
    outcomes = comm.agree((code, int(failed)), patience)
    if outcomes is None:
        report(code, message, failure, debug)
        comm.abort(code)
        return code
    spokesman = decide(outcomes)
    if failed and comm.rank == spokesman:
        report(code, message, failure, debug)
    comm.agree((0,))  # no rank leaves before the message is out: launchers kill the rest when one ends badly
    return outcomes[spokesman][0]


def decide(outcomes: list) -> int:
    """Return the rank that speaks for all: the lowest that failed, else the lowest whose code is not 0, else 0.

    Parameters
    ----------
    outcomes : list of (int, int)
        Exit code and whether it is a failure, by rank.
    """
    failed = [rank for rank, (_, failure) in enumerate(outcomes) if failure]
    nonzero = [rank for rank, (code, _) in enumerate(outcomes) if code]
    return (failed + nonzero + [0])[0]


def report(code: int, message: str | None, failure: BaseException | Stopped, debug: bool) -> None:
    """Print a failure's message on stderr, after its traceback with debug; neither can fail themselves."""
    with contextlib.suppress(OSError, ValueError):
        if debug and failure is not None:
            traceback.print_exception(failure, file=sys.stderr)
        if message is not None:
            # In one write: print makes two where Python is unbuffered, and a launcher's own words can fall between.
            sys.stderr.write(f"hpcchain: {message}\n")
        sys.stderr.flush()
    if code == EXIT_BROKEN_PIPE:  # which the interpreter's last flush must not meet again
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def results_of_root(rank: int) -> Iterator[None]:
    """Keep the stdout of all ranks but the root's to themselves, so that results appear once."""
    if rank == 0:
        yield
        return
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


class ConsoleHandler(logging.StreamHandler):
    """Writes to whatever stderr is at the time, so that a replaced stream is followed."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        """The process's present stderr."""
        return sys.stderr

    def emit(self, record: Any) -> None:
        """Write a line; a progress bar on the same terminal makes way for it."""
        bars = sys.modules.get("tqdm")
        if bars is None:
            super().emit(record)
            return
        with bars.tqdm.external_write_mode(file=self.stream):
            super().emit(record)


class ShortFormatter(logging.Formatter):
    """Begins a line with the time of day and the message; what is no mere information says so, and on which rank."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self._where = f" on rank {rank}" if rank else ""

    def formatMessage(self, record: Any) -> str:
        """Return the line of a record whose message is made."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}{self._where}: "
        return f"{self.formatTime(record, '%H:%M:%S')} {level}{record.message}"


def configure(rank: int, size: int, debug: bool = False, form: str | None = None) -> None:
    """Send the program's log lines to stderr; a later call replaces an earlier one.

    Parameters
    ----------
    rank, size : int
        Of this process; they are part of every full line.
    debug : bool
        Show DEBUG lines of every rank.
    form : str, optional
        "short" or "full"; by default short on a terminal, full in files and pipes.
    """
    handler, full = ConsoleHandler(), f"%(asctime)s %(name)s {rank}/{size} %(levelname)s %(message)s"
    short = form == "short" or (form is None and sys.stderr.isatty())
    handler.setFormatter(ShortFormatter(rank) if short else logging.Formatter(full))
    logger = logging.getLogger("hpcchain")
    for old in [known for known in logger.handlers if isinstance(known, ConsoleHandler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if debug else logging.INFO if rank == 0 else logging.WARNING)
