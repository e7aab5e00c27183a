"""Files that find no space on their way: an error that says so each time, and a process that ends as it has to.

A limit of the size of files stands in for a full disk: it fails the same writes.
"""

from tests.support.launching import ROOT, run_python

PROGRAM = """
import resource, sys
from pathlib import Path
import numpy as np
from hpcchain.errors import DataError
from hpcchain.io.hdf5 import atomic
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.trajectory import Lasting
from hpcchain.io.output.parts import PartWriter
from tests.support.io_samples import input_for, system_of

atomic._sync = lambda path: None  # files need not outlast the machine
folder, system = Path("."), system_of([1] * 900)
beads = system.topology.beads
(folder / "parts").mkdir()
counters = None
for index in range(3):
    part = PartWriter(folder / "parts", index, None, system.topology, counters)
    for k in range(2):
        part.frame(2.0 * index + k, system.state.position, system.state.velocity, system.state.image)
    part.report({"energy": 1.0}, float(index))
    part.close()
    counters = part.counters
before = sorted(path.name for path in Path("parts").iterdir())

def checkpoint():
    write_checkpoint(folder / "c.h5", None, system, 1.0, {"x": "x" * 5000}, input_for(system))

def joined():
    assemble(folder, None, Lasting(system.topology, system.box), counters)

def part():
    writer = PartWriter(folder / "parts", 3, None, system.topology, counters)
    try:
        writer.frame(6.0, system.state.position, system.state.velocity, system.state.image)
        writer.close()
    except BaseException:
        writer.abort()
        raise

def tried(action, limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        action()
        return True
    except DataError as error:
        assert "ulimit -f" in str(error), error
        return False
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

for action in (checkpoint, part, joined):
    failed = 0
    for limit in [*range(600, 1600000, 17777)]:
        if tried(action, limit):
            break
        failed += 1
        assert sorted(path.name for path in Path("parts").iterdir()) == before and not Path("trajectory.h5").exists()
    assert failed > 5, failed
    if action is part:
        Path("parts/part-000003.h5").unlink()
joined()
print("done")
"""


def test_no_space_for_a_checkpoint_a_part_or_the_joined_files(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_python(["program.py"], tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr[-2000:]
