"""A seal over every byte of a file, checked before any library looks inside.

A sealed HDF5 file has a user block of 512 bytes that states the file's length and a digest of all that follows.
A flipped bit or a missing tail is thus found before the HDF5 library can stumble, hang or allocate without limit.
The digest is SHA-256 of the SHA-256 digests of 1 MiB blocks, so ranks share the work and any rank count gets the same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import DataError
from hpcchain.io.hdf5.collective import root_does, together
from hpcchain.parallel.agreement import from_root, gathered, rank_of, size_of

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

USER_BLOCK = 512
HASH_BLOCK = 1 << 20
MAGIC = b"hpcchain sealed file 1\n"
HDF5 = b"\x89HDF\r\n\x1a\n"
"""What a file without a seal begins with; in a sealed one it stands behind the user block."""


def seal(path: Path, comm: Communicator | None = None) -> None:
    """Write the seal into the user block of a closed file; collective."""
    text = _seal_of(path, comm)

    def write() -> None:
        with open(path, "r+b") as file:
            file.write(text)

    root_does(comm, path, "sealing", write)


def check(path: Path | str, comm: Communicator | None = None) -> None:
    """Raise DataError on every rank unless the file is whole and unchanged since it was sealed; collective."""
    head = root_does(comm, path, "reading", lambda: _read_head(path))
    if not head.startswith(MAGIC):
        raise DataError(f"{path}: {foreign(path, head)}")
    if head != _seal_of(path, comm):
        raise DataError(f"{path}: damaged, truncated or changed since it was written (its checksum does not match)")


def foreign(path: Path | str, head: bytes) -> str:
    """Return what a file seems to be whose first bytes are not those of a sealed one, and what to do with it."""
    if head.startswith(HDF5):
        return "an HDF5 file, but not one that hpcchain wrote; name a run's output directory or one of its .h5 files"
    wanted = "not an HDF5 file"
    text = head.decode("utf-8", "ignore")
    if not head or b"\0" in head or len(text.encode()) < len(head) - 3:  # of text the last letter may be cut
        return f"{wanted}, or its first bytes are damaged"
    input_file = "is an input file: 'hpcchain run' runs it, and 'hpcchain check' checks it"
    kind = input_file if str(path).endswith(".toml") else f"{wanted}, but text"
    return f"{kind}; name a run's output directory or one of its .h5 files"


def digest_in(path: Path) -> str:
    """Return the digest that a sealed file states of itself, as text; not collective, the file is not checked."""
    found = re.search(rb"sha256 of blocks ([0-9a-f]{64})\n", _read_head(path))
    if not found:
        raise DataError(f"{path}: {foreign(path, _read_head(path))}")
    return found.group(1).decode()


def _seal_of(path: Path | str, comm: Communicator | None) -> bytes:
    """Return the user block that belongs to the file as it is now."""
    size = 0
    with together(comm, path, "reading"):
        size = os.stat(path).st_size
    size = from_root(comm, size)
    mine = []
    with together(comm, path, "reading"):
        mine = list(_digests(path, size, rank_of(comm), size_of(comm)))
    digests = [digest for _, digest in sorted(pair for pairs in gathered(comm, mine) for pair in pairs)]
    whole = hashlib.sha256(b"".join(digests)).hexdigest()
    text = MAGIC + f"bytes {size}\nsha256 of blocks {whole}\n".encode()
    return text.ljust(USER_BLOCK, b"\0")


def _digests(path: Path | str, size: int, first: int, stride: int) -> Iterator[tuple[int, bytes]]:
    """Yield (block number, SHA-256) of every stride-th block behind the user block."""
    with open(path, "rb") as file:
        blocks = -(-max(size - USER_BLOCK, 0) // HASH_BLOCK)
        for number in range(first, blocks, stride):
            file.seek(USER_BLOCK + number * HASH_BLOCK)
            yield number, hashlib.sha256(file.read(HASH_BLOCK)).digest()


def _read_head(path: Path | str) -> bytes:
    if not os.path.isfile(path):  # a pipe would be waited for
        raise DataError(f"{path}: no such file, or not a plain one")
    with open(path, "rb") as file:
        return file.read(USER_BLOCK)
