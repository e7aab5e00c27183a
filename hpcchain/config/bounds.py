"""How large and how deep an input may be, seen to before it is parsed.

The parser takes some hundred bytes of memory for a byte of input that is all keys, and time and memory that go with the
square of a key's dots. What is counted here takes time and memory that follow the input's size alone.
"""

import re

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.machine import available, size

MOST_BYTES = 2**28
"""Of an input file: positions and velocities of two million beads with all their digits."""

STORED = 8
"""A stored input, with all digits and keys written out, may be so many times larger than the one that was given."""

MOST_PARTS, MOST_DEPTH, MOST_KEYS = 8, 16, 100_000
"""Parts of a dotted key, brackets within brackets, and keys and headers in all; inputs need 3, 3, and some hundred."""

BYTES_PER = {b"[": 150, b",": 60, b"{": 500}
BYTES_PER_BYTE, BYTES_PER_KEY = 6, 3000
"""What the parser takes at most, measured with Python 3.11: lists, entries, tables; the text; keys of 8 parts."""

UNASKED = 2**24
"""What is always there [byte]."""

SIGNS = re.compile(rb"#|\"\"\"|\'\'\'|\"|\'")
"""What a comment or a string begins with."""
LONGEST_END = 5  # quotes: two that belong to a string of several lines, and the three that end it
HEADER = re.compile(rb"^[ \t]*\[[^,=\[\]\n]*\]|^[ \t]*\[\[[^,=\[\]\n]*\]\]", re.MULTILINE)
DOTTED = re.compile(rb"(?:\.[^.=,\[\]{}\n]*+){%d}" % MOST_PARTS)
CHUNK = 2**20
DEEPER = np.zeros(256, dtype=np.int32)
DEEPER[list(b"[{")], DEEPER[list(b"]}")] = 1, -1


def most_bytes(stored: bool) -> int:
    """Return of how many bytes an input may be, or one that the program wrote."""
    return MOST_BYTES * (STORED if stored else 1)


def require_bytes(count: int, name: str, stored: bool) -> None:
    """Raise ConfigError for an input of so many bytes that are too many."""
    most = most_bytes(stored)
    if count > most:
        raise ConfigError(
            f"{name}: holds {size(count)}, more than the {size(most)} that an input may; give many "
            'positions in a start file instead (initial.method = "file")'
        )


def require_bounded(text: str, name: str, stored: bool = False) -> None:
    """Raise ConfigError unless a text can be parsed as TOML in bounded time and memory.

    Dots, brackets and commas in texts and comments count for nothing. Of a text that is no TOML, what stands behind
    the first error may be misjudged.

    Parameters
    ----------
    text : str
    name : str
        How messages call it.
    stored : bool
        Whether the program wrote it (`STORED`).
    """
    data = text.encode("utf-8", "surrogatepass")
    bare = without_strings(data)
    dots = DOTTED.search(bare)
    if dots is not None:
        raise ConfigError(
            f"{name}: line {line_of(bare, dots.start())}: a key has more than {MOST_PARTS} parts with "
            "dots between them; keys are section.key"
        )
    deep = too_deep(bare)
    if deep is not None:
        raise ConfigError(
            f"{name}: line {line_of(bare, deep)}: brackets are nested too deeply, more than {MOST_DEPTH} "
            "within one another; no key needs more than 3"
        )
    keys, most = bare.count(b"=") + sum(1 for _ in HEADER.finditer(bare)), MOST_KEYS * (STORED if stored else 1)
    if keys > most:
        raise ConfigError(
            f"{name}: has {keys} keys and headers, more than {most}; give equal molecules one "
            "[[molecule]] with their count"
        )
    need = BYTES_PER_BYTE * len(data) + BYTES_PER_KEY * keys
    need += sum(cost * bare.count(sign) for sign, cost in BYTES_PER.items())
    left = available().left() if need > UNASKED else UNASKED
    if need > left:
        raise ConfigError(
            f"{name}: reading it takes up to {size(need)} of memory, and {size(left)} are there; give "
            'many positions in a start file instead (initial.method = "file"), or use a larger machine'
        )


def without_strings(data: bytes) -> bytes:
    """Return TOML bytes without comments, and with an s in place of every string; lines stay where they are."""
    kept, end, line = bytearray(), 0, -1
    while (match := SIGNS.search(data, end)) is not None:
        begin = match.start()
        kept += data[end:begin]
        if line < begin:  # looked for once a line
            line = data.find(b"\n", begin)
            line = len(data) if line < 0 else line
        end = _end_of(data, begin, match[0], line)
        if match[0] != b"#":
            kept += b"s" + b"\n" * data.count(b"\n", begin, end)
    kept += data[end:]
    return bytes(kept)


def _end_of(data: bytes, begin: int, sign: bytes, line: int) -> int:
    """Return where the comment or string that a sign begins ends: at the latest with the line, `line`, or the text."""
    # It is looked for by hand: the possessive groups that such an expression needs are wrong in Python 3.11.2.
    if sign == b"#":
        return line
    limit = len(data) if len(sign) > 1 else line
    at = begin + len(sign)
    while (at := data.find(sign, at, limit)) >= 0:
        if sign[0] != ord('"') or not _escaped(data, begin + len(sign), at):
            end = at + len(sign)
            while len(sign) > 1 and end < min(limit, at + LONGEST_END) and data[end] == sign[0]:
                end += 1
            return end
        at += 1
    return limit


def _escaped(data: bytes, begin: int, at: int) -> bool:
    """Whether an odd number of backslashes, from `begin` on, stands right before a byte."""
    first = at
    while first > begin and data[first - 1] == ord("\\"):
        first -= 1
    return (at - first) % 2 == 1


def too_deep(bare: bytes) -> int | None:
    """Return where brackets are first open within more than MOST_DEPTH, None where they never are."""
    open_before = 0
    for low in range(0, len(bare), CHUNK):
        deeper = DEEPER[np.frombuffer(bare[low : low + CHUNK], dtype=np.uint8)]
        depth = open_before + np.cumsum(deeper)
        deep = np.flatnonzero(depth > MOST_DEPTH)
        if len(deep):
            return low + int(deep[0])
        open_before = int(depth[-1])
    return None


def line_of(bare: bytes, at: int) -> int:
    """Return the number of the line, from 1, that a byte stands in."""
    return bare.count(b"\n", 0, at) + 1
