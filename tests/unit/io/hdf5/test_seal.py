"""A seal shows every byte that is not as it was."""

import hashlib

import pytest

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import files, seal

CONTENT = seal.HDF5 + bytes(range(256)) * 20


@pytest.fixture
def sealed(tmp_path):
    """Return a sealed file of some kilobytes."""
    path = tmp_path / "file.h5"
    path.write_bytes(bytes(seal.USER_BLOCK) + CONTENT)
    seal.seal(path)
    return path


def test_the_digest_is_that_of_the_blocks(sealed):
    block = hashlib.sha256(CONTENT).digest()
    assert seal.digest_in(sealed) == hashlib.sha256(block).hexdigest()
    assert sealed.read_bytes()[seal.USER_BLOCK :] == CONTENT
    seal.check(sealed)


def test_blocks_are_digested_one_by_one(tmp_path, monkeypatch):
    """Any number of ranks finds the same: the digest is that of the digests of blocks of one size."""
    monkeypatch.setattr(seal, "HASH_BLOCK", 1000)
    path = tmp_path / "file.h5"
    path.write_bytes(bytes(seal.USER_BLOCK) + CONTENT)
    seal.seal(path)
    blocks = b"".join(hashlib.sha256(CONTENT[k : k + 1000]).digest() for k in range(0, len(CONTENT), 1000))
    assert seal.digest_in(path) == hashlib.sha256(blocks).hexdigest()


@pytest.mark.parametrize("at", [0, 30, 511, 512, 2000, -1])
def test_a_flipped_bit_is_found(sealed, at):
    data = bytearray(sealed.read_bytes())
    data[at] ^= 4
    sealed.write_bytes(data)
    with pytest.raises(DataError, match="file.h5"):
        seal.check(sealed)


@pytest.mark.parametrize("end", [0, 512, -1, None], ids=["empty", "head alone", "a byte less", "a byte more"])
def test_another_length_is_found(sealed, end):
    data = sealed.read_bytes()
    sealed.write_bytes(data[:end] if end is not None else data + bytes(1))
    with pytest.raises(DataError, match="file.h5"):
        seal.check(sealed)


def test_files_without_a_seal_are_refused(tmp_path):
    path = tmp_path / "plain.h5"
    for content, words in (
        (CONTENT, "an HDF5 file, but not one that hpcchain wrote; name"),
        (b"text", "not an HDF5 file"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"plain.h5: {words}"):
            seal.check(path)


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("kind", files.FORMAT)
def test_other_formats_are_refused_with_what_to_do(tmp_path, kind, number, monkeypatch):
    with monkeypatch.context() as other:
        other.setitem(files.FORMAT, kind, number)
        with files.writing(tmp_path / "a.h5", kind, None) as file:
            files.put_text(file, "words", "some", None)
    said = f"a.h5: is a file of format {number}, and this program reads only format 2: use the version of hpcchain that"
    with pytest.raises(DataError, match=said), files.reading(tmp_path / "a.h5", kind):
        pass


def test_the_same_contents_make_the_same_bytes(tmp_path):
    """No time of day is kept: job scripts see by a file's bytes whether a run has come forward."""
    for name in ("a.h5", "b.h5"):
        with files.writing(tmp_path / name, "growth", None) as file:
            assert not file.id.get_create_plist().get_obj_track_times()
            files.put_text(file, "words", "some", None)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
