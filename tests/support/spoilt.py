"""Checkpoints that are not as the program writes them, though their checksums and seals are right."""

import shutil

import h5py

from hpcchain import api
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5 import seal, slabs
from tests.support.mixtures import to_toml
from tests.support.run_folders import run_here

OUTPUT = {"frame_every": 1.0, "report_every": 1.0, "checkpoint_every": 1.0}
STEPPED = {"name": "variational", "step": 0.02}
INPUTS = {
    "mixed": {
        "box": {"size": [6.0, 6.5, 7.0], "boundary": ["periodic", "wall", "periodic"]},
        "molecule": [
            {"kind": "chain", "beads": 4, "count": 6, "mass": 2.0},
            {"kind": "ring", "beads": 5, "count": 3},
            {"kind": "rod", "beads": 3, "count": 3, "bond_length": [1.0, 1.25]},
            {"kind": "star", "arms": 3, "arm_beads": 1, "count": 2, "diameter": 0.9},
            {"kind": "monomer", "count": 12},
        ],
        "initial": {"seed": 5},
        "contact": {"restitution": 0.9, "contact_time": 0.01},
        "run": {"end_time": 1.0},
        "output": OUTPUT | {"events": True},
    },
    "directors": {
        "box": {"size": [6.0, 6.0, 6.0], "boundary": ["periodic", "wall", "open"]},
        "molecule": [
            {"kind": "monomer", "name": "A", "count": 12, "mass": 2.0, "directors": True},
            {"kind": "monomer", "name": "B", "count": 6, "diameter": 0.7, "directors": True, "moment": 0.3}
            | {"propagator": STEPPED},
            {"kind": "chain", "beads": 3, "count": 4},
        ],
        "initial": {"seed": 6},
        "run": {"end_time": 1.0},
        "output": OUTPUT,
    },
}
"""Small runs of many kinds of molecules, and of spheres with directors."""


def samples(folder, name):
    """Make NAME-start.h5 and, from the run that begins there, NAME-checkpoint.h5 of time 1; return the folder."""
    source = folder / f"{name}.toml"
    source.write_text(to_toml(INPUTS[name]))
    api.build(source, folder / f"{name}-start.h5")
    run = run_here(source, folder / f"{name}-run")
    shutil.copy(list_checkpoints(run / "checkpoints")[0][1], folder / f"{name}-checkpoint.h5")
    return folder


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
