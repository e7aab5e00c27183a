"""The trajectory file: H5MD 1.1 in the profile that MDAnalysis and VMD read; its layout, and a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import h5py
import numpy as np

import hpcchain
from hpcchain.io.hdf5 import files, slabs
from hpcchain.model.system import OPEN, PERIODIC
from hpcchain.parallel import slabs as parallel_slabs

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, Topology
    from hpcchain.parallel.agreement import Communicator

GROUP = "particles/trajectory"
VECTORS = {"position": np.float64, "velocity": np.float64, "image": np.int64}
ORIENTATION = "orientation"
SPIN = ("angular_velocity", "moment_of_inertia")
"""Where spheres have directors: a table more for each frame, and what does not change with time."""


class Lasting(NamedTuple):
    """What does not change with time, and which tables of each frame there are besides `VECTORS`.

    `constant` has this rank's slabs by name: of spheres with directors `SPIN`, and where contacts change spins moments
    alone. `turning` names ORIENTATION, or angular velocities and maybe ORIENTATION.
    """

    topology: Composition
    box: Box
    constant: Mapping[str, np.ndarray] = MappingProxyType({})
    turning: Sequence[str] = ()


def create_layout(
    file: h5py.File, steps: np.ndarray, times: np.ndarray, lasting: Lasting, comm: Communicator | None
) -> None:
    """Write all but what each frame has of its own, and create the tables of frames at these steps; collective."""
    topology, box, frames = lasting.topology, lasting.box, len(times)
    _write_h5md(file)
    group = file.create_group(GROUP)
    _create_series(group, frames, topology.beads, lasting.turning)
    slabs.put_slabs(group, topology.beads, lasting.constant, comm)
    _write_box(group, frames, box, comm)
    _write_beads(file, group, topology, comm)
    _write_bonds(file, group, topology, comm)
    slabs.put(file, "parameters/box_origin", np.asarray(box.origin, dtype=np.float64), comm)
    slabs.put(file, "parameters/boundary", np.asarray(box.boundary, dtype=np.int8), comm)
    low, high = parallel_slabs.slab(frames, comm)
    clock = {"step": steps, "time": times}.items()
    slabs.write_all([slabs.Part(group[f"position/{name}"], (low,), values[low:high]) for name, values in clock], comm)


def write_frame(file: h5py.File, number: int, rows: Mapping[str, np.ndarray], comm: Communicator | None) -> None:
    """Write this rank's slab of one frame: dict of name -> (n, 3), or (n, 4) of orientations."""
    tables = {name: file[f"{GROUP}/{name}/value"] for name in rows}
    first = {name: (number, parallel_slabs.slab(table.shape[1], comm)[0]) for name, table in tables.items()}
    slabs.write_all([slabs.Part(tables[name], first[name], part[None]) for name, part in rows.items()], comm)


def _write_h5md(file: h5py.File) -> None:
    group = file.create_group("h5md")
    group.attrs["version"] = np.array([1, 1], dtype=np.int32)
    files.set_text(group.create_group("author"), "name", "hpcchain")
    creator = group.create_group("creator")
    files.set_text(creator, "name", "hpcchain")
    files.set_text(creator, "version", hpcchain.__version__)


def _create_series(group: h5py.Group, frames: int, beads: int, turning: Sequence[str]) -> None:
    """Create the time-dependent tables; all share one step and one time dataset."""
    for name, kind in VECTORS.items():
        slabs.create(group, f"{name}/value", (frames, beads, 3), kind)
    for name in turning:
        slabs.create(group, f"{name}/value", (frames, beads, 4 if name == ORIENTATION else 3), np.float64)
    slabs.create(group, "position/step", (frames,), np.int64)
    slabs.create(group, "position/time", (frames,), np.float64)
    for name in ("velocity", "image", "box/edges", *turning):
        for column in ("step", "time"):
            group.require_group(name)[column] = group[f"position/{column}"]


def _write_box(group: h5py.Group, frames: int, box: Box, comm: Communicator | None) -> None:
    group["box"].attrs["dimension"] = np.int32(3)
    boundary = ["periodic" if kind == PERIODIC else "none" for kind in box.boundary]
    group["box"].attrs["boundary"] = np.array(boundary, dtype="S8")
    edges = slabs.create(group, "box/edges/value", (frames, 3), np.float64)
    low, high = parallel_slabs.slab(frames, comm)
    slabs.write_all([slabs.Part(edges, (low,), np.broadcast_to(box.size, (high - low, 3)))], comm)


def _write_beads(file: h5py.File, group: h5py.Group, topology: Composition, comm: Communicator | None) -> None:
    ids = np.arange(*parallel_slabs.slab(topology.beads, comm), dtype=np.int64)
    own, names = bead_columns(topology, ids)
    slabs.put_slabs(group, topology.beads, {"id": ids} | own, comm)
    files.put_json(file, "parameters/species_names", names, comm)


def bead_columns(topology: Composition, ids: np.ndarray) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return what does not change of some beads, name -> column, and the names of all species."""
    species, names = bead_types(topology.prototypes)
    like = topology.prototype_of(ids)
    return {
        "species": species[like],
        "mass": topology.prototypes.mass[like],
        "diameter": topology.prototypes.diameter[like],
        "molecule": topology.molecule_of(ids).astype(np.int64),
    }, names


def _write_bonds(file: h5py.File, group: h5py.Group, topology: Composition, comm: Communicator | None) -> None:
    count = topology.count("bonds")
    bonds = np.asarray(topology.rows("bonds", *parallel_slabs.slab(count, comm)), dtype=np.int64).reshape(-1, 2)
    first, second = (bonds.T + 1).astype(np.int32)
    place = "parameters/vmd_structure"
    tables: dict[str, np.ndarray] = {"connectivity/bonds": bonds, f"{place}/bond_from": first}
    tables[f"{place}/bond_to"] = second
    slabs.put_slabs(file, count, tables, comm)["connectivity/bonds"].attrs["particles_group"] = group.ref


@dataclass
class Trajectory:
    """What a trajectory.h5 has besides its frames; see `read_trajectory`.

    Attributes
    ----------
    step : (F,) int64 array
    time : (F,) float64 array
        [time]
    species, molecule : (N,) integer arrays
    names : list of str
        Names of the bead types that `species` counts.
    mass, diameter : (N,) float64 arrays
        [mass], [length]
    bonds : (B, 2) int64 array
    edges, origin : (3,) float64 arrays
        The box [length].
    periodic : (3,) bool array
    bounded : bool
        Whether no axis is open.
    angular_velocity : (N, 3) float64 array or None
        Where spheres have directors, else None; 0 of other beads [1 / time].
    moment_of_inertia : (N,) float64 array or None
        The same, and where contacts make beads spin [mass length^2].
    turns : bool
        Whether frames have orientations.
    """

    step: np.ndarray
    time: np.ndarray
    species: np.ndarray
    molecule: np.ndarray
    names: list[str]
    mass: np.ndarray
    diameter: np.ndarray
    bonds: np.ndarray
    edges: np.ndarray
    origin: np.ndarray
    periodic: np.ndarray
    bounded: bool
    angular_velocity: np.ndarray | None
    moment_of_inertia: np.ndarray | None
    turns: bool

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.time)


def read_trajectory(path: Path | str) -> Trajectory:
    """Return the Trajectory in a trajectory.h5 whose seal has been checked.

    Raises
    ------
    DataError
        When something in it cannot be read.
    """
    with files.reading(path, "trajectory", checked=False) as file:
        mass = files.get(file, f"{GROUP}/mass")
        constant = {name for name in SPIN if isinstance(file.get(f"{GROUP}/{name}"), h5py.Dataset)}
        spin = {name: files.get(file, f"{GROUP}/{name}") if name in constant else None for name in SPIN}
        _check_spin(file, spin, len(mass))
        edges = files.get(file, f"{GROUP}/box/edges/value")
        boundary = files.get(file, "parameters/boundary")
        return Trajectory(
            step=files.get(file, f"{GROUP}/position/step"),
            time=files.get(file, f"{GROUP}/position/time"),
            names=list(files.get_names(file, "parameters/species_names")),
            bonds=files.get(file, "connectivity/bonds"),
            edges=edges[0] if len(edges) else np.zeros(3),
            origin=files.get(file, "parameters/box_origin"),
            periodic=boundary == PERIODIC,
            bounded=not np.any(boundary == OPEN),
            turns=f"{GROUP}/{ORIENTATION}/value" in file,
            species=files.get(file, f"{GROUP}/species"),
            molecule=files.get(file, f"{GROUP}/molecule"),
            mass=mass,
            diameter=files.get(file, f"{GROUP}/diameter"),
            angular_velocity=spin[SPIN[0]],
            moment_of_inertia=spin[SPIN[1]],
        )


def _check_spin(file: h5py.File, spin: Mapping[str, np.ndarray | None], beads: int) -> None:
    """Raise DataError unless orientation and spin are of the shapes of the beads, or are not there at all."""
    series = [f"{GROUP}/{name}/value" for name in (SPIN[0], ORIENTATION)]
    found = [None if value is None else value.shape for value in spin.values()]
    found += [files.dataset_of(file, name).shape[1:] if name in file else None for name in series]
    vectors, numbers, turned = (beads, 3), (beads,), (beads, 4)
    changing = [[None, numbers, vectors, orientation] for orientation in (turned, None)]
    if found not in ([None] * 4, [vectors, numbers, None, turned], *changing):
        raise files.wrong_contents(file.filename, f"{', '.join(SPIN)} and {ORIENTATION} are not of {beads} beads")


def bead_types(topology: Topology) -> tuple[np.ndarray, list[str]]:
    """Return the species of every bead as viewers know them, and the species' names.

    Returns
    -------
    species : (N,) int32 array
        Ordered by (type, diameter, mass).
    names : list of str
        The type's name, which is the molecule's unless the input has others; with a number behind it where beads of one
        type have several diameters or masses. No two are the same. Beads of a kind of many sizes are of one species.
    """
    kind = topology.bead_type
    if not len(kind):
        return np.zeros(0, dtype=np.int32), []
    tables = Counter(topology.names)  # sizes of one kind share its name
    sized = np.array([tables[name] > 1 for name in topology.names])[topology.kind]
    sized_types = np.unique(kind[np.repeat(sized, np.diff(topology.first_bead))])
    diameter = np.where(np.isin(kind, sized_types), 0.0, topology.diameter)
    triples = np.column_stack([kind.astype(np.float64), diameter, topology.mass])
    types, species = np.unique(triples, axis=0, return_inverse=True)
    kinds = types[:, 0].astype(int)
    numbers = [int(np.sum(kinds[:before] == kind)) for before, kind in enumerate(kinds)]
    several = np.bincount(kinds)[kinds] > 1
    names: list[str] = []
    for k, n, more in zip(kinds, numbers, several, strict=True):
        name = topology.type_names[k] + (f".{n}" if more else "")
        while more and (name in topology.type_names or name in names):
            name += "_"
        names.append(name)
    return species.reshape(-1).astype(np.int32), names
