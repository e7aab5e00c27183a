"""What the commands do: run, resume, build and warm up."""

import logging
import tempfile
from dataclasses import replace
from pathlib import Path

from hpcchain.config import load_config
from hpcchain.errors import DataError, UsageError
from hpcchain.io import atomic
from hpcchain.io.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.checkpoint_store import newest_valid
from hpcchain.io.collective import root_does
from hpcchain.model.start import build_system
from hpcchain.run.control import Run
from hpcchain.run.growth import grown_system

LOG = logging.getLogger("hpcchain.simulation")

WARMUP = """
[box]
size = [12.0, 12.0, 12.0]
boundary = ["periodic", "periodic", "wall"]
[[molecule]]
kind = "chain"
beads = 4
count = 12
[[molecule]]
kind = "chain"
beads = 2
count = 8
[[molecule]]
kind = "ring"
beads = 4
count = 4
[[molecule]]
kind = "monomer"
count = 40
[run]
end_time = 0.2
[output]
events = true
"""


def run(path, output=None, until=None, overrides=(), resume=None, comm=None):
    """Run an input file; return the exit code.

    Parameters
    ----------
    path : path
        The input file.
    output : path, optional
        Instead of output.directory.
    until : float, optional
        Instead of run.end_time [time].
    overrides : sequence of str
        "key.sub=value".
    resume : str, optional
        "auto": go on from the newest whole checkpoint of the output directory, if there is one.
    comm : Single or World
    """
    config = with_end(load_config(path, overrides), until)
    folder = Path(output if output is not None else config.output.directory)
    if resume == "auto" and (folder / "checkpoints").is_dir():
        found = newest(folder, comm)
        if found is not None:
            return go_on(found, config, folder, comm)
    refuse_occupied(folder, comm)
    system = start_system(config, comm)
    prepare_folder(folder, config, comm)
    return Run(comm, config, system, folder).go()


def resume(source, until=None, output=None, comm=None):
    """Continue a run from its directory or one of its checkpoints; return the exit code.

    Parameters
    ----------
    source : path
        A run's directory, or a checkpoint.
    until : float, optional
        New end time [time].
    output : path, optional
        Another directory to write to; earlier results are brought along where they stand beside the checkpoint.
    comm : Single or World
    """
    source = Path(source)
    if source.is_dir():
        home, path = source, newest(source, comm)
        if path is None:
            raise DataError(f"{source}: no checkpoint in {source / 'checkpoints'} can be read")
    else:
        path = source
        home = source.parent.parent
    folder = Path(output) if output is not None else home
    if output is not None and folder.resolve() != home.resolve():
        bring_along(home, folder, comm)
    checkpoint = read_checkpoint(path, mpi_of(comm))
    config = with_end(config_of(checkpoint), until)
    return continued(checkpoint, path, config, folder, comm)


def build(path, out, overrides=(), comm=None):
    """Write the initial configuration of an input file; return the exit code."""
    config = load_config(path, overrides)
    system = start_system(config, comm)
    write_checkpoint(Path(out), mpi_of(comm), system, 0.0, {}, config.to_toml())
    return 0


def warmup():
    """Compile every kernel by a run that uses them all."""
    from hpcchain.parallel.comm import Single

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "warmup.toml"
        path.write_text(WARMUP, encoding="utf-8")
        run(path, output=Path(folder) / "out", comm=Single())


def mpi_of(comm):
    """Return the communicator for parallel files, or None for one rank."""
    return comm.mpi if comm is not None and comm.size > 1 else None


def with_end(config, until):
    """Return the input with another end time, if one is given."""
    return config if until is None else replace(config, run=replace(config.run, end_time=float(until)))


def start_system(config, comm):
    """Return the System that an input starts from."""
    method = config.initial.method
    if method == "explicit":
        return build_system(config)
    if method == "file":
        return system_from_file(config, comm)
    LOG.info("growing the initial configuration (the first run on a machine also compiles: up to two minutes)")
    return grown_system(config, lambda part: LOG.debug("grown to %.3f of full size", part))


def system_from_file(config, comm):
    """Return the System of initial.file, its clocks at zero."""
    path = Path(config.source).parent / config.initial.file
    raise UsageError(f"{path}: starting from a file is not wired yet")


def config_of(checkpoint):
    """Return the input that a checkpoint carries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.toml"
        path.write_text(checkpoint.config_toml, encoding="utf-8")
        return load_config(path)


def newest(folder, comm):
    """Return the path of a run's newest whole checkpoint, or None; damaged ones are named in the log."""
    path, refused = newest_valid(Path(folder) / "checkpoints", mpi_of(comm))
    for bad, why in refused:
        LOG.warning("%s is passed over: %s", bad, why)
    return path


def go_on(path, config, folder, comm):
    """Continue from a checkpoint with the present input's end time and outputs."""
    return continued(read_checkpoint(path, mpi_of(comm)), path, config, folder, comm)


def continued(checkpoint, path, config, folder, comm):
    """Continue a run from a checkpoint; return the exit code."""
    if config.run.end_time < checkpoint.time:
        raise UsageError(f"{path}: is at time {checkpoint.time}, past the end time {config.run.end_time}; "
                         "give a later --until")
    LOG.info("resuming from %s at t %.6g", path, checkpoint.time)
    return Run(comm, config, checkpoint.system, folder, checkpoint.time, checkpoint.counters).go()


def refuse_occupied(folder, comm):
    """Raise UsageError when a directory holds a run already."""
    taken = root_does(mpi_of(comm), folder, "looking for an earlier run", lambda: (folder / "checkpoints").is_dir()
                      and any((folder / "checkpoints").glob("ckpt-*.h5")))
    if taken:
        raise UsageError(f"{folder}: holds a run already; continue it with 'hpcchain resume {folder}' or "
                         "'--resume auto', or choose another --output")


def prepare_folder(folder, config, comm):
    """Make the output directory and write the resolved input there."""
    atomic.make_folder(folder, mpi_of(comm))
    root_does(mpi_of(comm), folder / "input.toml", "writing",
              lambda: (folder / "input.toml").write_text(config.to_toml(), encoding="utf-8"))


def bring_along(home, folder, comm):
    """Copy a run's results to another directory, so that the resumed run's files are whole."""
    import shutil

    def copy():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("trajectory.h5", "events.h5", "observables.h5", "run.jsonl", "input.toml"):
            if (home / name).is_file():
                shutil.copy2(home / name, folder / name)
        if (home / "parts").is_dir():
            shutil.copytree(home / "parts", folder / "parts", dirs_exist_ok=True)

    root_does(mpi_of(comm), folder, "copying the earlier results", copy)
