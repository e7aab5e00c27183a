"""Whether one rank carries a whole run, its files included: it does where no other number of ranks pays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import HpcchainError
from hpcchain.io.checkpoint.checkpoint import read_config
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5.collective import FAILURES
from hpcchain.io.hdf5.files import library
from hpcchain.io.output.lineage import CHECKPOINTS
from hpcchain.model.molecules.long_chains import divided_classes
from hpcchain.model.starts.start import physics_with
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel.tuning.ranks_at_work import Work
from hpcchain.run.engines import ranks_for
from hpcchain.run.starts.growth_file import input_of
from hpcchain.run.starts.starting import load_input

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config

FEW = 250_000
"""Beads up to which the root writes files as fast as all ranks together, or in less than a second."""


MANY = 1 << 20
"""Ranks, more than any machine gives to one run."""
LONGEST = 1 << 20
"""Beads of a molecule up to which it is made to see how many ranks pay."""


def one_does(config: Config | None, ranks: int) -> bool:
    """Whether one of some ranks has all molecules of an input from the beginning to the end, and they are few.

    A start grows by events, and with long chains as wholes: that has to be one rank's work, too. Where files cannot be
    written by several ranks, all learn it at once, whoever would have written them.
    """
    works = [] if config is None else works_of(config)
    if config is None or not works or works[0].beads > FEW or not library()[1]:
        return False
    stepped = [False, True] if config.steps is not None else [False]
    return all(ranks_for(work, config.run.sectors, ranks, moved) == 1 for work in works for moved in stepped)


def ranks_that_pay(config: Config) -> int | None:
    """Return up to how many ranks an input's run gains from more; None where nothing says which molecules there are."""
    works = works_of(config)
    if not works:
        return None
    return ranks_for(works[-1], "auto", MANY, config.steps is not None)


def works_of(config: Config) -> list[Work]:
    """Return what decides how many ranks pay for an input, as its start grows and as it runs; empty where unknown."""
    if max(kind.beads for kind in config.molecules) > LONGEST:
        return []
    composition, box = build_composition(config), build_box(config.box)
    divided = divided_classes(composition, physics_with(config, 1.0))
    return [Work.of(composition, box, parts) for parts in ((), divided)[: 1 + bool(any(divided))]]


def given_input(path: Path | str, overrides: Sequence[str]) -> Config | None:
    """Return the input in a file with overrides, None where something is wrong with it, or it can be read but once."""
    if not Path(path).is_file():  # a pipe is left to the run
        return None
    try:
        return load_input(path, overrides)
    except (HpcchainError, *FAILURES):
        return None


def stored_input(source: Path) -> Config | None:
    """Return the input in a checkpoint, or that of a run's folder, as far as it can be read; else None."""
    try:
        if not source.is_dir():
            return read_config(source)
        found = list_checkpoints(source / CHECKPOINTS)
        if not found:
            return input_of(source, None)
        return next(filter(None, (stored_input(path) for _, path in found)), None)  # the newest may be damaged
    except (HpcchainError, *FAILURES):
        return None
