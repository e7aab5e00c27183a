"""The file of a start that still grows: from it growth goes on to the same bits."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import files, slabs

KIND = "growth"
ARRAYS = ("position", "velocity", "calm_position", "calm_velocity")


@dataclass(frozen=True)
class GrowthState:
    """Where growth is, at the end of a slice.

    Attributes
    ----------
    position, velocity : (N, 3) float64 arrays
        Without overlaps at the size that is reached [length], [length / time].
    calm_position, calm_velocity : (N, 3) float64 arrays
        Of the last slice in which beads did not meet often.
    draw : int
        Which placement it began from.
    placed, step : float
        Fraction of the full size at the beginning, and its growth in a slice.
    rate : float
        Growth of that fraction in a thermal time.
    slice, slices, calm : int
        Slices done, slices in all, and those done when beads last did not meet often.
    tries : int
        How often growth may still go on more slowly.
    freedom : int
        Degrees of freedom.
    tick : float
        Of the clock [time].
    """

    position: np.ndarray
    velocity: np.ndarray
    calm_position: np.ndarray
    calm_velocity: np.ndarray
    draw: int
    placed: float
    step: float
    rate: float
    slice: int
    slices: int
    calm: int
    tries: int
    freedom: int
    tick: float

    @property
    def size(self) -> float:
        """Fraction of the full diameters that is reached."""
        return self.placed + self.slice * self.step


NUMBERS = [one.name for one in fields(GrowthState) if one.name not in ARRAYS]


def write_growth(path: Path, state: GrowthState, config_toml: str) -> None:
    """Write a GrowthState and the input it belongs to, atomically; not collective."""
    with files.writing(path, KIND, None) as file:
        files.put_text(file, "config", config_toml, None)
        numbers = {name: getattr(state, name) for name in (*NUMBERS, "size")}
        files.put_json(file, "numbers", numbers, None)
        for name in ARRAYS:
            slabs.put(file, name, getattr(state, name), None)


def read_growth(path: Path) -> tuple[GrowthState, str]:
    """Return (GrowthState, input as text) of a file; not collective.

    Raises
    ------
    DataError
        When the file is missing, foreign or damaged.
    """
    with files.reading(path, KIND) as file:
        arrays = {name: files.get(file, name) for name in ARRAYS}
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) != 1 or len(shapes.copy().pop()) != 2:
            raise DataError(f"{path}: its arrays are not of the same beads; the file is damaged")
        given = files.get_json(file, "numbers", dict)
        numbers = {name: given[name] for name in NUMBERS}
        return GrowthState(**arrays, **numbers), files.get_text(file, "config")  # type: ignore[arg-type]  # as written
