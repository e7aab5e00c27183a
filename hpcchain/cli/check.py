"""`hpcchain check`: validate an input file without running it."""

from hpcchain.cli.options import add_command, add_set

BYTES_PER_BEAD = 2048
BYTES_PER_RANK = 300_000_000
FRAME_BYTES_PER_BEAD = 3 * (8 + 8 + 8)


def add_parser(sub):
    """Declare the command's options."""
    parser = add_command(sub, "check", execute, "validate an input file; print it resolved, with a memory estimate")
    parser.add_argument("input", metavar="INPUT.toml")
    add_set(parser)


def execute(args):
    """Print the resolved input and the estimate as TOML; return the exit code."""
    from hpcchain.config import load_config

    config = load_config(args.input, args.overrides)
    print(config.to_toml().rstrip("\n"))
    print()
    for line in estimate(config):
        print(f"# {line}")
    return 0


def estimate(config):
    """Return lines that say how large the run is: beads, memory, files.

    Parameters
    ----------
    config : Config
    """
    beads = sum(molecule.count * molecule.beads for molecule in config.molecules)
    bonds = sum(molecule.count * molecule.bond_count for molecule in config.molecules)
    frames = int(config.run.end_time / config.output.frame_every) + 1
    return [
        f"{beads} beads, {bonds} bonds, {sum(molecule.count for molecule in config.molecules)} molecules",
        f"memory: at most about {size(BYTES_PER_RANK)} per rank, plus {size(beads * BYTES_PER_BEAD)} over all ranks",
        f"trajectory: {frames} frames, {size(frames * beads * FRAME_BYTES_PER_BEAD)}",
    ]


def size(count):
    """Return a number of bytes with a fitting unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000.0 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return ""
