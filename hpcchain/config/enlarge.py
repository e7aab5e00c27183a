"""The input of a box that is made of copies of another's."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.config.demands.check import check
from hpcchain.config.keys.values import Wrong
from hpcchain.config.sizes import with_counts
from hpcchain.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config


def enlarged(config: Config, numbers: Sequence[int], start: Path | str) -> Config:
    """Return the input of numbers[0] x numbers[1] x numbers[2] copies of an input's box, which starts from a file.

    Parameters
    ----------
    config : Config
    numbers : (int, int, int)
        Copies along each axis.
    start : path
        The file.

    Raises
    ------
    UsageError
        When an axis of which there are to be several copies is not periodic.
    ConfigError
        When so large a box is no possible input.
    """
    for axis, number in enumerate(numbers):
        if number > 1 and config.box.boundary[axis] != "periodic":
            raise UsageError(
                f"--replicate: {number} copies along axis {axis}, but box.boundary is "
                f'"{config.box.boundary[axis]}" there in {config.source}; only a periodic axis can be '
                "copied: give 1 for it"
            )
    count = math.prod(numbers)
    size = tuple(edge * number for edge, number in zip(config.box.size, numbers, strict=True))
    initial = replace(config.initial, method="file", file=os.path.abspath(start))
    try:
        molecules = with_counts(config.molecules, count)
        large = replace(config, box=replace(config.box, size=size), molecules=molecules, initial=initial)
        check(large)
    except Wrong as wrong:
        raise ConfigError(f"{config.source}: --replicate: {wrong}") from None
    return large
