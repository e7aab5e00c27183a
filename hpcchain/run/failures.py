"""Failures in words: which exit code an exception ends with, and what is said of it, on one line."""

from __future__ import annotations

import signal

from hpcchain.errors import EXIT_INTERNAL, EXIT_USAGE, HpcchainError

EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE
HINT = "run again with --debug for the traceback"
MOST_LETTERS = 500


def describe(error: BaseException, rank: int, size: int) -> tuple[int, str | None]:
    """Return (exit code, message) for an exception; the message is None when silence is right.

    Parameters
    ----------
    error : BaseException
    rank, size : int
        Of the process that it comes from; its message names the rank where that helps.
    """
    where = f" on rank {rank}" if size > 1 else ""
    if isinstance(error, HpcchainError):
        return error.exit_code, str(error) or type(error).__name__
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED, "interrupted"
    if isinstance(error, BrokenPipeError):
        return EXIT_BROKEN_PIPE, None
    text = one_line(error)
    if isinstance(error, MemoryError):
        return EXIT_INTERNAL, f"out of memory{where}: {text}; use more ranks or nodes, or fewer beads"
    if isinstance(error, OSError) and error.strerror:
        return EXIT_INTERNAL, f"the system refused{where}: {text}; {HINT}"
    if isinstance(error, ImportError):
        cure = "load the modules that it was installed with, or install hpcchain anew"
        return EXIT_USAGE, f"the installation is not whole{where}: {text}; {cure}; {HINT}"
    return EXIT_INTERNAL, f"internal error{where}: {type(error).__name__}: {text}; {HINT}"


def one_line(error: object) -> str:
    """Return an exception's text on one line of bounded length."""
    text = " ".join(str(error).split()) or "no further text"
    return text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + " ..."
