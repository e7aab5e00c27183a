"""Tables of figures in the manual: each stands between two comments, of which the first names what prints it.

    <!-- made by: COMMAND -->
    <!-- end of table -->

`tools/bench --report` makes those of one core anew, `tools/scaling --report` those of several ranks. Below a table
stand the date, the machine, what else it had to do, and the command.
"""

import os
import re
import resource
import shlex
import subprocess
import time
from datetime import date

import environment
from peers_figure import processor

PAGES = sorted((environment.ROOT / "docs").rglob("*.md"))
MADE = re.compile(r"<!-- made by: (?P<command>.+?) -->\n(?P<table>.*?)<!-- end of table -->", re.DOTALL)
RANKS = "tools/scaling"
QUIET = 0.2  # processors that others may take on average


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
            others, begin = taken_by_others(), time.monotonic()
            words = shlex.split(command)
            done = subprocess.run(words, cwd=environment.ROOT, stdout=subprocess.PIPE, text=True, check=True)
            took = time.monotonic() - begin
            print(f"{page.name}: {took:.0f} s for {command}", flush=True)
            table = f"{done.stdout.strip()}\n\n{line_of(command, (taken_by_others() - others) / took)}\n"
            new = f"<!-- made by: {command} -->\n{table}<!-- end of table -->"
            page.write_text(page.read_text(encoding="utf-8").replace(made[0], new), encoding="utf-8")


def taken_by_others():
    """Return the processor seconds since the machine started that this program and its children did not take."""
    user, nice, system = (int(ticks) for ticks in open("/proc/stat").readline().split()[1:4])
    own = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - sum(each.ru_utime + each.ru_stime for each in own)


def line_of(command, others):
    """Return when, on what and by what a table was made; `others` is how many processors all else took on average."""
    today, name = date.today(), processor()
    busy = "nothing else running" if others < QUIET else f"next to other work (which took {others:.1f} of them)"
    return f"{today.day} {today:%B %Y}, {os.cpu_count()} processors of {name}, {busy}: `{command}`"
