"""The leaks that windows and ghosts can have, put back one at a time: the comparison with one rank notices each."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.launching import clean_environment

PROGRAM = Path(__file__).with_name("leaks.py")
LEAKS = (
    "a pair that has just collided may collide again",
    "contacts at one instant are not ordered by depth",
    "segments begin anew at a window's end",
    "closed segments are not searched",
    "no rank checks that molecules stay within their skins",
    "new reference positions are not sent",
    "ghosts are not set back",
    "ghosts do not take part in contacts",
    "molecules are put back into the box when they are sent",
    "a window ends when ghosts do not contradict their owners",
    "a withdrawal does not go on to those met",
    "cancelled contacts stay in the log",
    "a ghost's own segments are taken for its history's",
)


@pytest.fixture(scope="module")
def noticed():
    """What was noticed of each leak: its name -> words or None."""
    path = f"{PROGRAM.parents[2]}"
    environment = clean_environment(NUMBA_DISABLE_JIT="1", PYTHONPATH=path)
    done = subprocess.run([sys.executable, PROGRAM], env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_a_leak_nothing_is_noticed(noticed):
    assert noticed["none"] is None


@pytest.mark.parametrize("leak", LEAKS)
def test_the_comparison_notices(noticed, leak):
    assert noticed[leak] is not None


def test_every_leak_is_asked_for(noticed):
    assert set(noticed) == {"none", *LEAKS}
