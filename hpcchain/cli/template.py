"""`hpcchain template`: input files to start from."""

import argparse
from importlib.resources import files

from hpcchain.cli.options import add_command
from hpcchain.errors import UsageError

DEFAULT = "chains"


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "template", execute, "print an input file to start from")
    parser.add_argument("name", metavar="NAME", nargs="?", default=DEFAULT, help=f"see --list (default {DEFAULT})")
    parser.add_argument("--list", action="store_true", help="list the names and what they are for")


def execute(args: argparse.Namespace) -> int:
    """Print one input file, or the list of them; return the exit code."""
    known = templates()
    if args.list:
        for name, text in known.items():
            print(f"{name:<10} {purpose(text)}")
        return 0
    if args.name not in known:
        raise UsageError(f"no template is called {args.name!r}: choose one of {', '.join(known)}")
    print(known[args.name], end="")
    return 0


def templates() -> dict:
    """Return {name: text} of the input files that come with the program, by name."""
    folder = files("hpcchain") / "config" / "templates"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    return {entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8") for entry in sorted(found, key=str)}


def purpose(text: str) -> str:
    """Return a template's first line without its comment sign."""
    return text.partition("\n")[0].removeprefix("#").strip()
