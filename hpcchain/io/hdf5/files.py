"""Opening and creating the program's HDF5 files: kind and format version, seal, errors that name the file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import h5py
import numpy as np

from hpcchain.config.bounds import MOST_BYTES, STORED
from hpcchain.errors import DataError, UsageError
from hpcchain.io.hdf5 import atomic, seal, unclosable
from hpcchain.io.hdf5.collective import FAILURES, Found, root_does, together, translated
from hpcchain.io.hdf5.slabs import put, read_at
from hpcchain.parallel.agreement import agree, is_parallel, size_of

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

FORMAT = {"checkpoint": 2, "part": 2, "trajectory": 2, "observables": 2, "events": 2, "growth": 2}
"""Of each kind the format that is written and the only one that is read (docs/developer/compatibility.md)."""
OURS_ALONE = ("checkpoint", "part", "growth")
"""Kinds that no other program needs to read."""
ALWAYS_OWN = ("checkpoint", "growth")
"""Kinds that are looked through for data in other files each time that they are opened, not only with their seal."""
MAGIC = "hpcchain"
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NOT_OURS = "the file was not made by this program or is damaged"
KINDS = {dict: "table", list: "list"}
Stored = TypeVar("Stored", dict[str, object], list[object])
"""What values are stored as, and how messages call it."""
MOST_JSON = 1 << 28
"""Bytes of a stored value at most: some hundred for each kind of molecules, or for each part of a run's output."""
UNWRITTEN = 1 << 20
"""Bytes that the library may still have to write behind a file's end when it is closed; their space is asked for."""


def library() -> tuple[str, bool]:
    """Return (version of HDF5, whether h5py was built for files that several ranks write together)."""
    return h5py.version.hdf5_version, bool(h5py.get_config().mpi)


def require_parallel(comm: Communicator | None) -> None:
    """Raise UsageError on several ranks where h5py was built without MPI, before anything starts; collective."""
    version, parallel = library()
    failure = None
    if is_parallel(comm) and not parallel:
        failure = UsageError(
            f"{size_of(comm)} ranks write their files together, and this h5py ({h5py.__version__}, HDF5 {version}) was "
            "built without MPI. Build it for your MPI and a parallel HDF5: pip install --upgrade setuptools packaging "
            "Cython pkgconfig && CC=mpicc HDF5_MPI=ON HDF5_DIR=/path/to/hdf5 pip install --no-build-isolation "
            "--no-cache-dir --force-reinstall --no-deps --no-binary=h5py h5py. In the sources tools/setup does it; "
            "with conda: conda install -c conda-forge 'h5py=*=mpi*'. Or start one rank, which works as it is"
        )
    agree(comm, failure)


def create(temp: Path, kind: str, comm: Communicator | None) -> h5py.File:
    """Create a file of a kind under its temporary name; collective.

    Returns
    -------
    h5py.File
        Open on all ranks, with space for a seal. Output files are such as older libraries open, too.
    """
    version = "v110" if kind in OURS_ALONE else "v108"
    options = {"userblock_size": seal.USER_BLOCK, "libver": (version, version), "driver": "mpio", "comm": comm}
    file = None
    with together(comm, temp, "creating"):
        if is_parallel(comm):
            file = h5py.File(temp, "w", **options)
            unclosable.hold(file)
        else:
            file = _unbuffered(temp, version)
        set_text(file, "program", MAGIC)
        set_text(file, "kind", kind)
        file.attrs["format"] = np.int64(FORMAT[kind])
    return file


def _unbuffered(temp: Path, version: str) -> h5py.File:
    """Create a file of one rank in which small writes reach the disk at once, as those of several do."""
    # Otherwise they may fail when a dataset is forgotten, where no caller learns of it and the library comes to harm.
    layout, access = (h5py.h5p.create(kind) for kind in (h5py.h5p.FILE_CREATE, h5py.h5p.FILE_ACCESS))
    layout.set_userblock(seal.USER_BLOCK)
    layout.set_obj_track_times(False)  # the same contents make the same bytes
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    access.set_libver_bounds(*[{"v108": h5py.h5f.LIBVER_V18, "v110": h5py.h5f.LIBVER_V110}[version]] * 2)
    access.set_sieve_buf_size(0)
    return h5py.File(h5py.h5f.create(os.fsencode(temp), h5py.h5f.ACC_TRUNC, layout, access))


@contextmanager
def writing(path: Path, kind: str, comm: Communicator | None) -> Iterator[h5py.File]:
    """Yield a new file that appears under its name, sealed, when the body succeeds; collective.

    When the body fails on several ranks the file is left open: see `close`.
    """
    with atomic.replacing(path, comm) as temp:
        file = create(temp, kind, comm)
        try:
            with translated(path, "writing"):
                yield file
        except BaseException:
            if not is_parallel(comm):
                unclosable.let_go(file)
            raise
        close(file, path, comm)


def close(file: h5py.File, path: Path, comm: Communicator | None) -> None:
    """Close a file that is under its temporary name, and seal it; collective.

    When one of several ranks cannot write in there, the others wait for it for ever, inside the library. So the root
    first makes sure of the space for all that is still to be written, which closing gives back; without it the file
    stays open. So does one rank alone, whose library would crash, and which lets the file go then.

    Raises
    ------
    DataError
        On every rank, when buffered data cannot be written.
    """
    if is_parallel(comm):
        root_does(comm, path, "writing", lambda: atomic.reserve(file.filename, UNWRITTEN))
    else:
        try:
            with translated(path, "writing"):
                atomic.require_space(file.filename, UNWRITTEN)
        except DataError:
            unclosable.let_go(file)
            raise
    with together(comm, path, "closing"):
        file.close()
    unclosable.release(file)
    with atomic.flushing(path, comm):
        seal.seal(atomic.temporary(path), comm)


@contextmanager
def reading(
    path: Path | str, kind: str | None, comm: Communicator | None = None, checked: bool = True
) -> Iterator[h5py.File]:
    """Yield a file opened for reading, after checks of seal, kind and format version; collective.

    Parameters
    ----------
    path : path
    kind : str or None
        What it must be; None: any kind of ours.
    comm : communicator or None
    checked : bool
        False skips the seal, for a file whose seal has just been checked.

    Raises
    ------
    DataError
        When the file is missing, foreign, damaged, or something in it cannot be read.
    """
    if checked:
        seal.check(path, comm)
    file = None
    with together(comm, path, "opening"):
        file = _open(path, comm)
    try:
        with translated(path, "reading"):
            _check_kind(file, path, kind)
            if checked or kind in ALWAYS_OWN:
                require_own_data(file, path)
            yield file
    finally:
        file.close()


def read_by_root(path: Path | str, kind: str, comm: Communicator | None, read: Callable[[h5py.File], Found]) -> Found:
    """Return on every rank what the root reads in a file, after every byte of it has been checked; collective."""
    seal.check(path, comm)

    def found() -> Found:
        with reading(path, kind, checked=False) as file:
            require_own_data(file, path)
            return read(file)

    return root_does(comm, path, "reading", found)


def kind_of(path: Path | str) -> str:
    """Return the kind of one of our files; its seal is checked."""
    with reading(path, None) as file:
        return text_of(file, "kind")


def _open(path: Path | str, comm: Communicator | None) -> h5py.File:
    if not os.path.isfile(path):
        raise DataError(f"{path}: no such file")
    options = {"driver": "mpio", "comm": comm} if is_parallel(comm) else {"locking": "best-effort"}
    try:
        return h5py.File(path, "r", **options)
    except FAILURES as reason:
        raise DataError(f"{path}: not an HDF5 file, or damaged or truncated ({reason})") from reason


def _check_kind(file: h5py.File, path: Path | str, kind: str | None) -> None:
    if text_of(file, "program") != MAGIC:
        raise DataError(f"{path}: an HDF5 file, but not one that hpcchain wrote")
    found = text_of(file, "kind")
    if found not in FORMAT or (kind is not None and found != kind):
        more = "; name a run's output directory or one of its checkpoints" if kind == "checkpoint" else ""
        raise DataError(f"{path}: is of kind {found!r} where {kind or 'a file of hpcchain'!r} is needed{more}")
    version = file.attrs["format"]
    if version != FORMAT[found]:
        raise DataError(
            f"{path}: is a file of format {version}, and this program reads only format {FORMAT[found]}: use the "
            "version of hpcchain that wrote it, or make it anew from its input"
        )


def require_own_data(file: h5py.File, path: Path | str) -> None:
    """Raise DataError where what a file seems to hold is in another: by a link, a virtual dataset or outer storage.

    Reading such a file would open what its maker has named.
    """

    def linked(name: bytes, found: h5py.h5l.LinkInfo) -> bytes | None:
        return None if found.type in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT) else name

    def stored(name: bytes) -> bytes | None:
        node = h5py.h5o.open(file.id, name)
        if not isinstance(node, h5py.h5d.DatasetID):
            return None
        how = node.get_create_plist()
        return name if how.get_layout() == h5py.h5d.VIRTUAL or how.get_external_count() else None

    outside = file.id.links.visit(linked, info=True) or h5py.h5o.visit(file.id, stored)
    if outside:
        raise DataError(
            f"{path}: {outside.decode(errors='replace')} is in another file; this program writes no such files, and "
            "does not follow where they lead"
        )


def wrong_contents(path: Path | str, problem: str) -> DataError:
    """Return the DataError for a file of which every byte is as it was written, but that makes no sense."""
    return DataError(f"{path}: {problem}; {NOT_OURS}")


def set_text(node: h5py.File | h5py.Group, name: str, text: str) -> None:
    """Set a fixed-length string attribute, the same on all ranks."""
    node.attrs[name] = np.bytes_(text.encode())


def text_of(node: h5py.File, name: str) -> str:
    """Return a string attribute, or an empty string when there is none."""
    value = node.attrs.get(name, b"")
    return value.decode() if isinstance(value, bytes) else str(value)


def put_text(parent: h5py.File, name: str, text: str, comm: Communicator | None) -> h5py.Dataset:
    """Store a text of any length as a dataset of bytes."""
    return put(parent, name, np.frombuffer(text.encode(), dtype=np.uint8), comm)


def put_json(parent: h5py.File, name: str, value: object, comm: Communicator | None) -> h5py.Dataset:
    """Store a value made of dicts, lists, numbers and strings; floats come back to the bit."""
    return put_text(parent, name, json.dumps(value, sort_keys=True, default=_as_plain), comm)


def get(parent: h5py.File | h5py.Group, name: str, comm: Communicator | None = None) -> np.ndarray:
    """Return a whole dataset on every rank.

    Raises
    ------
    DataError
        When it is absent, or claims to be larger than the file.
    """
    dataset = dataset_of(parent, name)
    return read_at(dataset, (), dataset.shape, comm)


def get_text(parent: h5py.File, name: str, comm: Communicator | None = None, most: int | None = None) -> str:
    """Return a stored text; raises DataError for one of more than so many bytes; default: as an input may have."""
    most = MOST_BYTES * STORED if most is None else most
    if dataset_of(parent, name).nbytes > most:
        raise DataError(f"{parent.file.filename}: {name} has more than {most} bytes; this program writes no such files")
    stored = get(parent, name, comm).tobytes()
    with translated(f"{parent.file.filename}: {name}", "reading"):
        return stored.decode()


def get_json(parent: h5py.File, name: str, kind: type[Stored], comm: Communicator | None = None) -> Stored:
    """Return a stored value of bounded size; raises DataError where it is not of a kind, dict or list."""
    text = get_text(parent, name, comm, MOST_JSON)
    with translated(f"{parent.file.filename}: {name}", "reading"):
        found = json.loads(text)
    if not isinstance(found, kind):
        raise wrong_contents(parent.file.filename, f"{name}: is no {KINDS[kind]}")
    return found


def get_names(parent: h5py.File, name: str) -> tuple[str, ...]:
    """Return stored names; raises DataError where one is no text, or could steer a terminal, which no input's can."""
    found = get_json(parent, name, list)
    names = tuple(one for one in found if isinstance(one, str) and not CONTROL.search(one))
    if len(names) < len(found):
        raise wrong_contents(parent.file.filename, f"{name}: are no names")
    return names


def dataset_of(parent: h5py.File | h5py.Group, name: str) -> h5py.Dataset:
    """Return a dataset that exists and is no larger than its file; else raise DataError."""
    path = parent.file.filename
    node = parent.get(name)
    if not isinstance(node, h5py.Dataset):
        raise DataError(f"{path}: {parent.name.rstrip('/')}/{name} is missing")
    if node.dtype.kind not in "iufbS" or node.shape is None or node.nbytes > os.path.getsize(path):
        raise DataError(f"{path}: {node.name} has an impossible type or size")
    return node


def _as_plain(value: object) -> object:
    """Return a NumPy scalar or array, or a tuple, as JSON knows it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored: {value!r}")
