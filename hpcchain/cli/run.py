"""`hpcchain run`: from an input file to trajectories and checkpoints; which ranks take part in it and in `resume`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from hpcchain.cli.options import add_command, add_shared, given
from hpcchain.errors import UsageError
from hpcchain.parallel.signals import Signals
from hpcchain.parallel.tuning.standby import shared_or_alone

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.comm import Single, World


def on_ranks_that_pay(comm: Single | World, known: Callable[[], Config | None], action: Callable[[Any], int]) -> int:
    """Return the exit code of an action of all ranks, or of the root alone where no more pay; collective.

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
        from hpcchain.run.alone import one_does  # costs start-up time that a sleeping rank need not spend

        return one_does(known(), comm.size)

    with Signals() as signals:
        return shared_or_alone(cast("World", comm), alone, action, signals, load)


def load() -> None:
    """Load what runs need."""
    import hpcchain.api  # noqa: F401  # the same


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "run", execute, "run an input file and write its output directory", parallel=True)
    parser.add_argument("input", metavar="INPUT.toml", help="the input file ('hpcchain template' prints one)")
    parser.add_argument("--output", metavar="DIR", help="write there instead of output.directory")
    add_shared(parser, "--until", "--set")
    parser.add_argument(
        "--resume",
        choices=["auto"],
        help="auto: continue from the newest whole checkpoint in the output directory if there is one",
    )
    parser.add_argument(
        "--vary",
        nargs="+",
        action="extend",
        metavar="KEY=VALUES",
        help="an ensemble: a run for every combination of these values, each in a folder of its own in the output "
        "directory, handed out to groups of ranks; for example --vary initial.seed=1:16 box.packing_fraction=.25,.3; "
        "again: go on with what is not done",
    )
    add_shared(parser, "--ranks-per-run", "--wall-limit", "--silence", "--trust-code")


def execute(args: argparse.Namespace) -> int:
    """Run the input on the ranks that pay, or many of it on groups of ranks; return the exit code."""
    if args.vary is not None:
        from hpcchain import api

        return api.run_many(args.input, args.vary, comm=args.comm, **given(args, "overrides", "ranks_per_run"))
    if args.ranks_per_run is not None:
        raise UsageError("--ranks-per-run is for the runs of an ensemble: give --vary, too")

    def known() -> Config | None:
        from hpcchain.run.alone import given_input

        return given_input(args.input, args.overrides)

    def action(comm: Single | World) -> int:
        from hpcchain import api

        return api.run(args.input, comm=comm, **given(args, "overrides", "resume"))

    return on_ranks_that_pay(args.comm, known, action)
