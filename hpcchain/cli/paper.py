"""`hpcchain paper`: the papers' experiments, with what was printed next to what comes out."""

import argparse
import time
from pathlib import Path
from typing import Any

from hpcchain.cli.options import add_command
from hpcchain.observe.timers import aligned

DEFAULT = "papers-out"


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "paper", execute, "reproduce the papers' tables and figures, theirs next to ours")
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="an experiment, or a paper's number for all of its experiments (default: all)",
    )
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument(
        "--output", metavar="DIR", default=DEFAULT, help=f"folder for CSV, PNG and the summary page (default {DEFAULT})"
    )
    parser.add_argument("--quick", action="store_true", help="each in seconds, at reduced size")


def execute(args: argparse.Namespace) -> Any:
    """Run the experiments asked for, or list them; return the exit code."""
    from hpcchain.papers.experiments import chosen, found

    known = found()
    names = chosen(args.names, known)
    if args.list:
        width = max((len(name) for name in names), default=0)
        for name in names:
            print(f"{name:<{width}}  {known[name].TITLE}")
        return 0
    return perform([known[name] for name in names], list(known), Path(args.output), args.quick)


def perform(modules: Any, every: Any, folder: Path, quick: Any) -> Any:
    """Run experiments one after the other, each written as soon as it is done, and the summary page after each."""
    from hpcchain.papers import pages
    from hpcchain.papers.pages import drawing, picture
    from hpcchain.papers.result import check

    pages.prepare(folder)
    if any(hasattr(module, "draw") for module in modules) and drawing() is None:
        print("no figures: they need matplotlib, which is not installed: pip install 'hpcchain[plot]'\n")
    started = time.monotonic(), time.process_time()
    for module in modules:
        print(f"{module.NAME}: {module.TITLE}", flush=True)
        begin = time.process_time()
        result = module.run(quick)
        seconds = time.process_time() - begin
        check(module.NAME, result)
        written = pages.write(folder, module, result, picture(folder, module, result), seconds, quick)
        summary = pages.summarize(folder, every)
        print(text(result))
        print(f"{seconds:.1f} s of CPU time; {', '.join(path.name for path in written)} in {folder}\n", flush=True)
    if modules:
        wall, spent = time.monotonic() - started[0], time.process_time() - started[1]
        print(f"summary: {summary}; {spent:.0f} s of CPU time, {wall:.0f} s by the clock")
    return 0


def text(result: Any) -> Any:
    """Return a result's tables and notes as plain text."""
    blocks = [
        f"{table.title}\n"
        + aligned([("", "printed", "ours"), *((row.quantity, row.printed, row.ours) for row in table.rows)])
        for table in result.tables
        if table.rows
    ]
    return "\n\n".join([*blocks, *(["\n".join(f"- {note}" for note in result.notes)] if result.notes else [])])
