"""Imported first by the Python programs next to it: however they were started, they run in the project's environment.

What that is environment.sh decides, which shell scripts source. A Python that has all that is needed, such as that of
an environment which is active, is kept; another one hands over to the environment's.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("numpy", "numba", "mpi4py", "h5py")
ENTERED = "HPCCHAIN_TOOL_ENVIRONMENT"  # set in the environment of programs that have been through here
SHELL = """
[ -z "$1" ] || unset HPCCHAIN_MODULES  # an environment that is active has them loaded
here=$PWD && cd "$0" && . tools/environment.sh && cd "$here" || exit
python=${1:-$venv/bin/python}
shift
if [ ! -x "$python" ]; then
    echo "no environment in $venv: run tools/setup first, or set HPCCHAIN_VENV to where it is" >&2
    exit 78
fi
export MPIRUN
exec "$python" "$@"
"""


def enter():
    """Go on in the project's environment, and let the package be found that this program is part of."""
    sys.path.insert(0, str(ROOT))
    if os.environ.get(ENTERED) == str(ROOT):
        return
    os.environ[ENTERED] = str(ROOT)
    python = sys.executable if all(map(find_spec, NEEDED)) else ""
    os.execvp("bash", ["bash", "-c", SHELL, str(ROOT), python, *sys.argv])


enter()
