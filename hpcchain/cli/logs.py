"""Log lines on stderr: `time name rank/size LEVEL message`, the root rank from INFO on and the others from WARNING."""

import logging
import sys
from typing import Any, TextIO


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


def configure(rank: int, size: int, debug: bool = False) -> None:
    """Send the program's log lines to stderr; a later call replaces an earlier one.

    Parameters
    ----------
    rank, size : int
        Of this process; they are part of every line.
    debug : bool
        Show DEBUG lines of every rank.
    """
    handler = ConsoleHandler()
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(name)s {rank}/{size} %(levelname)s %(message)s"))
    logger = logging.getLogger("hpcchain")
    for old in [known for known in logger.handlers if isinstance(known, ConsoleHandler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if debug else logging.INFO if rank == 0 else logging.WARNING)
