"""Bond graphs as flat integer arrays: what the free-motion kernels need to know of a molecule's shape.

The multipliers of the bonds solve T lambda = r with T = G M^-1 G^T; two bonds couple in T when they share a bead.
`build_structure` eliminates the bonds in minimum-degree order (a chain fills in nothing, a ring one column) and
writes everything a sparse L D L^T needs into one array. All positions in it count from its own start, so the
structures of several molecule kinds can be laid one after the other.

===========  ==========================================================================================
header word  meaning
===========  ==========================================================================================
SIZE         length of the whole array
BEADS        n
BONDS        nb
STRIDE       nb rounded up to a multiple of LANES: the stride of per-bond components
FILL         number of entries of L below the diagonal
LOW, HIGH    where the first and second beads of the bonds start, nb words each
SEQUENCE     where the elimination sequence starts, nb words (bond ids)
COLUMN       where the column starts of L begin, nb + 1 words, in elimination order
ROW          where the rows of L begin, FILL words (bond ids, earliest eliminated first)
COUPLINGS    number of (pair of bonds, shared bead) couplings
COUPLING     where the couplings start: entry of L, bond, bond, shared bead, sign of the product of G's signs
UPDATE       where the entries of L that elimination changes are listed, in the order it changes them
NARROW       where the numbers of beads (n words), then of bonds (nb words) start in a narrow order of all unknowns:
             a bead takes three, a bond one, next to its first bead
BAND         the farthest that two unknowns of one equation are apart in that order
===========  ==========================================================================================
"""

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

LANES = 4
SIZE, BEADS, BONDS, STRIDE, FILL, LOW, HIGH, SEQUENCE, COLUMN, ROW, COUPLINGS, COUPLING, UPDATE, NARROW, BAND = range(
    15
)
HEADER_WORDS = 15
PAIR_ENTRY, PAIR_BOND, PAIR_OTHER, PAIR_BEAD, PAIR_SIGN, COUPLING_WORDS = range(6)  # of a coupling (COUPLING)


def build_structure(n: int, bonds: np.ndarray) -> np.ndarray:
    """Describe a molecule's bond graph for the kernels.

    Parameters
    ----------
    n : int
        Number of beads.
    bonds : (nb, 2) array of int
        Local bead ids (low, high) of each bond, each once; the bond vector points from the first to the second.

    Returns
    -------
    (size,) int64 array
        The relocatable description laid out as the module's table says.
    """
    bonds = np.asarray(bonds, dtype=np.int64).reshape(-1, 2)
    sequence, columns = _eliminate(_neighbours(n, bonds))
    slot = {}
    for bond in sequence:
        for row in columns[bond]:
            slot[bond, row] = len(slot)
    column = np.cumsum([0] + [len(columns[bond]) for bond in sequence])
    couplings = _couplings(n, bonds, slot)
    narrow, band = _narrow_sequence(n, bonds.tolist())
    parts: dict[int, Sequence[int] | np.ndarray] = {
        LOW: bonds[:, 0],
        HIGH: bonds[:, 1],
        SEQUENCE: sequence,
        COLUMN: column,
        ROW: [row for bond in sequence for row in columns[bond]],
        COUPLING: couplings,
        UPDATE: _updates(sequence, columns, slot),
        NARROW: narrow,
    }
    counts = {BEADS: n, BONDS: len(bonds), STRIDE: padded(len(bonds)), FILL: len(slot)}
    counts[COUPLINGS] = len(couplings) // COUPLING_WORDS
    counts[BAND] = band
    return _flatten(counts, parts)


def padded(count: int) -> int:
    """Round a count up to a multiple of LANES."""
    return -(-count // LANES) * LANES


def _bonds_at(n: int, bonds: np.ndarray) -> list[list[tuple[int, int]]]:
    """List the (bond, sign in G) pairs that meet at each bead."""
    at = [[] for _ in range(n)]
    for bond, (low, high) in enumerate(bonds.tolist()):
        at[low].append((bond, -1))
        at[high].append((bond, 1))
    return at


def _neighbours(n: int, bonds: np.ndarray) -> list[set[int]]:
    """Return, for each bond, the set of bonds that share a bead with it."""
    neighbours = [set() for _ in bonds]
    for meeting in _bonds_at(n, bonds):
        for bond, _ in meeting:
            neighbours[bond].update(other for other, _ in meeting if other != bond)
    return neighbours


def _eliminate(neighbours: list[set[int]]) -> tuple[list[int], dict[int, list[int]]]:
    """Return the minimum-degree order (ties: lowest bond) and each bond's rows of L, in elimination order."""
    heap = [(len(adjacent), bond) for bond, adjacent in enumerate(neighbours)]
    heapq.heapify(heap)
    sequence, rows = [], {}
    while heap:
        degree, bond = heapq.heappop(heap)
        if bond in rows or degree != len(neighbours[bond]):
            continue
        sequence.append(bond)
        rows[bond] = neighbours[bond]
        for other in rows[bond]:
            neighbours[other] = (neighbours[other] | rows[bond]) - {other, bond}
            heapq.heappush(heap, (len(neighbours[other]), other))
    rank = {bond: k for k, bond in enumerate(sequence)}
    return sequence, {bond: sorted(rows[bond], key=rank.__getitem__) for bond in sequence}


def _couplings(n: int, bonds: np.ndarray, slot: dict[tuple[int, int], int]) -> list[int]:
    """List the couplings that assemble the off-diagonal of T into the entries of L."""
    couplings = []
    for bead, meeting in enumerate(_bonds_at(n, bonds)):
        for k, (a, sign_a) in enumerate(meeting):
            for b, sign_b in meeting[k + 1 :]:
                entry = slot[a, b] if (a, b) in slot else slot[b, a]
                couplings += [entry, a, b, bead, sign_a * sign_b]
    return couplings


def _updates(sequence: list[int], columns: dict[int, list[int]], slot: dict[tuple[int, int], int]) -> list[int]:
    """List the entries of L changed when each column is eliminated, pair by pair."""
    return [
        slot[first, second]
        for bond in sequence
        for k, first in enumerate(columns[bond])
        for second in columns[bond][k + 1 :]
    ]


def _narrow_sequence(n: int, bonds: list[list[int]]) -> tuple[list[int], int]:
    """Return the numbers of beads, then bonds, in a narrow order of all unknowns, and its band (NARROW and BAND)."""
    near = [[] for _ in range(n)]
    for low, high in bonds:
        near[low].append(high)
        near[high].append(low)
    walk = _breadth_first(near, min(range(n), key=lambda bead: len(near[bead])))
    walk = _breadth_first(near, walk[-1])
    rank = {bead: k for k, bead in enumerate(walk)}
    owned = [[] for _ in range(n)]
    for bond, ends in enumerate(bonds):
        owned[min(ends, key=rank.__getitem__)].append(bond)
    narrow, count = [0] * (n + len(bonds)), 0
    for bead in walk:
        narrow[bead] = count
        count += 3
        for bond in owned[bead]:
            narrow[n + bond] = count
            count += 1
    pairs = [(narrow[low], narrow[high]) for low, high in bonds]
    pairs += [(narrow[bead], narrow[n + bond]) for bond, ends in enumerate(bonds) for bead in ends]
    return narrow, max((abs(a - b) for a, b in pairs), default=0) + 3


def _breadth_first(near: list[list[int]], first: int) -> list[int]:
    """Return all beads, near ones of few neighbours first, from a bead on; separate parts follow one another."""
    walk, seen = [], set()
    for start in [first, *range(len(near))]:
        if start in seen:
            continue
        seen.add(start)
        walk.append(start)
        for bead in walk:
            fresh = sorted((other for other in near[bead] if other not in seen), key=lambda other: len(near[other]))
            seen.update(fresh)
            walk.extend(fresh)
    return walk


def _flatten(counts: dict[int, int], parts: Mapping[int, Sequence[int] | np.ndarray]) -> np.ndarray:
    header = np.zeros(HEADER_WORDS, dtype=np.int64)
    for word, value in counts.items():
        header[word] = value
    end = HEADER_WORDS
    for word, part in parts.items():
        header[word] = end
        end += len(part)
    header[SIZE] = end
    return np.concatenate([header] + [np.asarray(part, dtype=np.int64) for part in parts.values()])
