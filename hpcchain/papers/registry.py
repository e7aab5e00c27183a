"""Which experiments there are, and which of them are meant."""

import importlib
import pkgutil
from typing import Any

from hpcchain.config.keys.values import nearest
from hpcchain.errors import UsageError
from hpcchain.papers import experiments


def found() -> dict:
    """Return {name: module} of all experiments, by name.

    Raises
    ------
    ValueError
        If two modules have one name.
    """
    by_name = {}
    for entry in pkgutil.iter_modules(experiments.__path__):
        module = importlib.import_module(f"{experiments.__name__}.{entry.name}")
        if module.NAME in by_name:
            raise ValueError(f"{module.__name__} and {by_name[module.NAME].__name__} are both called {module.NAME}")
        by_name[module.NAME] = module
    return dict(sorted(by_name.items()))


def chosen(names: Any, known: dict) -> Any:
    """Return the names of the experiments asked for, in the list's order, each once; all of them when none is named.

    A paper's number stands for all of its experiments: "001" for every name that begins with "001-".

    Raises
    ------
    UsageError
        If a name is unknown; the message has the nearest one.
    """
    if not names:
        return list(known)
    wanted = set()
    for name in names:
        meant = [each for each in known if each == name or each.startswith(f"{name}-")]
        if not meant:
            raise UsageError(
                f'no experiment is called {name!r}; did you mean "{nearest(name, list(known))}"? --list shows them all'
            )
        wanted.update(meant)
    return [name for name in known if name in wanted]
