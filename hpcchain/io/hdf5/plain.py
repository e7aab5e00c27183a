"""Files of names that others can foresee, in folders that may be shared: opened only if they are plain ones.

A link that somebody has put there would have the program write to any file that its user may write to.
"""

import errno
import os
import stat
from pathlib import Path
from typing import TextIO

from hpcchain.errors import UsageError


def handle_of(path: Path, flags: int) -> int:
    """Return the handle of a file opened with the system's flags, which leave its content as it is; never waits.

    Raises
    ------
    UsageError
        When a link, a file of several names, or something else than a file stands there.
    OSError
        When it cannot be opened.
    """
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as reason:
        if reason.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise not_plain(path) from None
        raise
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        raise not_plain(path)
    return handle


def appending(path: Path) -> TextIO:
    """Return a file of text that is added to at its end, made if it is missing; raises as `handle_of`."""
    return open(handle_of(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a", encoding="utf-8")


def not_plain(path: Path) -> UsageError:
    """Return the error for something that is no plain file."""
    return UsageError(
        f"{path}: is a link, or no plain file of this one name, and so is not written to: remove it, or "
        "choose another --output"
    )
