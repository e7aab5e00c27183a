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
    for none in ("none", "none in windows"):
        difference, taken = found.pop(none)
        assert difference is None and taken > 100
    assert len(found) == len(ahead_mutants.FAULTS) + len(ahead_mutants.FAULTS_IN_WINDOWS) - 2
    assert all(difference for difference, _ in found.values()), found
