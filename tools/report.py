"""Tables of figures in the manual: each stands between two comments, of which the first names what prints it.

    <!-- made by: COMMAND -->
    <!-- end of table -->

`tools/bench --report` makes those of one core anew, `tools/scaling --report` those of several ranks. Below a table
stand the date, the machine, what else it had to do, and the command.
"""

import os
import re
import shlex
import subprocess
import time
from datetime import date

import environment
from peers_figure import processor

PAGES = sorted((environment.ROOT / "docs").rglob("*.md"))
MADE = re.compile(r"<!-- made by: (?P<command>.+?) -->\n(?P<table>.*?)<!-- end of table -->", re.DOTALL)
RANKS = "tools/scaling"
QUIET = 0.5  # processors that others may take


def remake(ranks, pages=PAGES):
    """Run the commands of the pages' tables one after another, and put in what they print as soon as it is there.

    Parameters
    ----------
    ranks : bool
        Whether those of several ranks are meant, or those of one core.
    pages : list of path
    """
    found = [(page, made) for page in pages for made in MADE.finditer(page.read_text(encoding="utf-8"))]
    for page, made in found:
        command = made["command"]
        if (RANKS in command) == ranks:
            others, begin = os.getloadavg()[0], time.monotonic()
            words = shlex.split(command)
            done = subprocess.run(words, cwd=environment.ROOT, stdout=subprocess.PIPE, text=True, check=True)
            print(f"{page.name}: {time.monotonic() - begin:.0f} s for {command}", flush=True)
            table = f"{done.stdout.strip()}\n\n{line_of(command, others)}\n"
            new = f"<!-- made by: {command} -->\n{table}<!-- end of table -->"
            page.write_text(page.read_text(encoding="utf-8").replace(made[0], new), encoding="utf-8")


def line_of(command, others):
    """Return when, on what and by what a table was made; `others` is the load of what else ran."""
    today, name = date.today(), processor()
    busy = "nothing else running" if others < QUIET else f"next to other work (load {others:.1f})"
    return f"{today.day} {today:%B %Y}, {os.cpu_count()} processors of {name}, {busy}: `{command}`"
