"""A seal over every byte of a file, checked before any library looks inside.

A sealed HDF5 file has a user block of 512 bytes that states the file's length and a digest of all that follows.
A flipped bit or a missing tail is thus found before the HDF5 library can stumble, hang or allocate without limit.
The digest is SHA-256 of the SHA-256 digests of 1 MiB blocks, so ranks share the work and any rank count gets the same.
"""

import hashlib
import os

from hpcchain.errors import DataError
from hpcchain.io.collective import from_root, gathered, rank_of, root_does, size_of, together

USER_BLOCK = 512
HASH_BLOCK = 1 << 20
MAGIC = b"hpcchain sealed file 1\n"


def seal(path, comm=None):
    """Write the seal into the user block of a closed file; collective."""
    text = _seal_of(path, comm)
    root_does(comm, path, "sealing", lambda: _write_head(path, text))


def check(path, comm=None):
    """Raise DataError on every rank unless the file is whole and unchanged since it was sealed; collective."""
    head = root_does(comm, path, "reading", lambda: _read_head(path))
    if not head.startswith(MAGIC):
        raise DataError(f"{path}: not a checkpoint or part of hpcchain, or its first bytes are damaged")
    if head != _seal_of(path, comm):
        raise DataError(f"{path}: damaged or truncated (its checksum does not match); use an older checkpoint")


def _seal_of(path, comm):
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


def _digests(path, size, first, stride):
    """Yield (block number, SHA-256) of every stride-th block behind the user block."""
    with open(path, "rb") as file:
        blocks = -(-max(size - USER_BLOCK, 0) // HASH_BLOCK)
        for number in range(first, blocks, stride):
            file.seek(USER_BLOCK + number * HASH_BLOCK)
            yield number, hashlib.sha256(file.read(HASH_BLOCK)).digest()


def _read_head(path):
    with open(path, "rb") as file:
        return file.read(USER_BLOCK)


def _write_head(path, text):
    with open(path, "r+b") as file:
        file.write(text)
