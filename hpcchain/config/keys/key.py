"""How a key of the input is declared: as a field of the section that it is read to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import ClassVar, Generic, TypeVar, overload

from hpcchain.config.keys.values import Value

T = TypeVar("T")


class Mandatory:
    """In place of a default: what is read is there; `name` says why."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


REQUIRED, FOLLOWS = Mandatory("required"), Mandatory("follows")
"""In place of a default: the key must be given; or, left out, it is worked out from others when all are read."""
ABSENT = None
"""In place of a default: the key may be left out, and then is not set."""

# A run's size is bounded long before this by memory; it keeps ids within 32 bits, and sums of bead counts within 64.
MOST_BEADS = 2**31


@dataclass(frozen=True)
class Key(Generic[T]):
    """One key of the input.

    Attributes
    ----------
    default : object
        REQUIRED, ABSENT, or the value used when it is left out.
    value : Value
        Reads the TOML value (`hpcchain.config.keys.values`).
    meaning : str
        One line, with the unit in square brackets.
    of : tuple of str
        The kinds or names of its section for which it means something; () for all.
    section, name : str
        Where it stands; the section is "" at the top level.
    """

    default: object
    value: Value[T]
    meaning: str
    of: tuple[str, ...] = ()
    section: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        """The key with its section."""
        return f"{self.section}.{self.name}" if self.section else self.name


@overload
def key(default: None, value: Value[T], meaning: str, of: tuple[str, ...] = (), compare: bool = True) -> T | None: ...
@overload
def key(default: Mandatory, value: Value[T], meaning: str, of: tuple[str, ...] = (), compare: bool = True) -> T: ...
@overload
def key(default: T, value: Value[T], meaning: str, of: tuple[str, ...] = (), compare: bool = True) -> T: ...
def key(default: object, value: Value[object], meaning: str, of: tuple[str, ...] = (), compare: bool = True) -> object:
    """Return a section's field for a key; parameters are those of a Key, `compare` is that of a dataclass's field."""
    declared = {"key": Key(ABSENT if default is FOLLOWS else default, value, meaning, of)}
    if isinstance(default, Mandatory):
        return field(compare=compare, metadata=declared)
    return field(default=default, compare=compare, metadata=declared)


def required(value: T | None) -> T:
    """Return a value that is there, as checks before have found."""
    if value is None:
        raise ValueError("a key that has been checked is not there")
    return value


@dataclass(frozen=True)
class Section:
    """A table of the input as the program sees it: its fields that are made by `key` are its keys.

    Attributes
    ----------
    section : str
        Its name.
    chooser : str
        The key by whose value others mean something (`Key.of`).
    """

    section: ClassVar[str]
    chooser: ClassVar[str] = "name"

    @property
    def chosen(self) -> str:
        """The value of the chooser, "" where it has none."""
        return getattr(self, self.chooser, None) or ""

    @classmethod
    @cache
    def keys(cls) -> dict[str, Key[object]]:
        """Return {name: Key} in the order of declaration."""
        declared = [(one.name, one.metadata["key"]) for one in fields(cls) if "key" in one.metadata]
        return {name: replace(key, section=cls.section, name=name) for name, key in declared}


S = TypeVar("S", bound=Section)


def numbered(tables: Iterable[S]) -> Iterator[tuple[str, S]]:
    """Yield the tables of a list, each behind how messages call it."""
    return ((f"{one.section}[{k}]", one) for k, one in enumerate(tables))
