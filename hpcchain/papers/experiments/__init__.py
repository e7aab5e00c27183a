"""One module per experiment; a module that is here is found, there is no list to add it to.

A module defines

- ``NAME``: the paper's number, a hyphen and what it reproduces, as users type it: ``"001-table1"``.
- ``TITLE``: one line for ``hpcchain paper --list``.
- ``run(quick)``: computes and returns a `hpcchain.papers.result.Result`; with `quick` in a few seconds, at a reduced
  size that the result's notes state.
- ``draw(result, figure)``, optional: draws the result on an empty matplotlib figure (which is all that it may know of
  matplotlib: the module itself must import without it).

What several experiments share stands one folder up, in `hpcchain.papers`. Modules are imported for the list of names,
so they keep heavy work and compiling inside ``run``.
"""

import importlib
import pkgutil
from typing import Any

from hpcchain.config.keys.values import nearest
from hpcchain.errors import UsageError


def found() -> dict:
    """Return {name: module} of all experiments, by name.

    Raises
    ------
    ValueError
        If two modules have one name.
    """
    by_name = {}
    for entry in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{entry.name}")
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
