"""`hpcchain template`: input files and job scripts to start from."""

import argparse
import re
import shlex
import sys
from importlib.resources import files
from typing import Any

from hpcchain.cli.options import add_command
from hpcchain.errors import UsageError

DEFAULT = "chains"
JOBS = ("run", "array")
SOURCED = re.compile(r"common=.*?source \"\$common\"\n", re.DOTALL)
NODE_PROGRAM = 'bash "$home/jobs/warm_node.sh"'
"""Where the scripts in the project's folder jobs use one another."""


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "template", execute, "print an input file or a job script to start from")
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"see --list (default {DEFAULT})")
    parser.add_argument("--list", action="store_true", help="list the names and what they are for")
    parser.add_argument(
        "--job",
        choices=JOBS,
        help="print a job script for Slurm instead, for this installation",
    )


def execute(args: argparse.Namespace) -> int:
    """Print one input file, or the list of them; return the exit code."""
    if args.name is not None and (args.job or args.list):
        raise UsageError(f"{args.name}: --job and --list go without a name")
    if args.job:
        print(job_script(args.job), end="")
        return 0
    known = templates()
    if args.list:
        width = max(map(len, known))
        for name, text in known.items():
            print(f"{name:<{width}} {purpose(text)}")
        return 0
    name = args.name or DEFAULT
    if name not in known:
        raise UsageError(f"no template is called {name!r}: choose one of {', '.join(known)}")
    print(known[name], end="")
    return 0


def templates() -> dict:
    """Return {name: text} of the input files that come with the program, by name."""
    folder = files("hpcchain") / "config" / "templates"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    return {entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8") for entry in sorted(found, key=str)}


def job_script(name: str) -> Any:
    """Return a job script that needs no other file: what it uses is written into it.

    Parameters
    ----------
    name : str
        One of `JOBS`.
    """
    script, common, node = (job_text(part) for part in (name, "common", "warm_node"))
    inside = [
        f"HPCCHAIN_VENV=${{HPCCHAIN_VENV:-{shlex.quote(sys.prefix)}}} # the installation that printed this script\n",
        "warm_node=$(\n    cat <<'END_OF_WARM_NODE'\n",
        node,
        "END_OF_WARM_NODE\n)\n",
        common.replace(NODE_PROGRAM, 'bash -c "$warm_node" warm_node.sh'),
    ]
    return (
        SOURCED.sub(lambda _: "".join(inside), script)
        .replace(" From the project's folder", " Submit it")
        .replace(f"jobs/{name}.sh", f"{name}.sh")
    )


def job_text(name: str) -> Any:
    """Return a script of the project's folder jobs, which comes with the program."""
    return (files("hpcchain") / "config" / "templates" / "jobs" / f"{name}.sh").read_text(encoding="utf-8")


def purpose(text: str) -> str:
    """Return a template's first line without its comment sign."""
    return text.partition("\n")[0].removeprefix("#").strip()
