"""The text of files that users name: plain files, of inputs pipes too, UTF-8 with or without a mark, never endless."""

import codecs
import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcchain.config.bounds import most_bytes, require_bytes
from hpcchain.errors import ConfigError, DataError, HpcchainError

MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
OURS = b"hpcchain sealed file", b"\x89HDF\r\n\x1a\n"
"""What files that hpcchain writes begin with."""
LONGEST = 1 << 20
"""Bytes of a user's file of Python at most."""
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a pipe"),
)

CURES = (
    (r"Expected '='", "lines are key = value; comments begin with #"),
    (r"Invalid statement", "lines are key = value or [section]; comments begin with #"),
    (
        r"overwrite|twice",
        "give each key and each [section] once; [[molecule]] and other [[lists]] may stand many times",
    ),
    (r"Unclosed array", "put commas between the entries of a list, and ] behind it"),
    (r"\n[+-]?\.\d", "write a digit before the point, as 0.5"),
    (r"\n\.(?!\d)", "write a digit behind the point, as 5.0"),
    (r"\n,", "lists stand in brackets, as [10, 10, 10]; numbers have a point, as 1.5"),
    (r"\n\(", "lists stand in square brackets, as [10, 10, 10]"),
    (r"\n[\u2018-\u201f\u00ab\u00bb\u2039\u203a]", 'texts stand in straight quotes, as "chain"'),
    (r"\n(?i:true|false|yes|no|on|off)\b", "write true or false"),
    (r"Invalid value.*\n[a-zA-Z_]", 'put texts in quotes, as "chain"'),
    (r"newline.*\n[+-]?\d", "lists stand in brackets with commas, as [10, 10, 10]; a number has no blanks"),
    (r"newline.*\n\S", "nothing but a comment behind # may follow a value: no unit, sum or second value"),
)
"""What the message of a mistake in TOML, and behind it the line from the mistake on, may say; and what to write."""


def cure(text: str, message: str) -> str:
    """Return '; …' with what to write in place of what is no TOML, or an empty text where nothing is known."""
    place = re.search(r"line (\d+), column (\d+)", message)
    rest = text.split("\n")[int(place[1]) - 1][int(place[2]) - 1 :] if place else ""
    return next((f"; {cure}" for pattern, cure in CURES if re.search(pattern, f"{message}\n{rest}")), "")


def read_text(path: Path | str, stored: bool = False) -> str:
    """Return the text of an input file; a byte-order mark before UTF-8, which some editors write, is left out.

    It may be larger where the program wrote it (`stored`).

    Raises
    ------
    DataError
        When the file cannot be read, or is none.
    ConfigError
        When it holds something else than UTF-8 text, or too much.
    """
    try:
        data = read_bytes(path, stored)
    except HpcchainError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: the input file cannot be read: {reason}") from None
    if data.startswith(OURS):
        raise ConfigError(
            f"{path}: is an HDF5 file, not an input; 'hpcchain resume' continues a run from its folder or a "
            "checkpoint, 'hpcchain info' says what is in a file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: {encoding_of(data)} (byte {error.start}); save the input as plain UTF-8") from None
    if "\0" in text:
        raise ConfigError(f"{path}: {encoding_of(data)} (byte {data.index(0)} is null); save the input as plain UTF-8")
    return text


def read_bytes(path: Path | str, stored: bool) -> bytes:
    """Return what an input file or a pipe holds; not endlessly, and without waiting for a pipe without a writer.

    Raises
    ------
    DataError
        When it is a folder.
    ConfigError
        When there is too much of it.
    OSError, ValueError
        When it is neither file nor pipe, or cannot be opened or read.
    """
    if os.path.isdir(path):
        raise DataError(
            f"{path}: the input file cannot be read: it is a folder; name an input file; a run's folder is for "
            "'hpcchain resume', which continues it, and 'hpcchain analyze'"
        )
    with opened(path, pipes=True) as file:
        require_bytes(os.fstat(file.fileno()).st_size, str(path), stored)
        os.set_blocking(file.fileno(), True)
        data = read_at_most(file, most_bytes(stored) + 1)
    require_bytes(len(data), str(path), stored)  # pipes, and files of the system's, do not say it beforehand
    return data


def content(path: str) -> bytes:
    """Return the content of a user's file; raises ConfigError where it is no plain file, or cannot be read."""
    try:
        with opened(path) as file:
            found = read_at_most(file, LONGEST + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be read: {getattr(error, 'strerror', error)}; name a file of Python"
        ) from None
    if len(found) > LONGEST:
        raise ConfigError(f"{path} is longer than {LONGEST} bytes; name a file of Python")
    return found


def digest(text: bytes) -> str:
    """Return the SHA-256 digest of a file's content as text."""
    return hashlib.sha256(text).hexdigest()


@contextmanager
def opened(path: Path | str, pipes: bool = False) -> Iterator[io.FileIO]:
    """Yield a plain file, or a pipe if that may be, opened for reading without waiting; raises OSError for all else."""
    require_plain(os.stat(path), pipes)  # before it is opened: opening a device may do something
    with io.FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), closefd=True) as file:
        require_plain(os.fstat(file.fileno()), pipes)
        yield file


def require_plain(found: os.stat_result, pipes: bool) -> None:
    """Raise OSError unless a status is that of a plain file, or of a pipe if that may be; it says what else it is."""
    if not (stat.S_ISREG(found.st_mode) or (pipes and stat.S_ISFIFO(found.st_mode))):
        kind = next((name for test, name in KINDS if test(found.st_mode)), "no file")
        raise OSError(errno.EINVAL, f"it is {kind}, not a plain file")


def read_at_most(file: io.FileIO, most: int) -> bytes:
    """Return what an open file still holds, up to so many bytes."""
    pieces, count = [], 0
    while count < most:
        piece = file.read(min(2**20, most - count))
        if not piece:
            break
        pieces.append(piece)
        count += len(piece)
    return b"".join(pieces)


def encoding_of(data: bytes) -> str:
    """Return what bytes that are no UTF-8 text seem to be."""
    for mark, name in MARKS:
        if data.startswith(mark):
            return f"is {name} text"
    head = data[:64]
    if max(head[::2].count(0), head[1::2].count(0)) > len(head) // 3:  # every other byte, in most languages
        return "is UTF-16 text, or no text"
    return "is not UTF-8 text"
