"""Work that ranks share: numbered pieces, whose results every rank gets in the order of their numbers.

So sums over pieces are the same on any number of ranks, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hpcchain.errors import HpcchainError
from hpcchain.parallel.agreement import agree, gathered, rank_of, size_of

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator


def shared(comm: Communicator | None, count: int, work: Callable[[int], Any]) -> Iterator[Any]:
    """Yield work(0), work(1), ..., work(count - 1) on every rank, each done by one of them; collective.

    Raises
    ------
    HpcchainError
        On every rank, when that of one rank fails.
    """
    rank, size = rank_of(comm), size_of(comm)
    for first in range(0, count, size):
        result, failure = None, None
        try:
            if first + rank < count:
                result = work(first + rank)
        except HpcchainError as error:
            failure = error
        agree(comm, failure)
        yield from gathered(comm, result)[: count - first]
