"""Settings from the command line that replace what the input file says."""

import re
import tomllib
from collections.abc import Mapping
from typing import TypeAlias

from hpcchain.config.bounds import MOST_PARTS, require_bounded
from hpcchain.config.keys.values import shown
from hpcchain.config.packing import EITHER
from hpcchain.config.text import cure
from hpcchain.errors import ConfigError

LOOSE_NUMBER = re.compile(r"[+-]?(?:\d+\.|\.\d+)(?:[eE][+-]?\d+)?")
"""A number as people write it and TOML does not: without a digit before or behind the point."""

INDEX = re.compile(r"\[(\d+)\]")
"""Of an entry, as messages write it: molecule[0].count is molecule.0.count."""
LISTS = ("wall", "potential", "contact.pair")
"""Tables of which there are any number, or none."""

Table: TypeAlias = dict[str, object] | list[object]
BARE_WORD = re.compile(r"[A-Za-z_./][\w./-]*")


def apply(table: dict[str, object], override: str) -> None:
    """Change a TOML table by one "section.key=value" text.

    Parameters
    ----------
    table : dict
        The input's table, changed in place.
    override : str
        The value is read as TOML; a bare word is taken as text; a whole number in the path counts [[molecule]] from 0,
        and may be left out where there is one.

    Raises
    ------
    ConfigError
        When the text has another form or names an entry that does not exist.
    """
    path, equals, value = override.partition("=")
    path = INDEX.sub(r".\1", path)
    parts = [part.strip() for part in path.split(".")]
    if not equals or not all(parts):
        raise ConfigError(f"--set {shown(override)}: needs the form section.key=value, for example run.end_time=10.0")
    if len(parts) > MOST_PARTS:
        raise ConfigError(
            f"--set {shown(override)}: the key has {len(parts)} parts with dots between them, more than "
            f"{MOST_PARTS}; keys are section.key"
        )
    inner: Table = table
    for depth in range(len(parts) - 1):
        inner = enter(inner, parts[: depth + 1], parts[depth + 1], override)
    last, given = parts[-1], read_value(value.strip(), override)
    if isinstance(inner, dict):
        inner[last] = given
        if parts[:-1] == ["box"] and last in EITHER:
            inner.pop(EITHER[last], None)
    elif any(isinstance(one, dict) for one in inner):
        raise ConfigError(f"--set {shown(override)}: name a key after the number, for example molecule.0.count=10")
    else:
        inner[number_of(last, inner, override)] = given


def enter(outer: Table, path: list[str], following: str, override: str) -> Table:
    """Return the table or list under the last part of a path, made where a section is missing."""
    part, header = path[-1], ".".join(name for name in path if not name.isdigit())
    if isinstance(outer, list):
        inner: object = outer[number_of(part, outer, override)]
    elif part not in outer and (following.isdigit() or header in LISTS):
        raise ConfigError(f"--set {shown(override)}: the input has no [[{header}]] to change")
    else:
        inner = outer.setdefault(part, {})
    if not isinstance(inner, (dict, list)):
        raise ConfigError(f"--set {shown(override)}: {part} is a value, not a section")
    if isinstance(inner, list) and not following.isdigit() and all(isinstance(one, dict) for one in inner):
        if len(inner) != 1:
            raise ConfigError(
                f"--set {shown(override)}: the input has {len(inner)} tables [[{header}]]; say which, from 0: "
                f"{'.'.join(path)}.0.{following}"
            )
        return inner[0]
    return inner


def number_of(part: str, entries: list[object], override: str) -> int:
    """Return the number of an entry that part of a path names; raises ConfigError where there is none."""
    if part not in map(str, range(len(entries))):
        raise ConfigError(
            f"--set {shown(override)}: there is no entry {part:.20}; the input has {len(entries)}, from 0"
        )
    return int(part)


def read_settings(settings: Mapping[str, str]) -> dict[str, object]:
    """Return what keys' texts, as `--set` takes them, stand for: .5 and 0.5 are one value."""
    return {key: read_value(text, f"{key}={text}") for key, text in settings.items()}


def read_value(text: str, override: str) -> object:
    """Return the TOML value of a text, or a number such as .9; any other bare word or path is a text of its own.

    Raises
    ------
    ConfigError
        When it is neither, or beyond the bounds of an input (`bounds`).
    """
    if LOOSE_NUMBER.fullmatch(text):
        return float(text)
    require_bounded(f"value = {text}", f"--set {shown(override)}")
    if any("\ud800" <= letter <= "\udfff" for letter in text):  # bytes of the command line that are no UTF-8
        raise ConfigError(f"--set {shown(override)}: is not in UTF-8; set the terminal's encoding to it")
    try:
        parsed = tomllib.loads(f"value = {text}")
        hint = ""
    except (ValueError, RecursionError) as error:
        parsed, hint = {}, cure(f"value = {text}", str(error))
    if list(parsed) == ["value"]:
        return parsed["value"]
    if BARE_WORD.fullmatch(text):
        return text
    raise ConfigError(f"--set {shown(override)}: {shown(text)} is not a TOML value" + (hint or "; put texts in quotes"))
