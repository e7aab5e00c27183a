"""Settings from the command line that replace what the input file says."""

import re
import tomllib
from typing import Any

from hpcchain.config.bounds import MOST_PARTS, require_bounded
from hpcchain.config.keys.values import shown
from hpcchain.config.packing import EITHER
from hpcchain.errors import ConfigError

LOOSE_NUMBER = re.compile(r"[+-]?(?:\d+\.|\.\d+)(?:[eE][+-]?\d+)?")
"""A number as people write it and TOML does not: without a digit before or behind the point."""

BARE_WORD = re.compile(r"[A-Za-z_./][\w./-]*")


def apply(table: dict, override: str) -> None:
    """Change a TOML table by one "section.key=value" text.

    Parameters
    ----------
    table : dict
        The input's table, changed in place.
    override : str
        The value is read as TOML; a bare word is taken as text; a whole number in the path counts [[molecule]] from 0.

    Raises
    ------
    ConfigError
        When the text has another form or names an entry that does not exist.
    """
    path, equals, value = override.partition("=")
    steps = [step.strip() for step in path.split(".")]
    if not equals or not all(steps):
        raise ConfigError(f"--set {shown(override)}: needs the form section.key=value, for example run.end_time=10.0")
    if len(steps) > MOST_PARTS:
        raise ConfigError(
            f"--set {shown(override)}: the key has {len(steps)} parts with dots between them, more than "
            f"{MOST_PARTS}; keys are section.key"
        )
    place = table
    for depth, step in enumerate(steps[:-1]):
        place = enter(place, step, steps[depth + 1], override)
    if not isinstance(place, dict):
        raise ConfigError(f"--set {shown(override)}: name a key after the number, for example molecule.0.count=10")
    place[steps[-1]] = read_value(value.strip(), override)
    if steps[:-1] == ["box"]:
        place.pop(EITHER.get(steps[-1]), None)


def enter(place: dict | list, step: str, following: str, override: str) -> dict | list:
    """Return the table or list under one step of the path, made where a section is missing."""
    if isinstance(place, list):
        if not (step.isascii() and step.isdigit() and int(step[:9]) < len(place)):
            raise ConfigError(f"--set {shown(override)}: there is no entry {step}; the input has {len(place)}, from 0")
        inner = place[int(step)]
    elif step not in place and following.isdigit():
        raise ConfigError(f"--set {shown(override)}: the input has no [[{step}]] to change")
    else:
        inner = place.setdefault(step, {})
    if not isinstance(inner, (dict, list)):
        raise ConfigError(f"--set {shown(override)}: {step} is a value, not a section")
    return inner


def read_value(text: str, override: str) -> Any:
    """Return the TOML value of a text, or a number such as .9; any other bare word or path is a text of its own.

    Raises
    ------
    ConfigError
        When it is neither, or beyond the bounds of an input (`bounds`).
    """
    if LOOSE_NUMBER.fullmatch(text):
        return float(text)
    require_bounded(f"value = {text}", f"--set {shown(override)}")
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        parsed = {}
    if list(parsed) == ["value"]:
        return parsed["value"]
    if BARE_WORD.fullmatch(text):
        return text
    raise ConfigError(f"--set {shown(override)}: {shown(text)} is not a TOML value; put texts in quotes")
