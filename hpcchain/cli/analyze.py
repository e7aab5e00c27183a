"""`hpcchain analyze`: figures of runs with errors: a table, JSON, CSV, pictures."""

from __future__ import annotations

import argparse
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.cli.options import add_command, aligned, finite_time
from hpcchain.errors import UsageError

if TYPE_CHECKING:
    from hpcchain.analysis.figures.profile import Along
    from hpcchain.analysis.tables import Report, Value
    from hpcchain.parallel.agreement import Communicator

LOG = logging.getLogger("hpcchain.analyze")

MEANING = """\
error: standard error over molecules, of each one's mean over time, or over time, of the mean of all: the greater
correlation: integrated correlation time of the vector between the ends of a molecule (of stars, rings and graphs,
between two beads as many bonds apart as there are)"""

IN_SIZES = ("radius_of_gyration", "end_to_end", "end_correlation_time")
"""Numbers that the table of sizes has."""

FOUND_BY = {
    "option": "as asked for",
    "equilibration": "since no series starts differently",
    "all": "all that there is",
}


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(
        sub,
        "analyze",
        execute,
        "find the figures of runs: averages, sizes, structure, motion; with errors",
        parallel=True,
    )
    parser.add_argument(
        "runs", metavar="DIR|FILE.h5", nargs="+", help="runs' output directories, finished or not, or output files"
    )
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
        "--along",
        metavar="x|y|z|sphere|cylinder-x|y|z",
        help="also find profiles along an axis, or by the distance from a point or a line (default of profile: z)",
    )
    parser.add_argument(
        "--center", metavar="X,Y,Z|mass", type=center, help="of the sphere or cylinder (default: the middle of the box)"
    )
    parser.add_argument("--bins", type=int, metavar="N", help="of profiles (default: 50)")
    parser.add_argument("--reach", type=float, metavar="R", help="greatest distance from the center")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything, curves too, as JSON")
    form.add_argument("--csv", action="store_true", help="print everything, curves too, as one tidy CSV table")
    parser.add_argument("--plot", action="store_true", help="also draw observables.png and analysis.png")
    parser.add_argument(
        "--figure",
        dest="pictures",
        metavar="NAME,...",
        help="with --plot: draw these curves or observables alone, such as g1, each for one column of a journal",
    )
    parser.add_argument(
        "--plot-as", choices=["png", "pdf"], help="format of the pictures (default: png; with --figure pdf)"
    )
    parser.add_argument("--output", metavar="DIR", help="where pictures go (default: the first run's directory)")


def names(text: str) -> tuple[str, ...]:
    """Return the families of figures that an option names.

    Raises
    ------
    argparse.ArgumentTypeError
        When there is none of a name.
    """
    from hpcchain.analysis.catalogue import FIGURES

    found = tuple(name.strip() for name in text.split(",") if name.strip())
    wrong = [name for name in found if name not in FIGURES]
    if wrong or not found:
        raise argparse.ArgumentTypeError(
            f"{', '.join(wrong) or 'nothing'} is no figure: choose of {', '.join(FIGURES)}"
        )
    return found


def center(text: str) -> tuple[float, ...] | str:
    """Return a point, or "mass".

    Raises
    ------
    argparse.ArgumentTypeError
        When it is neither.
    """
    parts = text.split(",")
    try:
        found = tuple(float(part) for part in parts) if text != "mass" else (0.0, 0.0, 0.0)
    except ValueError:
        found = ()
    if len(found) != 3 or not all(map(math.isfinite, found)):
        raise argparse.ArgumentTypeError(f"{text!r} is neither three numbers X,Y,Z nor mass")
    return "mass" if text == "mass" else found


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

    if args.plot:
        drawing()
    elif any(given is not None for given in (args.output, args.plot_as, args.pictures)):
        raise UsageError("--output, --plot-as and --figure say where and what to draw: give --plot, too")
    wanted, mpi = Wanted(args.start, args.figures, along(args), args.plot), args.comm.mpi
    reports: list[Report] = []
    try:
        for number, source in enumerate(args.runs, 1):
            if len(args.runs) > 1:
                LOG.info("run %d of %d: %s", number, len(args.runs), source)
            reports.append(study(source, wanted, mpi))
            warn(args, reports[-1])
            if args.csv:
                show(args, reports[-1:], len(reports) == 1)
    except BaseException:  # also Ctrl-C: what was found in earlier runs is not lost
        if reports and not args.csv:
            show(args, reports)
        raise
    pictures = drawn(args, reports, mpi) if args.plot else []
    if not args.csv:
        show(args, reports)
    for path in pictures if args.comm.rank == 0 and not (args.json or args.csv) else ():
        print(f"\nfigure: {path}")
    return 0


def warn(args: argparse.Namespace, report: Report) -> None:
    """Warn, on the root, of what is too short."""
    if args.comm.rank == 0:
        warn_of_slow_series(report)
        warn_of_short_runs(report)


def show(args: argparse.Namespace, reports: list[Report], header: bool = True) -> None:
    """Print what was found, on the root, in the form that is asked for; of CSV the header where it is wanted."""
    import hpcchain
    from hpcchain.analysis.tables import csv_of, json_of

    if args.comm.rank == 0:
        if args.json:
            print(json_of(reports, hpcchain.__version__), flush=True)
        else:
            print(csv_of(reports, header) if args.csv else text(reports), flush=True)


def drawn(args: argparse.Namespace, reports: list[Report], mpi: Communicator | None) -> list[Path]:
    """Draw the pictures, on the root; return their paths."""
    from hpcchain.analysis.plot import draw_curves, draw_observables, draw_one
    from hpcchain.io.hdf5.collective import root_does

    first = Path(args.runs[0])
    folder = Path(args.output) if args.output else first if first.is_dir() else first.parent
    form = args.plot_as or ("pdf" if args.pictures else "png")
    chosen = [name.strip() for name in (args.pictures or "").split(",") if name.strip()]

    def draw() -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        if chosen:
            return [draw_one(reports, name, folder / f"{name.replace(' ', '_')}.{form}") for name in chosen]
        paths = [
            draw_observables(reports, folder / f"observables.{form}"),
            draw_curves(reports, folder / f"analysis.{form}"),
        ]
        if not any(paths):
            raise UsageError(f"{folder}: there is nothing to plot: neither reports nor curves")
        return [path for path in paths if path is not None]

    return root_does(mpi, folder, "drawing", draw)


def text(reports: list[Report]) -> str:
    """Return the tables of runs: observables, sizes of molecules, other numbers, and what else there is."""
    parts = [table for table in (averages(reports), sizes(reports), others(reports)) if table]
    return "\n\n".join([*parts, *(notes(report) for report in reports)])


def run_column(reports: list[Report], report: Report | None) -> tuple[str, ...]:
    """Return the first cells of a row: the run, where there are several; without one the header's."""
    if len(reports) == 1:
        return ()
    return ("run",) if report is None else (report.run,)


def averages(reports: list[Report]) -> str:
    """Return the table of observables: how many reports, mean, standard error; "" where there are none."""
    rows = [
        (*run_column(reports, report), value.figure, str(value.samples), *shown(value, "{:.8g}"))
        for report in reports
        for value in report.values
        if value.figure in report.series
    ]
    header = (*run_column(reports, None), "observable", "reports", "mean", "error")
    return aligned([header, *rows], len(header) - 3) if rows else ""


def shown(value: Value | None, form: str) -> tuple[str, str]:
    """Return a number and its error as texts, "-" where there is none."""
    if value is None:
        return "-", "-"
    return number(value.value, form), number(value.error, "{:.2g}")


def number(value: float, form: str) -> str:
    """Return a number as text, "-" when there is none."""
    return "-" if math.isnan(value) else form.format(value)


def sizes(reports: list[Report]) -> str:
    """Return the table of molecule sizes per kind: root mean squares with errors; "" where there are none."""
    header = ("molecules", "beads", "count", "frames", "end-to-end", "error", "gyration", "error", "correlation")
    rows = [
        (
            *run_column(reports, report),
            name,
            str(beads),
            str(count),
            str(report.frames),
            *shown(report.value("end_to_end", name), "{:.5g}"),
            *shown(report.value("radius_of_gyration", name), "{:.5g}"),
            shown(report.value("end_correlation_time", name), "{:.3g}")[0],
        )
        for report in reports
        for name, beads, count in report.kinds
        if report.value("radius_of_gyration", name)
    ]
    header = (*run_column(reports, None), *header)
    return f"{aligned([header, *rows], len(header) - 8)}\n\n{MEANING}" if rows else ""


def others(reports: list[Report]) -> str:
    """Return the table of all other numbers; "" where there are none."""
    header = (*run_column(reports, None), "figure", "molecules", "value", "error", "unit")
    rows = [
        (*run_column(reports, report), value.figure, value.molecules or "all", *shown(value, "{:.5g}"), unit_of(value))
        for report in reports
        for value in report.values
        if value.figure not in report.series and value.figure not in IN_SIZES
    ]
    return aligned([header, *rows], len(header) - 3) if rows else ""


def unit_of(value: Value) -> str:
    """Return a number's unit, "-" of a pure one."""
    return value.unit or "-"


def notes(report: Report) -> str:
    """Return what was analysed of a run, which curves there are besides, and what was left out and why."""
    curves = list(dict.fromkeys(curve.figure for curve in report.curves))
    why = f"where {report.decisive[0]} has become steady" if report.decisive else FOUND_BY[report.found_by]
    lines = [f"{report.run}: from time {report.start:.6g}, {why}; {report.frames} frames"]
    if curves:
        lines.append(f"curves (with --json, --csv or --plot): {', '.join(curves)}")
    lines += [f"left out: {name}: {why}" for name, why in report.missing().items()]
    return "\n".join(lines)


def warn_of_slow_series(report: Report) -> None:
    """Warn of series that cannot show whether equilibration has ended."""
    if report.slow:
        LOG.warning(
            "%s: too few independent samples of %s to show whether equilibration has ended; make the run longer, or "
            "compare runs from different starts",
            report.run,
            ", ".join(report.slow),
        )


def warn_of_short_runs(report: Report) -> None:
    """Warn of each kind of molecules for which a run is too short (`warn_of_short_run`)."""
    for name, _, _ in report.kinds:
        value = report.value("end_correlation_time", name)
        if value is not None:
            warn_of_short_run(report.run, name, report.times[1] - report.times[0], value.value)


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
