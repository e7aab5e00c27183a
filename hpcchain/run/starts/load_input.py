"""Read an input; its molecules, where it names none, are those of its start file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.config.load import config_from_table, read_table
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_config
from hpcchain.io.hdf5 import seal

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config


def load_input(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Return the checked Config of an input file; parameters and errors as `read_table` has them."""
    return input_from_table(read_table(path, overrides), str(path))


def input_from_table(table: Mapping[str, object], name: str) -> Config:
    """Return the checked Config of an input's TOML table, `name` in messages.

    Raises
    ------
    ConfigError
        One message with the key.
    DataError
        Where molecules are to be those of a start file that cannot be read.
    """

    def stored(file: str) -> Config:
        try:
            return read_config(file)
        except DataError as error:
            problem = error
        try:
            seal.check(file)  # which says more of what is no such file
        except DataError as error:
            problem = error
        raise DataError(f"{name}: initial.file: {problem}")

    return config_from_table(table, name, stored)
