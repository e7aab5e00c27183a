"""Constants of runs from tables of numbers, texts, lists and tables, and the other way round."""

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import get_args, get_origin, get_type_hints


def made(kind, value, name):
    """Return constants of a table; raises ValueError, which names it, if it is none."""
    if not isinstance(value, dict):
        raise ValueError(f"{name}: are no table")
    types, own = types_of(kind), {each.name: each for each in fields(kind)}
    needed = {each.name for each in own.values() if each.default is each.default_factory is MISSING}
    wrong = (value.keys() - own.keys()) | (needed - value.keys())
    if wrong:
        raise ValueError(f"{name}: {', '.join(sorted(wrong))} is missing, or unknown")
    return kind(**{one: _value(types[one], each, one) for one, each in value.items()})


@cache
def types_of(kind):
    """Return the types of the fields of constants."""
    return get_type_hints(kind)


def _value(kind, value, name):
    """Return what stands for a value of a type in a table; {} is no constants, too."""
    choices = get_args(kind) if NoneType in get_args(kind) else (kind,)
    if NoneType in choices and value in (None, {}):
        return None
    kind = type(value) if type(value) in choices else choices[0]
    form, inner = get_origin(kind) or kind, get_args(kind)
    if is_dataclass(kind):
        return made(kind, value, name)
    if form is dict:
        return {one: _value(inner[1], each, name) for one, each in value.items()}
    if issubclass(form, tuple):
        if inner:
            return tuple(_value(inner[0], each, name) for each in value)
        return kind(*(_value(own, each, name) for own, each in zip(get_type_hints(kind).values(), value, strict=True)))
    return value


def table_of(constants):
    """Return the table of constants, without those that are as they are by default; empty of none."""
    found = {} if constants is None else {each.name: each for each in fields(constants)}
    values = {name: (getattr(constants, name), each) for name, each in found.items()}
    return {
        name: _plain(value)
        for name, (value, each) in values.items()
        if value != (each.default if each.default_factory is MISSING else each.default_factory())
    }


def _plain(value):
    """Return a value with tables in place of constants and lists in place of tuples."""
    if is_dataclass(value) and not isinstance(value, type):
        return table_of(value)
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
