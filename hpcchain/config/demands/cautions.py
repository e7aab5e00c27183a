"""What an input may ask for, though hardly anyone means it: said in a line each before the run starts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hpcchain.config.demands.potentials import pairs_that_are_none
from hpcchain.config.demands.stepping import OUTPUTS, too_hot
from hpcchain.config.keys.key import numbered
from hpcchain.config.write import value_text
from hpcchain.machine import size

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config

MANY = 1_000_000 * (1.0 - 1e-9)  # the last bits of a quotient do not count
FRAME_BYTES_PER_BEAD = 3 * (8 + 8 + 8)
ORIENTATION_BYTES_PER_BEAD = 4 * 8
SPIN_BYTES_PER_BEAD = 3 * 8


def cautions(config: Config, begin: float = 0.0) -> list[str]:
    """Return lines on keys that ask for a million outputs or steps, endless contacts, unstable steps, or nothing.

    Parameters
    ----------
    config : Config
    begin : float
        Where the run goes on from [time].
    """
    span = config.run.end_time - begin
    lines = without_rebound(config) + pairs_that_are_none(config) + too_hot(config) + types_as_letters(config)
    for key, what in OUTPUTS.items():
        count = times(span, getattr(config.output, key))
        if count >= MANY:
            on_disk = f", {size(count * frame_bytes(config, config.beads))} on disk" if key == "frame_every" else ""
            lines.append(
                f"output.{key} = {getattr(config.output, key):g} makes {count:.3g} {what}{on_disk} up to time "
                f"{config.run.end_time:g}; take a longer interval if that is not meant"
            )
    for where, step in steps(config):
        count = times(span, step)
        if count >= MANY:
            lines.append(
                f"{where} = {step:g} makes at least {count:.3g} steps of each molecule up to time "
                f"{config.run.end_time:g}; take a longer step if that is not meant"
            )
    return lines


def without_rebound(config: Config) -> list[str]:
    """Return the line on beads that do not rebound at all, which stay in contact and meet without end."""
    contact = config.contact
    if config.run.engine != "events" or contact.restitution > 0.0 or contact.contact_time > 0.0:
        return []
    return [
        "contact.restitution = 0 keeps beads in contact that bonds or others press together, and they meet without end "
        "(inelastic collapse); give contact.contact_time, or a restitution of 0.05 or more"
    ]


def types_as_letters(config: Config) -> list[str]:
    """Return lines on types that are one text with a letter, or a word, for each bead: a list may be meant."""
    lines = []
    for where, kind in numbered(config.molecules):
        text = kind.types if isinstance(kind.types, str) else ""
        words = re.findall(r"[^\s,;-]+", text)
        words = words if len(words) > 1 else [*text] if text in (text.upper(), text.lower()) and text.isalpha() else []
        if len(words) == kind.beads and len(set(words)) > 1:
            lines.append(
                f"{where}.types = {value_text(text)} is one type of all its beads; if one for each is meant, write "
                f"{value_text(tuple(words))}"
            )
    return lines


def times(span: float, interval: float) -> float:
    """Return how often an interval fits into a span of time."""
    return max(span, 0.0) / interval


def steps(config: Config) -> list[tuple[str, float]]:
    """Return (key, longest segment) of the propagators that are given one and move a kind of molecules.

    The engine of steps has one step for all; its propagator moves the start alone.
    """
    if config.steps is not None:
        return [("steps.step", config.steps.step)]
    moving = [(where, kind) for where, kind in numbered(config.molecules) if kind.beads > 1 or kind.directors]
    used = ["propagator" if kind.propagator is None else f"{where}.propagator" for where, kind in moving]
    return [(f"{where}.step", one.step) for where, one in config.propagators if where in used and one.step]


def frame_bytes(config: Config, beads: int) -> int:
    """Return what a frame of the trajectory of so many beads takes on disk at most [bytes]."""
    turning = any(kind.directors for kind in config.molecules)
    extra = (ORIENTATION_BYTES_PER_BEAD if turning else 0) + (SPIN_BYTES_PER_BEAD if config.spins else 0)
    return beads * (FRAME_BYTES_PER_BEAD + extra)
