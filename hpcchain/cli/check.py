"""`hpcchain check`: validate an input file without running it, or see whether a run's files are whole."""

from __future__ import annotations

import argparse
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.cli.options import add_command, add_shared
from hpcchain.config.demands.cautions import cautions, frame_bytes
from hpcchain.config.keys.values import counted
from hpcchain.config.packing import bead_volume
from hpcchain.machine import size

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.run.guards.memory import Extent

LOG = logging.getLogger("hpcchain.check")


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(
        sub,
        "check",
        execute,
        "validate an input file, print what it says and what follows from that; or check every byte of a run's files",
    )
    parser.add_argument("input", metavar="INPUT.toml, DIR or FILE.h5")
    parser.add_argument("--all", dest="every", action="store_true", help="print every key, defaults, too")
    add_shared(parser, "--set", "--trust-code")


def execute(args: argparse.Namespace) -> int:
    """Print the resolved input and the estimate as TOML, or a line for each file; return the exit code."""
    if Path(args.input).is_dir() or Path(args.input).suffix == ".h5":
        from hpcchain.io.tools.verify import verify

        for line in verify(args.input):
            print(line)
        return 0
    from hpcchain.config.load import read_table
    from hpcchain.run.starts.starting import input_from_table, try_steps

    given = read_table(args.input, args.overrides)
    config = input_from_table(given, args.input)
    try_steps(config, args.trust_code)
    lines = estimate(config)
    for line in cautions(config):
        LOG.warning("%s: %s", args.input, line)
    print(config.to_toml(None if args.every else given).rstrip("\n"))
    print()
    for line in lines:
        print(f"# {line}")
    return 0


def check_start(config: Config) -> None:
    """Check a start that is given, and spheres' spins, as far as this machine has the memory to.

    Raises
    ------
    ConfigError
        When an explicit start is impossible, a start file is not of the input's system, or spheres spin too fast for
        their steps.
    DataError
        When the start file cannot be read.
    """
    from hpcchain.run.guards.memory import BYTES_PER_RANK, BYTES_WHOLE, short_of_memory

    method = config.initial.method
    one_of_each = method == "grow" and not any(kind.directors for kind in config.molecules)
    looked_at = sum(kind.beads for kind in config.molecules) if one_of_each else config.beads
    lack = short_of_memory(BYTES_PER_RANK + BYTES_WHOLE * looked_at)
    if lack is not None:
        LOG.warning(
            "the start is not checked: that takes %s, and %s are %s", lack[0], size(lack[1].bytes), lack[1].reason
        )
        return
    if method == "grow":
        from hpcchain.model.starts.spins import build_directors
        from hpcchain.model.topology import build_composition
        from hpcchain.run.orientations import checked

        checked(build_directors(config), build_composition(config), None, config.source)
        return
    from hpcchain.parallel.comm import Single
    from hpcchain.parallel.signals import Signals
    from hpcchain.run.starts.starting import start_system

    system = start_system(config, Signals(), Single())
    if config.steps is not None:  # whose forces are looked at
        from hpcchain.run.engines import engine_on

        engine_on(system, config, None, None)


def estimate(config: Config) -> list:
    """Return lines that say how large the run is: beads, memory, files; see `check_start` for what is checked.

    A run that one rank of this machine has no memory for is named in the log: it may be meant for another.
    """
    from hpcchain.run.guards.disk import frames_between
    from hpcchain.run.guards.memory import extent_of, short_of_memory

    check_start(config)
    kinds, extent = config.molecules, extent_of(config)
    lack = short_of_memory(extent.need(1))
    if lack is not None:
        LOG.warning(
            "one rank on this machine is not enough: the run needs about %s, and %s are %s; look at the memory "
            "of the nodes that it is meant for",
            lack[0],
            size(lack[1].bytes),
            lack[1].reason,
        )
    frames = frames_between(config)
    return [
        f"{counted(config.beads, 'bead')}, {counted(sum(kind.count * kind.bond_count for kind in kinds), 'bond')}, "
        f"{counted(sum(kind.count for kind in kinds), 'molecule')}",
        *packing_lines(config),
        *memory_lines(extent),
        *rank_lines(config),
        *long_chain_lines(config),
        f"trajectory: {counted(frames, 'frame')}, {size(frames * frame_bytes(config, config.beads))}",
    ]


def packing_lines(config: Config) -> list:
    """Return the line on the packing fraction of an input's spheres; none where nothing bounds the box."""
    if "open" in config.box.boundary:
        return []
    fraction = bead_volume(config.molecules) / math.prod(config.box.size)
    return [f"packing fraction {fraction:.6g}: the spheres' volume over the box's"]


def rank_lines(config: Config) -> list:
    """Return lines on how many ranks and cores to ask for; none where nothing says which molecules there are."""
    from hpcchain.run.alone import ranks_that_pay

    ranks = ranks_that_pay(config)
    if ranks is None:
        return []
    most = (
        "one; with more it would be no faster" if ranks == 1 else f"up to {ranks}, as long as there are cores for them"
    )
    lines = [f"ranks: {most} (sbatch --ntasks={ranks}, mpirun -n {ranks})"]
    bonded = any(kind.kind != "monomer" for kind in config.molecules)
    if ranks == 1 and bonded and config.run.engine == "events" and config.run.threads != 1:
        lines.append("cores: two, for a second thread (sbatch --cpus-per-task=2, mpirun --map-by slot:PE=2)")
    return lines


def long_chain_lines(config: Config) -> list:
    """Return lines on chains that are long where the input leaves that to the program, or that move in stretches."""
    from hpcchain.model.molecules.long_chains import LONG
    from hpcchain.model.starts.start import in_stretches
    from hpcchain.parallel.tuning.ranks_at_work import paying_width

    kinds = [kind for kind in config.molecules if in_stretches(kind, config)]
    if not kinds:
        own = [(kind, (kind.propagator or config.propagator).name) for kind in config.molecules]
        whole = [kind.beads for kind, name in own if kind.kind == "chain" and kind.beads >= LONG and name == "taylor"]
        asked = config.run.engine == "events" and bool(whole)
        return [f"propagator.stretches: chains of {max(whole)} beads move as wholes"] if asked else []
    width = max(paying_width(kind.beads, float(np.max(kind.diameter))) for kind in kinds)
    sizes = sorted({kind.beads for kind in kinds})
    lengths = " to ".join(str(n) for n in (sizes[0], sizes[-1])[: len(sizes)])
    return [
        f"propagator.stretches: a contact moves what it reaches of chains of {lengths} beads",
        f"several ranks pay where sectors are {width:.0f} wide or more, which is "
        f"{config.beads * width**3 / math.prod(config.box.size):.2g} beads for each; a rank holds all chains that "
        "reach into its sector",
    ]


def memory_lines(extent: Extent) -> list:
    """Return the lines on memory of a run of an Extent."""
    one, two, many = (size(extent.peak(ranks)) for ranks in (1, 2, 16))
    if extent.alone:
        return [f"memory: at most about {one} on one rank, which may have all beads (propagator.stretches)"]
    lines = [f"memory: at most about {one} on one rank, {two} on each of 2, {many} on each of 16"]
    if extent.start() > 0:
        lines.append(f"memory for the start: {size(extent.start())} of it on each rank, however many")
    return lines
