"""The file of a start that still grows: from it growth goes on to the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

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
    numbers : dict of str -> number
        What else growth goes on from (`hpcchain.run.starts.growth`).
    position, velocity : (N, 3) float64 arrays
        [length], [length / time].
    calm_position, calm_velocity : (N, 3) float64 arrays
        Of the last slice in which beads did not meet often.
    """

    numbers: dict[str, float]
    position: np.ndarray
    velocity: np.ndarray
    calm_position: np.ndarray
    calm_velocity: np.ndarray


def write_growth(path: Path, state: GrowthState, config_toml: str) -> None:
    """Write a GrowthState and the input it belongs to, atomically; not collective."""
    with files.writing(path, KIND, None) as file:
        files.put_text(file, "config", config_toml, None)
        files.put_json(file, "numbers", state.numbers, None)
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
        numbers = cast("dict[str, float]", files.get_json(file, "numbers", dict))
        return GrowthState(numbers, **arrays), files.get_text(file, "config")
