"""Checkpoints that are not as the program writes them, though their checksums and seals are right."""

import shutil

import h5py

from hpcchain.io.hdf5 import seal, slabs


def spoil(source, path, change):
    """Copy a file, change it, and make its checksums and its seal anew, as a faulty or hostile writer would."""
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        change(file)
        sums = []
        file["checksum"].visititems(lambda name, node: sums.append(name) if isinstance(node, h5py.Dataset) else None)
        for name in sums:
            if name in file and file[name].ndim and len(file[name]):
                found = slabs.block_sums(file[name][()])
                del file[f"checksum/{name}"]
                file[f"checksum/{name}"] = found
    seal.seal(path)
    return path


def put(name, value):
    """Return a change that replaces a dataset."""

    def change(file):
        del file[name]
        file[name] = value

    return change
