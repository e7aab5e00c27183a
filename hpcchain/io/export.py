"""Trajectories and checkpoints in the formats of viewers: GSD (OVITO, with bonds) and extended XYZ."""

import importlib
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from hpcchain.errors import DataError, UsageError
from hpcchain.io import atomic, files
from hpcchain.io.checkpoint import read_checkpoint
from hpcchain.io.collective import translated
from hpcchain.io.species import bead_types
from hpcchain.io.trajectory import open_trajectory
from hpcchain.model.system import PERIODIC


@dataclass
class Scene:
    """What every frame shares, and the frames: an iterable of (step, time, position, velocity, image)."""

    species: np.ndarray
    names: list
    mass: np.ndarray
    diameter: np.ndarray
    bonds: np.ndarray
    size: np.ndarray
    origin: np.ndarray
    periodic: np.ndarray
    frames: object


def export(path, fmt, out):
    """Write a trajectory or a checkpoint for a viewer.

    Positions of a checkpoint are those at the starts of the beads' segments.

    Parameters
    ----------
    path : path
        trajectory.h5 or a checkpoint.
    fmt : str
        "gsd" or "extxyz".
    out : path

    Raises
    ------
    UsageError
        When the format is unknown or its package is not installed.
    DataError
        When the file cannot be read, or the output cannot be written.
    """
    writers = {"gsd": _write_gsd, "extxyz": _write_extxyz}
    if fmt not in writers:
        raise UsageError(f"unknown format {fmt!r}: choose one of {', '.join(sorted(writers))}")
    with _scene(path) as scene, atomic.replacing(out) as temp, translated(out, "writing"):
        writers[fmt](scene, temp)


@contextmanager
def _scene(path):
    kind = files.kind_of(path)
    if kind == "checkpoint":
        yield _scene_of_checkpoint(path)
    elif kind == "trajectory":
        with open_trajectory(path) as found:
            frames = ((found.step[i], found.time[i], *found.frame(i)) for i in range(len(found)))
            yield Scene(found.species, found.names, found.mass, found.diameter, found.bonds, found.edges,
                        found.origin, found.periodic, frames)
    else:
        raise DataError(f"{path}: is of kind {kind!r}; only a trajectory or a checkpoint can be exported")


def _scene_of_checkpoint(path):
    found = read_checkpoint(path)
    box, topology, state = found.system.box, found.system.topology, found.system.state
    frame = (0, found.time, state.position, state.velocity, state.image)
    return Scene(*bead_types(topology), topology.mass, topology.diameter, topology.bonds, box.size, box.origin,
                 box.boundary == PERIODIC, [frame])


def _write_gsd(scene, out):
    """Write GSD in HOOMD's schema; positions are wrapped into the box about its centre, in single precision."""
    try:
        hoomd = importlib.import_module("gsd.hoomd")
    except ImportError as reason:
        raise UsageError("export to GSD needs the package gsd: pip install gsd, or use --to extxyz") from reason
    with hoomd.open(str(out), "w") as file:
        for step, time, position, velocity, image in scene.frames:
            wrapped, moved = _wrapped(scene, position)
            frame = hoomd.Frame()
            frame.configuration.step = int(step)
            frame.configuration.box = [*scene.size, 0.0, 0.0, 0.0]
            frame.log["time"] = np.array([time])
            _fill_particles(frame.particles, scene)
            frame.particles.position, frame.particles.velocity = wrapped, velocity
            frame.particles.image = image + moved
            frame.bonds.N, frame.bonds.types = len(scene.bonds), ["bond"]
            frame.bonds.group, frame.bonds.typeid = scene.bonds, np.zeros(len(scene.bonds), dtype=np.uint32)
            file.append(frame)


def _fill_particles(particles, scene):
    particles.N = len(scene.species)
    particles.types, particles.typeid = scene.names, scene.species
    particles.mass, particles.diameter = scene.mass, scene.diameter


def _wrapped(scene, position):
    """Return positions in the box centred on 0, and the box lengths that were taken off, per periodic axis."""
    moved = np.where(scene.periodic, np.floor((position - scene.origin) / scene.size), 0.0)
    return position - scene.origin - (moved + 0.5) * scene.size, moved.astype(np.int64)


def _write_extxyz(scene, out):
    """Write extended XYZ with every digit; positions as stored, unwrapped about each molecule."""
    size = scene.size
    lattice = " ".join(_digits(value) for value in np.diag(size).ravel())
    periodic = " ".join("T" if flag else "F" for flag in scene.periodic)
    origin = " ".join(_digits(value) for value in scene.origin)
    labels = [str(name).replace(" ", "_") for name in scene.names]
    with open(out, "w", encoding="utf-8") as file:
        for step, time, position, velocity, _ in scene.frames:
            file.write(f"{len(position)}\n")
            file.write(f'Lattice="{lattice}" Origin="{origin}" pbc="{periodic}" '
                       "Properties=species:S:1:pos:R:3:velo:R:3:mass:R:1:radius:R:1 "
                       f"Time={_digits(time)} Step={int(step)}\n")
            table = np.column_stack([position, velocity, scene.mass, scene.diameter / 2.0])
            for kind, row in zip(scene.species, table, strict=True):
                file.write(f"{labels[kind]} {' '.join(map(_digits, row))}\n")


def _digits(value):
    return repr(float(value))
