"""What the keys of fixed beads must satisfy: which beads, of which molecules, moved by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcchain.config.keys.values import Wrong
from hpcchain.model.molecules.bonds import bond_table

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection

SHAPE = (
    'make a shape that stands still of single beads: kind = "monomer", fixed = [0], with a row of positions for each '
    "(they may overlap)"
)


def check_fixed(config: Config) -> None:
    """Raise Wrong, with key and reason, when fixed beads do not fit their molecules, the engine or gravity."""
    for index, kind in enumerate(config.molecules):
        where = f"molecule[{index}]"
        if kind.fixed is None or len(kind.fixed) == 0:
            if kind.fixed_velocity is not None:
                raise Wrong(f"{where}.fixed_velocity: means nothing without {where}.fixed; give that, or remove it")
            continue
        check_whole(kind, where)
        if config.run.engine != "events":
            check_fixed_in_steps(kind, where)
        check_beads(kind, where)
    if config.molecules and all(len(set(kind.fixed or ())) == kind.beads for kind in config.molecules):
        raise Wrong("molecule[0].fixed: all beads of all molecules are fixed; leave one that can move")


def check_whole(kind: MoleculeSection, where: str) -> None:
    """Check that a kind with fixed beads does not move as a whole."""
    if kind.is_line or kind.is_body:
        raise Wrong(
            f"{where}.fixed: a molecule of kind {kind.kind!r} moves as a whole, and no bead of it can be fixed; {SHAPE}"
        )


def check_fixed_in_steps(kind: MoleculeSection, where: str) -> None:
    """Check that of fixed beads only single ones move."""
    if kind.fixed_velocity is not None and kind.beads > 1:
        raise Wrong(f'{where}.fixed_velocity: is of single beads; set kind = "monomer", or remove it')


def check_beads(kind: MoleculeSection, where: str) -> None:
    """Check that fixed beads exist, are named once and have no bond with one another."""
    fixed = tuple(kind.fixed or ())
    high = max(fixed)
    if high >= kind.beads:
        raise Wrong(f"{where}.fixed: bead {high} does not exist; the molecule has beads 0 to {kind.beads - 1}")
    if len(set(fixed)) < len(fixed):
        raise Wrong(f"{where}.fixed: names a bead twice; name each once")
    if kind.directors:
        raise Wrong(f"{where}.fixed: spheres with directors move; remove one of the two")
    bonds = bond_table(kind)
    both = bonds[kind.pinned[bonds].all(axis=1)] if len(bonds) else bonds
    if len(both):
        a, b = both[0].tolist()
        raise Wrong(f"{where}.fixed: beads {a} and {b} are bonded and both fixed; fix one of them, or {SHAPE}")
