"""`hpcchain analyze`: figures of runs with errors: a table, JSON, CSV, pictures."""

from __future__ import annotations

import argparse
import logging
import math
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.cli.options import Parser, add_command, finite_time, number_in
from hpcchain.config.keys.values import counted
from hpcchain.errors import UsageError
from hpcchain.observe.timers import aligned

if TYPE_CHECKING:
    from hpcchain.analysis.figures.profile import Along
    from hpcchain.analysis.points import Point
    from hpcchain.analysis.tables import Report, Value
    from hpcchain.parallel.agreement import Communicator

LOG = logging.getLogger("hpcchain.analyze")

GROUPS = {
    "sizes": ("end_to_end", "radius_of_gyration", "shape_anisotropy"),
    "structure": (
        "persistence_length",
        "kuhn_length",
        "bond_angle_cosine",
        "nematic_order",
        "steinhardt_q4",
        "steinhardt_q6",
    ),
    "dynamics": ("end_correlation_time", "diffusion", "diffusion_exponent", "diffusion_infinite_box"),
    "pressure": ("pressure", "wall_pressure", "viscosity", "bulk_viscosity", "heat_conductivity"),
}
"""Tables that are always printed, with their columns; the last has all other observables, too."""

MEANING = "0.214(10): 0.214, standard error 0.010; (?): no error is known"

FOUND_BY = {
    "option": "as asked for",
    "equilibration": "since no series starts differently",
    "all": "all that there is",
}


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    summary = "find the figures of runs: averages, sizes, structure, motion; with errors"
    parser = add_command(sub, "analyze", execute, summary, parallel=True)
    parser.add_argument(
        "runs",
        metavar="DIR|FILE.h5",
        nargs="+",
        help="runs' output directories, finished or not, or output files; an ensemble's directory stands for its runs",
    )
    add_over(parser)
    parser.add_argument(
        "--from",
        dest="start",
        type=finite_time,
        metavar="T",
        help="leave out what came before this time (default: what came before equilibration ended)",
    )
    parser.add_argument(
        "--figures", type=names, metavar="NAME,...", help="only these families of figures (the manual has the list)"
    )
    parser.add_argument(
        "--by-size",
        type=int,
        default=1,
        metavar="N",
        help="divide the molecules of a kind that has many sizes into at most N kinds by their beads' diameters",
    )
    parser.add_argument(
        "--along",
        metavar="x|y|z|wall-x|…|sphere|cylinder-x|…",
        help="also find profiles along an axis, or by the distance from its walls, a point or a line (default: z)",
    )
    parser.add_argument(
        "--center", metavar="X,Y,Z|mass", type=center, help="of the sphere or cylinder (default: the middle of the box)"
    )
    parser.add_argument("--bins", type=int, metavar="N", help="of profiles (default: 50)")
    parser.add_argument("--reach", type=float, metavar="R", help="greatest distance from the center")
    parser.add_argument(
        "--all", dest="every", action="store_true", help="print all numbers, tensors and eigenvalues, too"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything, curves too, as JSON")
    form.add_argument("--csv", action="store_true", help="print everything, curves too, as one tidy CSV table")
    parser.add_argument("--plot", action="store_true", help="also draw observables.png and analysis.png")
    parser.add_argument(
        "--figure",
        dest="pictures",
        type=names,
        metavar="NAME,...",
        help="with --plot: draw these curves or observables alone, such as g1, each for one column of a journal",
    )
    parser.add_argument(
        "--plot-as", choices=["png", "pdf"], help="format of the pictures (default: png; with --figure pdf)"
    )
    parser.add_argument("--output", metavar="DIR", help="where pictures go (default: the first run's directory)")


def add_over(parser: Parser) -> None:
    """Add --over and --against to a parser."""
    parser.add_argument(
        "--over",
        metavar="KEY",
        help="take runs whose inputs differ in this key alone, such as initial.seed, together: means over them, errors "
        "by their scatter, in tables over the other keys that vary; with --plot also pictures over one of these",
    )
    parser.add_argument(
        "--against",
        metavar="KEY",
        help="with --over and --plot: the key along the axis (default: the first of numbers)",
    )


def names(text: str) -> tuple[str, ...]:
    """Return the names that an option lists."""
    return tuple(name.strip() for name in text.split(","))


def center(text: str) -> tuple[float, ...] | str:
    """Return a point, or "mass".

    Raises
    ------
    argparse.ArgumentTypeError
        When it is neither.
    """
    if text == "mass":
        return text
    found = tuple(map(number_in, text.split(",")))
    if len(found) != 3 or not all(map(math.isfinite, found)):
        raise argparse.ArgumentTypeError(f"{text!r} is neither three numbers X,Y,Z nor mass")
    return found


def along(args: argparse.Namespace) -> Along | None:
    """Return what profiles are along, None where no option says it."""
    from hpcchain.analysis.figures.profile import Along

    given = {name: getattr(args, name) for name in ("center", "bins", "reach") if getattr(args, name) is not None}
    if args.along is None and given and "profile" not in (args.figures or ()):
        raise UsageError(f"--{', --'.join(given)}: of profiles, which are not asked for: give --along, too")
    return Along(**({} if args.along is None else {"shape": args.along}), **given) if args.along or given else None


def execute(args: argparse.Namespace) -> int:
    """Print what is asked for; return the exit code."""
    from hpcchain.analysis.plot import drawing
    from hpcchain.analysis.study import Wanted, study
    from hpcchain.io.hdf5.collective import root_does

    if args.plot:
        drawing()
    elif any(given is not None for given in (args.output, args.plot_as, args.pictures)):
        raise UsageError("--output, --plot-as and --figure say where and what to draw: give --plot, too")
    if args.against is not None and not (args.over and args.plot):
        raise UsageError("--against says over which key to draw state points: give --over and --plot, too")
    wanted, mpi = Wanted(args.start, args.figures, along(args), args.plot, args.by_size), args.comm.mpi
    runs, points = root_does(mpi, args.runs[0], "looking for runs", lambda: chosen(args))
    reports: list[Report] = []
    found: list[Report] = []  # of the point that is under way
    try:
        for point in points:
            for source in point.runs:
                number = sum(len(one.runs) for one in points[: len(reports)]) + len(found) + 1
                if len(runs) > 1:
                    LOG.info("run %d of %d: %s", number, len(runs), source)
                found.append(study(source, wanted, mpi))
                warn(args, found[-1])
            keep(args, reports, point, found)
    except BaseException:  # also Ctrl-C: what was found in earlier runs is not lost
        if found:
            keep(args, reports, point, found)
        if reports and not args.csv:
            show(args, reports)
        raise
    pictures = drawn(args, reports, mpi) if args.plot else []
    if not args.csv:
        show(args, reports)
    for path in pictures if args.comm.rank == 0 and not (args.json or args.csv) else ():
        print(f"\nfigure: {path}")
    return 0


def chosen(args: argparse.Namespace) -> tuple[list[str], list[Point]]:
    """Return the runs that are asked for, and how they are taken together: each for itself without --over."""
    from hpcchain.analysis.points import Point, points_of, runs_in

    runs = runs_in(args.runs)
    points = points_of(runs, args.over) if args.over else [Point("", {}, [run]) for run in runs]
    if args.against is not None and args.against not in points[0].keys:
        given = ", ".join(points[0].keys) or "none"
        raise UsageError(f"--against {args.against}: state points differ in other keys: {given}")
    return runs, points


def keep(args: argparse.Namespace, reports: list[Report], point: Point, found: list[Report]) -> None:
    """Add what was found in the runs of a point, and print it at once where that is possible; `found` is emptied."""
    from hpcchain.analysis.points import joined

    reports.append(joined(point, found) if args.over else found[0])
    found.clear()
    if args.csv:
        show(args, reports[-1:], len(reports) == 1)


def warn(args: argparse.Namespace, report: Report) -> None:
    """Warn, on the root, of what is too short: series that cannot show the end of equilibration, and runs."""
    if args.comm.rank != 0:
        return
    if report.slow:
        LOG.warning(
            "%s: too few independent samples of %s to show whether equilibration has ended; make the run longer, or "
            "compare runs from different starts",
            report.run,
            ", ".join(report.slow),
        )
    for name, _, _ in report.kinds:
        value = report.value("end_correlation_time", name)
        if value is not None:
            warn_of_short_run(report.run, name, report.times[1] - report.times[0], value.value)


def show(args: argparse.Namespace, reports: list[Report], header: bool = True) -> None:
    """Print what was found, on the root, in the form that is asked for; of CSV the header where it is wanted."""
    import hpcchain
    from hpcchain.analysis.tables import csv_of, json_of

    if args.comm.rank == 0:
        if args.json:
            print(json_of(reports, hpcchain.__version__), flush=True)
        else:
            print(csv_of(reports, header) if args.csv else text(reports, args.every), flush=True)


def drawn(args: argparse.Namespace, reports: list[Report], mpi: Communicator | None) -> list[Path]:
    """Draw the pictures, on the root; return their paths."""
    from hpcchain.analysis.plot import draw_curves, draw_numbers, draw_observables, draw_one
    from hpcchain.io.hdf5.collective import root_does

    first = Path(args.runs[0])
    folder = Path(args.output) if args.output else first if first.is_dir() else first.parent
    form = args.plot_as or ("pdf" if args.pictures else "png")

    def draw() -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        if args.pictures:
            named = [(name, folder / f"{name.replace(' ', '_')}.{form}") for name in args.pictures]
            return [draw_one(reports, name, path, args.against) for name, path in named]
        paths = [
            draw_numbers(reports, always, folder / f"numbers.{form}", args.against)
            if args.over
            else draw_observables(reports, folder / f"observables.{form}"),
            draw_curves(reports, folder / f"analysis.{form}"),
        ]
        if not any(paths):
            raise UsageError(f"{folder}: there is nothing to plot: neither reports nor curves")
        return [path for path in paths if path is not None]

    return root_does(mpi, folder, "drawing", draw)


def text(reports: list[Report], every: bool = False) -> str:
    """Return the tables of runs, with or without what only --all prints, and what else is to be said of each."""
    width = shutil.get_terminal_size().columns
    tables = [table for group in GROUPS if (table := grouped(reports, group, width))]
    every = every or not tables
    more = others(reports, width) if every else ""
    tables += [more] if more else []
    legend = [MEANING] if tables else []
    return "\n\n".join([*tables, *legend, *(notes(report, every, width) for report in reports)])


def group_of(report: Report, value: Value) -> str | None:
    """Return the table that always has a number, None for one that only --all prints."""
    base = value.figure.split("[")[0]
    first = next((group for group, figures in GROUPS.items() if base in figures), None)
    return first or ("pressure" if value.figure in report.series or value.samples else None)


def always(report: Report, value: Value) -> bool:
    """Return whether a number is in a table that is always printed."""
    return group_of(report, value) is not None


def run_column(reports: list[Report], report: Report | None) -> tuple[str, ...]:
    """Return the first cells of a row: the run, where there are several; without one the header's."""
    if len(reports) == 1 and reports[0].point is None:
        return ()
    return ("run" if reports[0].point is None else "runs",) if report is None else (report.run,)


def grouped(reports: list[Report], group: str, width: int) -> str:
    """Return a table of GROUPS, a row for each kind of molecules, a column for each figure; "" where it has none."""
    own = [v for report in reports for v in report.values if group_of(report, v) == group and not math.isnan(v.value)]
    there = dict.fromkeys(v.figure for v in own)
    order = GROUPS[group]
    figures = sorted(there, key=lambda name: order.index(base) if (base := name.split("[")[0]) in order else len(order))
    is_of_sizes = group == "sizes"
    counts = ("beads", "count") if is_of_sizes else ()
    rows = [
        (*run_column(reports, report), name or "all", *map(str, (beads, count)[: len(counts)]), *map(shown, found))
        for report in reports
        for name, beads, count in [*report.kinds, ("", 0, 0)]
        if any(found := [report.value(figure, name) for figure in figures]) and not (is_of_sizes and beads == 1)
    ]
    header = (*run_column(reports, None), group, *counts, *figures)
    return folded([header, *rows], len(header) - len(figures), width) if rows else ""


def folded(rows: list, left: int, width: int) -> str:
    """Return rows as lines of at most this width: columns that do not fit go below, after the `left` first ones."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    blocks: list[list[int]] = [[]]
    for column in range(left, len(widths)):
        if blocks[-1] and sum(widths[:left]) + sum(widths[one] for one in (*blocks[-1], column)) - 2 > width:
            blocks.append([])
        blocks[-1].append(column)
    texts = [[(*row[:left], *(row[one] for one in block)) for row in rows] for block in blocks]
    return "\n".join(aligned(text, left) for text in texts)


def shown(value: Value | None) -> str:
    """Return a number with its error, "-" where there is none."""
    from hpcchain.analysis.tables import concise

    return "-" if value is None else concise(value.value, value.error)


def others(reports: list[Report], width: int) -> str:
    """Return the table of all numbers that no other table has; "" where there are none."""
    rows = [
        (*run_column(reports, report), value.figure, value.molecules or "all", shown(value), value.unit or "-")
        for report in reports
        for value in report.values
        if group_of(report, value) is None
    ]
    header = (*run_column(reports, None), "figure", "molecules", "value", "unit")
    return folded([header, *rows], len(header) - 2, width) if rows else ""


def notes(report: Report, every: bool, width: int) -> str:
    """Return what was analysed of a run, what there is besides, and what was left out and why."""
    why = f"where equilibration of {report.decisive[0]} ends" if report.decisive else FOUND_BY[report.found_by]
    lines = [f"{report.run}: from time {report.start:.6g}, {why}; {counted(report.frames, 'frame')}"]
    if report.point is not None:
        many = f"means over {len(report.point.runs)} runs that differ in {report.point.over}, errors by their scatter"
        lines = [f"{report.run}: {many}; {counted(report.frames, 'frame')} in all"]
    more = sum(group_of(report, value) is None for value in report.values)
    if more and not every:
        lines.append(f"other numbers, such as tensors, with --all: {more}")
    curves = list(dict.fromkeys(curve.figure for curve in report.curves))
    if curves:
        lines.append(f"curves, with --json, --csv or --plot: {', '.join(curves) if every else len(curves)}")
    reasons: dict[str, list[str]] = {}
    for name, why in report.missing().items():
        reasons.setdefault(why, []).append(name)
    lines += [f"left out: {', '.join(found)}: {why}" for why, found in reasons.items()]
    return "\n".join(textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False) for line in lines)


def warn_of_short_run(path: Path | str, name: str, length: float, relaxation: float) -> None:
    """Warn where a stretch of a run is shorter than its errors need; times in the run's unit, NaN where unknown."""
    from hpcchain.analysis.kinds import ENOUGH

    if length < ENOUGH * relaxation:
        bound = "at least " if length < 2.0 * relaxation else ""
        LOG.warning(
            "%s: molecules %s: the time of %.4g analysed is shorter than %g correlation times of %s%.3g each: "
            "sizes may still be those of the start, and errors too small; make the run longer",
            path,
            name,
            length,
            ENOUGH,
            bound,
            relaxation,
        )
