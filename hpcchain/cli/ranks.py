"""Who takes part in a command that several ranks were started for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from hpcchain.parallel.standby import shared_or_alone
from hpcchain.run.guards.signals import Signals

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.comm import Single, World


def on_ranks_that_pay(comm: Single | World, known: Callable[[], Config | None], action: Callable[[Any], int]) -> int:
    """Return the exit code of an action of all ranks, or of the root alone where no more may ever pay; collective.

    Parameters
    ----------
    comm : Single or World
    known : callable
        Returns, on the root, the input of the run; None where it cannot be read, which the action will say.
    action : callable
        Takes the ranks that take part.
    """
    if comm.size == 1:
        return action(comm)

    def alone() -> bool:
        from hpcchain.run.alone import one_does  # costs start-up time that who sleeps need not spend

        return one_does(known(), comm.size)

    with Signals() as signals:
        return shared_or_alone(cast("World", comm), alone, action, signals, load)


def load() -> None:
    """Load what runs need."""
    import hpcchain.api  # noqa: F401  # the same
