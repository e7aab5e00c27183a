"""Exact event-driven dynamics of hard-sphere molecules with rigid bonds, on any number of MPI ranks."""

__version__ = "0.1.0"
