"""What `run --vary` asks for: keys of the input with several values each, and the runs that their combinations are."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hpcchain.config.keys.values import shown
from hpcchain.config.override import read_value
from hpcchain.errors import ConfigError

RANGE = re.compile(r"(\d+):(\d+)")
MOST_RUNS = 10_000
MOST_DIGITS = 18
MOST = 10**MOST_DIGITS
MOST_LETTERS = 200
"""Of a run's name, which is a folder's: file systems take 255."""
FOLDER = "output.directory"
FORM = "needs the form section.key=value,value or section.key=first:last, for example initial.seed=1:16"


class Varied(NamedTuple):
    """A key of the input and its values, as `--set` takes them."""

    key: str
    values: tuple[str, ...]


class Combination(NamedTuple):
    """One run of several: the name of its folder, and key -> value."""

    name: str
    settings: dict[str, str]

    @property
    def overrides(self) -> list[str]:
        """What `--set` would be given."""
        return [f"{key}={value}" for key, value in self.settings.items()]


def combinations(words: Sequence[str], overrides: Sequence[str] = ()) -> list[Combination]:
    """Return the runs that texts such as "initial.seed=1:16" ask for, the last key's values one after another.

    Parameters
    ----------
    words : sequence of str
        A key each: "key=first:last", whole numbers, or "key=value,value,…", each as `--set` takes it.
    overrides : sequence of str
        What `--set` gives besides; none of the same keys.

    Raises
    ------
    ConfigError
        Where a text has another form, says something twice, or there are more than MOST_RUNS.
    """
    found = [varied(word) for word in words]
    keys = [one.key for one in found]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"--vary {key}: is given twice; name all its values at once")
        if key in (text.partition("=")[0].strip() for text in overrides):
            raise ConfigError(f"--vary {key}: is given by --set, too; leave one of them out")
    if math.prod(len(one.values) for one in found) > MOST_RUNS:
        raise ConfigError(f"--vary {' '.join(words)}: are more than {MOST_RUNS} runs; vary fewer keys, or fewer values")
    names = [[f"{label}-{value}" for value in words_of(one)] for label, one in zip(labels(keys), found, strict=True)]
    runs = [
        Combination("_".join(name), dict(zip(keys, values, strict=True)))
        for name, values in zip(
            itertools.product(*names), itertools.product(*(one.values for one in found)), strict=True
        )
    ]
    if max(len(run.name) for run in runs) > MOST_LETTERS:
        raise ConfigError(f"--vary {' '.join(words)[:200]}: the runs' folders get too long a name; vary fewer keys")
    return runs


def varied(word: str) -> Varied:
    """Return the key and the values of one text; raises ConfigError where it has another form."""
    key, equals, text = (part.strip() for part in word.partition("="))
    if not (key and equals and text) or not all(part.strip() for part in key.split(".")):
        raise ConfigError(f"--vary {shown(word)}: {FORM}")
    if key == FOLDER:
        raise ConfigError(f"--vary {key}: all runs have folders in one; give it with --output")
    ends = RANGE.fullmatch(text)
    if ends:
        first, last = (int(end) if len(end) <= MOST_DIGITS else MOST for end in ends.groups())
        if not first <= last < min(first + MOST_RUNS, MOST):
            raise ConfigError(
                f"--vary {shown(word)}: counts from {ends[1]:.20} to {ends[2]:.20}; give a range that rises, of at "
                f"most {MOST_RUNS} whole numbers"
            )
        return Varied(key, tuple(map(str, range(first, last + 1))))
    values = tuple(pieces(text))
    if ":" in text and not any(mark in text for mark in "\"'[{"):
        raise ConfigError(
            f"--vary {shown(word)}: ranges first:last are of whole numbers; list other values with commas"
        )
    for value in values:
        if not value:
            raise ConfigError(f"--vary {shown(word)}: a value is missing between two commas; {FORM}")
        try:
            read_value(value, f"{key}={value}")
        except ConfigError as error:
            raise ConfigError(str(error).replace("--set ", "--vary ", 1)) from None
    return Varied(key, values)


def pieces(text: str) -> Iterator[str]:
    """Yield the values between the commas of a text, less those inside quotes and brackets."""
    begin, depth, quote = 0, 0, ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[begin:place].strip()
            begin = place + 1
    yield text[begin:].strip()


def labels(keys: Sequence[str]) -> list[str]:
    """Return what folders call keys: the last part, or the whole key where two end alike."""
    last = [key.rpartition(".")[2] for key in keys]
    return [key if last.count(end) > 1 else end for key, end in zip(keys, last, strict=True)]


def words_of(one: Varied) -> list[str]:
    """Return what folders call the values of a key: whole numbers with leading zeros, so that names sort by them.

    Raises ConfigError where two values would have the same name.
    """
    values = [read_value(value, f"{one.key}={value}") for value in one.values]
    if all(type(value) is int and value >= 0 for value in values):
        width = max(len(str(value)) for value in values)
        names = [f"{value:0{width}d}" for value in values]
    else:
        names = [re.sub(r"[^\w.+-]+", "-", json.dumps(value, ensure_ascii=False, default=str)) for value in values]
        names = [
            name if type(value) in (int, float) else name.strip("-.") or "-"
            for name, value in zip(names, values, strict=True)
        ]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--vary {one.key}: has the value {name} twice, or two that folders cannot tell apart")
    return names
