"""Exact event-driven dynamics of hard-sphere molecules with rigid bonds, on any number of MPI ranks."""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["Simulation", "System", "read", "read_many"]

_PUBLIC = {
    "Simulation": "hpcchain.run.simulation",
    "System": "hpcchain.run.starts.user_system",
    "read": "hpcchain.analysis.results",
    "read_many": "hpcchain.analysis.results",
}


def __getattr__(name: str) -> Any:
    """Return a public name; what it needs is imported when it is first used, so that small commands start quickly."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hpcchain' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> Any:
    return sorted([*globals(), *_PUBLIC])
