"""kill -9 at any moment of writing: every file that was complete stays so, and what was half written is recognised."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints, newest_valid, prune
from hpcchain.io.output.parts import list_parts, read_head, remove_from
from tests.support.io_samples import chains, same_state, state_of

TESTS = Path(__file__).parents[1]

WRITER = f"""
import sys
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS.parent)!r}]
from pathlib import Path
from tests.support.io_samples import NO_COUNTS, frame_of, input_for, state_of, system_of
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.checkpoint.store import checkpoint_name, prune
from hpcchain.io.output.parts import PartWriter

folder, system, counters = Path(sys.argv[1]), system_of([10] * 300), None
config = input_for(system)
for number in range(100000):
    writer = PartWriter(folder, number, None, system.topology, counters)
    writer.frame(float(number), *frame_of(3000, 0))
    writer.close()
    counters = NO_COUNTS | writer.counters
    system.state = state_of(system.topology.whole(), seed=number)
    times = dict.fromkeys(("frame_time", "report_time", "checkpoint_time"), float(number))
    write_checkpoint(folder / checkpoint_name(number + 1), None, system, number + 1.0, counters | times, config)
    prune(folder, 2)
    print(number, flush=True)
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_writer_leaves_only_whole_files(tmp_path, seed):
    """Each file checked is one that its writer had published; the state in it is that of its time."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "ORTE_"))}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    for _ in range(3):
        said = writer.stdout.readline()
    time.sleep(np.random.default_rng(seed).uniform(0.0, 0.06))
    writer.send_signal(signal.SIGKILL)
    writer.wait(timeout=20)
    said = int((said + writer.stdout.read()).split()[-1])
    found, refused = newest_valid(tmp_path)
    assert refused == []
    last = read_checkpoint(found)
    assert last.time - 1 >= said
    assert same_state(last.system.state, state_of(chains([10] * 300), seed=int(last.time) - 1))
    assert 1 <= len(list_checkpoints(tmp_path)) <= 3
    assert [read_head(path).end["frames"] for _, path in list_parts(tmp_path)][-1] >= last.counters["frames"]
    prune(tmp_path, 2)
    remove_from(tmp_path, last.counters["frames"])
    assert not list(tmp_path.glob("*.partial"))
    assert read_head(list_parts(tmp_path)[-1][1]).end["frames"] == last.counters["frames"]
