"""Faults in what two threads agree on are noticed, where one looks at the worst moments (`ahead_mutants`)."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import ahead_mutants

ROOT = Path(ahead_mutants.__file__).parents[2]


def test_each_fault_is_noticed_and_only_faults():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, ahead_mutants.__file__], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found.pop("none")[0] is None
    assert found.keys() == ahead_mutants.FAULTS.keys() - {"none"}
    assert all(difference for difference, _ in found.values()), found
