"""`hpcchain check`: validate an input file without running it, or see whether a run's files are whole."""

import logging
from pathlib import Path

from hpcchain.cli.options import add_command, add_set
from hpcchain.config.cautions import cautions, frame_bytes, size, times

LOG = logging.getLogger("hpcchain.check")
BYTES_PER_BEAD = 2048
ROUNDING = 1e-12  # of a quotient that is meant to be whole
BYTES_PER_RANK = 300_000_000


def add_parser(sub):
    """Declare the command's options."""
    parser = add_command(
        sub, "check", execute,
        "validate an input file and print it resolved, with a memory estimate; or check every byte of a run's files",
    )  # fmt: skip
    parser.add_argument("input", metavar="INPUT.toml, DIR or FILE.h5")
    add_set(parser)


def execute(args):
    """Print the resolved input and the estimate as TOML, or a line for each file; return the exit code."""
    if Path(args.input).is_dir() or Path(args.input).suffix == ".h5":
        return check_files(args.input)
    from hpcchain.config import load_config

    config = load_config(args.input, args.overrides)
    lines = estimate(config)
    for line in cautions(config):
        LOG.warning("%s: %s", args.input, line)
    print(config.to_toml().rstrip("\n"))
    print()
    for line in lines:
        print(f"# {line}")
    return 0


def check_files(path):
    """Print what `verify` finds; return the exit code."""
    from hpcchain.io.verify import verify

    for line in verify(path):
        print(line)
    return 0


def sizes(config):
    """Return the numbers of beads, bonds and molecules, after the checks of a start that is given.

    Raises
    ------
    ConfigError
        When an explicit start is impossible, a start file is not of the input's system, or spheres spin too fast for
        their steps.
    DataError
        When the start file cannot be read.
    """
    if config.initial.method == "grow":
        from hpcchain.model.directors import build_directors
        from hpcchain.model.topology import build_composition
        from hpcchain.run.spinning import checked

        checked(build_directors(config), build_composition(config), None, config.source)
        kinds = config.molecules
        return (sum(kind.count * kind.beads for kind in kinds), sum(kind.count * kind.bond_count for kind in kinds),
                sum(kind.count for kind in kinds))  # fmt: skip
    if config.initial.method == "file":
        from hpcchain.run.from_file import directors_from, read_start

        found, topology = read_start(config)
        directors_from(config, found, topology, None)
    else:
        from hpcchain.model.start import build_system

        topology = build_system(config).topology
    return topology.beads, len(topology.bonds), topology.molecules


def estimate(config):
    """Return lines that say how large the run is: beads, memory, files; see `sizes` for what is checked.

    Parameters
    ----------
    config : Config
    """
    beads, bonds, molecules = sizes(config)
    frames = int(times(config.run.end_time, config.output.frame_every) * (1.0 + ROUNDING)) + 1
    return [
        f"{beads} beads, {bonds} bonds, {molecules} molecules",
        f"memory: at most about {size(BYTES_PER_RANK)} per rank, plus {size(beads * BYTES_PER_BEAD)} over all ranks",
        f"trajectory: {frames} frames, {size(frames * frame_bytes(config, beads))}",
    ]
