"""What one key of the input is, and values that several sections share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hpcchain.config.keys.values import TIMES, Number


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
ABSENT = None

# A run's size is bounded long before this by memory; it keeps sums of bead counts within an int64.
MOST_BEADS = 2**31


@dataclass(frozen=True)
class Key:
    """One key of the input.

    Attributes
    ----------
    section, name : str
        Where it stands; the section is "" at the top level.
    value : Any
        Reads the TOML value (`hpcchain.config.keys.values`).
    default : Any
        REQUIRED, ABSENT (the key may be left out and then is not set), or the value used when it is left out.
    meaning : str
        One line, with the unit in square brackets.
    """

    section: str
    name: str
    value: Any
    default: Any
    meaning: str

    @property
    def path(self) -> str:
        """The key with its section."""
        return f"{self.section}.{self.name}" if self.section else self.name


POSITIVE, TIME = Number(above=0.0), Number(above=0.0, tried=TIMES)
