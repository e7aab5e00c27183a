"""Where compiled kernels are kept: a folder per state of the sources.

Numba notices a change of the file that a cached kernel is in, not of the kernels that it calls: after an update or an
edit it would run old code inside new. So the cache folder's name holds a digest of the sources of all kernels, of
Python and of the processor that is compiled for.
"""

import hashlib
import os
import platform
import sys
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
PLACES = ("apart.py", "kernel.py", "propagators/*.py", "contact/*.py", "sector/*.py", "model/*kernel*.py",
          "papers/*kernel*.py")  # fmt: skip


def folder():
    """Return this source tree's cache folder.

    It lies in the folder that the user has set (a cluster's node-local choice, say), else in the user's cache.
    """
    parent = os.environ.get(VARIABLE)
    base = Path(parent) if parent else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hpcchain"
    return base / f"hpcchain-{digest()}"


def digest():
    """Return a short digest of the sources of all kernels and of what else decides the machine code."""
    total = hashlib.sha256(f"{sys.version} {platform.machine()} {os.environ.get('NUMBA_CPU_NAME', '')}".encode())
    root = Path(__file__).parent
    for place in PLACES:
        for path in sorted(root.glob(place)):
            total.update(str(path.relative_to(root)).encode())
            total.update(path.read_bytes())
    return total.hexdigest()[:16]
