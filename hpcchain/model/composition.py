"""Which molecules a system is made of, in memory that does not grow with their number.

Molecules of one kind are alike and mostly stand one after another, so runs of them and one example of each kind say
all that a `Topology` does: which beads a molecule has, and each bead's mass, diameter and bonds.
"""

from dataclasses import dataclass

import numpy as np

from hpcchain.errors import EngineError
from hpcchain.model.system import Topology

PER_BEAD, PER_BOND, PER_MOLECULE = ("mass", "diameter"), ("bond_length",), ("self_contact", "rod")


@dataclass(frozen=True)
class Composition:
    """Runs of equal molecules; R runs of C classes.

    Attributes
    ----------
    examples : Topology
        One molecule of each class, in the order of classes.
    run : (R,) int64 array
        Class of each run of molecules.
    first_molecule, first_bead, first_bond : (R + 1,) int64 arrays
        Where runs begin, and the end of the last.
    """

    examples: Topology
    run: np.ndarray
    first_molecule: np.ndarray
    first_bead: np.ndarray
    first_bond: np.ndarray

    @property
    def molecules(self):
        """Number of molecules M."""
        return int(self.first_molecule[-1])

    @property
    def beads(self):
        """Number of beads N."""
        return int(self.first_bead[-1])

    def class_of(self, molecules):
        """Return the class (n,) int64 of molecules, numbers or an array of them."""
        return self.run[self._run_of(self.first_molecule, molecules)]

    def size_of(self, molecules):
        """Return how many beads molecules have."""
        return np.diff(self.examples.first_bead)[self.class_of(molecules)]

    def first_bead_of(self, molecules):
        """Return the global number of molecules' first beads."""
        at = self._run_of(self.first_molecule, molecules)
        return self.first_bead[at] + (molecules - self.first_molecule[at]) * self._sizes[at]

    def beads_of(self, molecules):
        """Return the global numbers of the beads of molecules (n,), one molecule after another."""
        size = self.size_of(molecules)
        start = self.first_bead_of(molecules) - (np.cumsum(size) - size)
        return np.arange(int(size.sum())) + np.repeat(start, size)

    def molecule_of(self, beads):
        """Return the molecules that beads (n,) belong to."""
        at = self._run_of(self.first_bead, beads)
        return self.first_molecule[at] + (beads - self.first_bead[at]) // self._sizes[at]

    def example_of(self, beads):
        """Return the rows of `examples` that say what beads (n,) are like."""
        at = self._run_of(self.first_bead, beads)
        return self.examples.first_bead[self.run[at]] + (beads - self.first_bead[at]) % self._sizes[at]

    @property
    def names(self):
        """Names of the kinds."""
        return self.examples.names

    def count(self, name):
        """Return how many rows the table of this name has in the Topology."""
        if name in PER_BEAD:
            return self.beads
        if name in (*PER_BOND, "bonds"):
            return int(self.first_bond[-1])
        return self.molecules + (name in ("first_bead", "first_bond"))

    def rows(self, name, low, high):
        """Return rows low ... high - 1 of the table of this name in the Topology."""
        rows, examples = np.arange(low, high), self.examples
        if name in PER_BEAD:
            return getattr(examples, name)[self.example_of(rows)]
        if name in (*PER_BOND, "bonds"):
            return self._bond_rows(name, rows)
        if name in ("first_bead", "first_bond"):
            at = np.minimum(self._run_of(self.first_molecule, rows), len(self.run) - 1)
            each = np.diff(getattr(examples, name))[self.run]
            return getattr(self, name)[at] + (rows - self.first_molecule[at]) * each[at]
        return getattr(examples, name)[self.class_of(rows)]

    def whole(self):
        """Return the Topology."""
        tables = ("kind", "first_bead", "first_bond", "bonds", *PER_BEAD, *PER_BOND, *PER_MOLECULE)
        return Topology(self.names, **{name: self.rows(name, 0, self.count(name)) for name in tables})

    def _bond_rows(self, name, bonds):
        """Return the bonds (n,) of these numbers, as pairs of beads, or their lengths."""
        at = self._run_of(self.first_bond, bonds)
        one, inside = self.run[at], bonds - self.first_bond[at]
        each = np.diff(self.examples.first_bond)[one]
        like = self.examples.first_bond[one] + inside % each
        if name in PER_BOND:
            return getattr(self.examples, name)[like]
        first = self.first_bead[at] + inside // each * self._sizes[at]
        return self.examples.bonds[like] + (first - self.examples.first_bead[one])[:, None]

    @property
    def _sizes(self):
        return np.diff(self.examples.first_bead)[self.run]

    @staticmethod
    def _run_of(first, items):
        return np.searchsorted(first, items, side="right") - 1


def composition_of(topology):
    """Return the Composition of a topology, which may be one already.

    Raises
    ------
    EngineError
        When two molecules of one kind are not alike.
    """
    if isinstance(topology, Composition):
        return topology
    _, examples, classes = np.unique(topology.kind, return_index=True, return_inverse=True)
    classes = classes.reshape(-1).astype(np.int64)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    ends = np.append(starts, topology.molecules)
    found = Composition(
        examples=one_of_each(topology, examples),
        run=classes[starts],
        first_molecule=ends,
        first_bead=topology.first_bead[ends].astype(np.int64),
        first_bond=topology.first_bond[ends].astype(np.int64),
    )
    _require_alike(topology, found)
    return found


def one_of_each(topology, molecules):
    """Return the Topology of these molecules alone, numbered anew."""
    size = np.diff(topology.first_bead)[molecules]
    first_bead = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    first_bond = np.concatenate([[0], np.cumsum(np.diff(topology.first_bond)[molecules])]).astype(np.int64)
    bead, bond = (_joined(first, molecules) for first in (topology.first_bead, topology.first_bond))
    moved = np.repeat(first_bead[:-1] - topology.first_bead[molecules], np.diff(first_bond))
    return Topology(
        names=topology.names, kind=topology.kind[molecules], first_bead=first_bead, first_bond=first_bond,
        bonds=topology.bonds[bond].reshape(-1, 2) + moved[:, None],
        **{name: getattr(topology, name)[bead] for name in PER_BEAD},
        **{name: getattr(topology, name)[bond] for name in PER_BOND},
        **{name: getattr(topology, name)[molecules] for name in PER_MOLECULE},
    )  # fmt: skip


def _joined(first, molecules):
    """Return the numbers first[m] ... first[m + 1] - 1 of molecules, one after another."""
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(first[m], first[m + 1]) for m in molecules)])


def _require_alike(topology, found):
    """Raise EngineError unless every molecule is like the example of its kind."""
    examples, sizes = found.examples, np.diff(topology.first_bead)
    for run, one in enumerate(found.run):
        m, end = found.first_molecule[run : run + 2]
        bead, bond = (slice(*first[run : run + 2]) for first in (found.first_bead, found.first_bond))
        own_bead, own_bond = (slice(*first[one : one + 2]) for first in (examples.first_bead, examples.first_bond))
        size, count = own_bead.stop - own_bead.start, own_bond.stop - own_bond.start
        bonds = topology.bonds[bond].reshape(end - m, -1, 2) - topology.first_bead[m:end, None, None]
        alike = (
            bool(np.all(sizes[m:end] == size))
            and bond.stop - bond.start == (end - m) * count
            and np.array_equal(bonds, np.broadcast_to(examples.bonds[own_bond] - own_bead.start, bonds.shape))
            and all(_repeats(getattr(topology, name)[bead], getattr(examples, name)[own_bead]) for name in PER_BEAD)
            and all(_repeats(getattr(topology, name)[bond], getattr(examples, name)[own_bond]) for name in PER_BOND)
            and all(_repeats(getattr(topology, name)[m:end], getattr(examples, name)[[one]]) for name in PER_MOLECULE)
        )  # fmt: skip
        if not alike:
            raise EngineError(f"molecules {m} to {end - 1} are of one kind, {topology.names[topology.kind[m]]!r}, but "
                              "are not all like its first one")


def _repeats(values, one):
    return len(one) == 0 or bool(np.all(values.reshape(-1, len(one)) == one))
