"""The text of an input file: plain files and pipes, UTF-8 with or without a byte-order mark, never endless."""

import codecs
import os
import stat
from pathlib import Path

from hpcchain.errors import ConfigError, DataError, HpcchainError

MOST_UNSIZED = 2**28
"""Read of what does not say beforehand how much it holds: pipes, and files of the system's [byte]."""

MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
HDF5 = b"\x89HDF\r\n\x1a\n"
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_text(path: Path | str) -> str:
    """Return the text of an input file; a byte-order mark before UTF-8, which some editors write, is left out.

    Raises
    ------
    DataError
        When the file cannot be read, or is none.
    ConfigError
        When it holds something else than UTF-8 text, or too much.
    """
    try:
        data = read_bytes(path)
    except HpcchainError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: the input file cannot be read: {reason}") from None
    if HDF5 in data[:1024]:  # behind a seal of 512 bytes, if it is of this program
        raise ConfigError(
            f"{path}: is an HDF5 file and no input; name the input file, or go on from a checkpoint: hpcchain resume"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: {encoding_of(data)} (byte {error.start}); save the input as plain UTF-8") from None
    if "\0" in text:
        raise ConfigError(f"{path}: {encoding_of(data)} (byte {data.index(0)} is null); save the input as plain UTF-8")
    return text


def read_bytes(path: Path | str) -> bytes:
    """Return what a file or a pipe holds; not endlessly, and without waiting for a pipe that nobody writes to.

    Raises
    ------
    DataError
        When it is neither.
    ConfigError
        When there is too much of it.
    OSError, ValueError
        When it cannot be opened or read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb", buffering=0) as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
            kind = next((name for test, name in KINDS if test(found.st_mode)), "no file")
            raise DataError(f"{path}: the input file cannot be read: it is {kind}, not a plain file")
        os.set_blocking(handle, True)
        most = max(found.st_size, MOST_UNSIZED)
        pieces, count = [], 0
        while count <= most:
            piece = file.read(min(2**20, most + 1 - count))
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            count += len(piece)
    raise ConfigError(f"{path}: holds more than {most} bytes; that is no input")


def encoding_of(data: bytes) -> str:
    """Return what bytes that are no UTF-8 text seem to be."""
    for mark, name in MARKS:
        if data.startswith(mark):
            return f"is {name} text"
    head = data[:64]
    if max(head[::2].count(0), head[1::2].count(0)) > len(head) // 3:  # every other byte, in most languages
        return "is UTF-16 text, or no text"
    return "is not UTF-8 text"
