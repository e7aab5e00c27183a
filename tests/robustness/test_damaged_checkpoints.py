"""Truncated and bit-flipped files: refused with a DataError that names the file, or read to the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter, read_head
from hpcchain.io.output.trajectory import Lasting
from hpcchain.io.tools.compare import compare
from hpcchain.io.tools.inspect import info
from tests.support.io_samples import events_between, frame_of, input_for, same_system, system_of
from tests.support.outputs import read_events

SEED = 20260


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Return (bytes, system) of a small checkpoint."""
    system = system_of([1, 3, 20])
    path = tmp_path_factory.mktemp("good") / "c.h5"
    write_checkpoint(path, None, system, 2.5, {"events": 7}, input_for(system), {"search": (1.0, 2.0, 3.0)})
    return path.read_bytes(), system


def refused_or_same(path, data, system):
    """Write bytes, read them as a checkpoint, and return whether they were refused; anything else fails."""
    path.write_bytes(data)
    try:
        found = read_checkpoint(path)
    except DataError as error:
        assert str(path) in str(error)
        return True
    assert same_system(found.system, system) and found.time == 2.5 and found.counters == {"events": 7}
    assert found.config == input_for(system)
    return False


def test_truncations_are_refused(tmp_path, checkpoint):
    data, system = checkpoint
    rng = np.random.default_rng(SEED)
    lengths = [0, 1, 511, 512, 513, len(data) - 1, *rng.integers(0, len(data), 250)]
    assert all(refused_or_same(tmp_path / "c.h5", data[:length], system) for length in lengths)


def test_flipped_bits_are_refused(tmp_path, checkpoint):
    data, system = checkpoint
    rng = np.random.default_rng(SEED + 1)
    for place, bit in zip(rng.integers(0, len(data), 300), rng.integers(0, 8, 300), strict=True):
        bad = bytearray(data)
        bad[place] ^= 1 << bit
        assert refused_or_same(tmp_path / "c.h5", bytes(bad), system)


def test_wrong_stretches_are_refused(tmp_path, checkpoint):
    data, system = checkpoint
    rng = np.random.default_rng(SEED + 2)
    for start, length in zip(rng.integers(0, len(data), 60), rng.integers(1, 4096, 60), strict=True):
        zeros = data[:start] + bytes(len(data[start : start + length])) + data[start + length :]
        cut = data[:start] + data[start + length :]
        refused = refused_or_same(tmp_path / "c.h5", zeros, system)
        assert refused == (zeros != data)
        assert refused_or_same(tmp_path / "c.h5", cut, system)


def run_of(folder):
    """Write one part with frames, events and reports; return its path and the system."""
    system = system_of([2, 3])
    (folder / "parts").mkdir()
    writer = PartWriter(folder / "parts", 0, None, system.topology, log_events=True)
    writer.frame(0.0, *frame_of(5, 0))
    writer.events(events_between(0.0, 1.0, 20))
    writer.report({"energy": 1.0}, 0.0)
    writer.close()
    return writer, system


def test_a_damaged_part_is_refused_and_no_file_is_touched(tmp_path):
    writer, system = run_of(tmp_path)
    good = writer.path.read_bytes()
    rng = np.random.default_rng(SEED + 3)
    for place in rng.integers(0, len(good), 40):
        bad = bytearray(good)
        bad[place] ^= 16
        writer.path.write_bytes(bad)
        with pytest.raises(DataError, match="part-000000.h5"):
            read_head(writer.path)
    with pytest.raises(DataError):
        assemble(tmp_path, None, Lasting(system.topology, system.box), writer.counters)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["parts"]
    writer.path.write_bytes(good)
    assemble(tmp_path, None, Lasting(system.topology, system.box), writer.counters)
    assert len(read_events(tmp_path / "events.h5")) == 20


TOOLS = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from hpcchain.errors import DataError
from hpcchain.io.tools.compare import compare
from hpcchain.io.tools.inspect import info

for bad in sys.argv[2:]:
    for tool in (info, lambda path: compare(sys.argv[1], path)):
        try:
            tool(bad)
        except DataError as error:
            if bad not in str(error):
                raise
print("finished")
"""


@pytest.mark.parametrize("kind", ["trajectory", "observables", "events"])
def test_damaged_output_never_crashes_or_hangs_the_tools(tmp_path, kind):
    """In a process of its own: the HDF5 library itself might crash or hang."""
    writer, system = run_of(tmp_path)
    assemble(tmp_path, None, Lasting(system.topology, system.box), writer.counters)
    path = tmp_path / f"{kind}.h5"
    assert info(path) and compare(path, path) is None
    good, rng = path.read_bytes(), np.random.default_rng(SEED + 4)
    damaged = []
    for number, place in enumerate(rng.integers(0, len(good), 200)):
        bad = bytearray(good[:place] if number % 4 == 0 else good)
        if number % 4:
            bad[place] ^= 1 << (number % 8)
        damaged.append(tmp_path / f"bad-{number}.h5")
        damaged[-1].write_bytes(bad)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "ORTE_"))}
    done = subprocess.run(
        [sys.executable, "-c", TOOLS, path, *damaged], capture_output=True, text=True, timeout=60, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "finished\n"), done.stderr
