"""`hpcchain analyze`: averages of a run's observables, and the sizes of its molecules."""

from __future__ import annotations

import argparse
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcchain.cli.options import add_command, finite_time
from hpcchain.cli.table import aligned
from hpcchain.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from hpcchain.observe.molecules import MoleculeMean

LOG = logging.getLogger("hpcchain.analyze")

MEANING = """\
error: standard error over molecules, of each one's mean over time, or over time, of the mean of all: the greater
correlation: integrated correlation time of the vector between the ends of a molecule (of stars, rings and graphs,
between two beads as many bonds apart as there are)"""


def add_parser(sub: argparse._SubParsersAction) -> None:
    """Declare the command's options."""
    parser = add_command(sub, "analyze", execute, "average a run's observables and the sizes of its molecules")
    parser.add_argument("directory", metavar="DIR", help="a run's output directory")
    parser.add_argument(
        "--from", dest="start", type=finite_time, default=0.0, metavar="T", help="leave out what came before this time"
    )
    parser.add_argument("--plot", action="store_true", help="also draw the observables in DIR/observables.png")


def execute(args: argparse.Namespace) -> int:
    """Print the tables of the files that are there; return the exit code."""
    folder = Path(args.directory)
    found = [name for name in ("observables.h5", "trajectory.h5") if (folder / name).is_file()]
    if not found:
        raise DataError(f"{folder}: holds neither observables.h5 nor trajectory.h5; name a run's output directory")
    if args.plot and "observables.h5" not in found:
        raise DataError(f"{folder}: holds no observables.h5 to plot")
    figure = drawing() if args.plot else None
    if "observables.h5" in found:
        series = read_observables(folder / "observables.h5", args.start)
        print(averages(series))
        if args.plot:
            print(f"\nfigure: {draw(figure, series, folder / 'observables.png')}")
    if "trajectory.h5" in found:
        print(f"\n{sizes(folder / 'trajectory.h5', args.start)}")
    return 0


def read_observables(path: Path, start: float) -> dict:
    """Return name -> (time, value) of one number per report, vectors split by component, from a time on."""
    from hpcchain.io.output.observables import read

    series = {}
    for name, (_, time, value) in read(path).items():
        late = time >= start
        table = value.reshape(len(value), -1)
        for column in range(table.shape[1]):
            label = name if value.ndim == 1 else f"{name}[{column}]"
            series[label] = time[late], table[late, column]
    return series


def averages(series: dict) -> str:
    """Return the table of observables: how many reports, mean, standard error."""
    rows = [(name, *summary(value)) for name, (_, value) in series.items()]
    return aligned([("observable", "reports", "mean", "error"), *rows])


def summary(value: np.ndarray) -> tuple[str, str, str]:
    """Return (count, mean, error) of a series as texts; what has no value (a pressure at time 0) is left out."""
    import numpy as np

    from hpcchain.observe.averages import mean_and_error

    value = np.asarray(value)[np.isfinite(value)]
    mean, error = mean_and_error(value)
    return str(len(value)), number(mean, "{:.8g}"), number(error, "{:.2g}")


def number(value: float, form: str) -> str:
    """Return a number as text, "-" when there is none."""
    return "-" if math.isnan(value) else form.format(value)


def sizes(path: Path, start: float) -> str:
    """Return the table of molecule sizes per kind; a run that is too short for its errors is named in the log.

    The sizes are the root mean square end-to-end distance and radius of gyration, with errors.
    """
    import numpy as np

    from hpcchain.io.output.trajectory import open_trajectory
    from hpcchain.observe.molecules import kinds_of

    with open_trajectory(path) as found:
        kinds = kinds_of(found.species, found.molecule, found.mass, found.bonds)
        frames = np.flatnonzero(found.time >= start)
        for frame in frames:
            position = found.frame(int(frame))[0]
            for _, kind in kinds:
                kind.add(position)
        time, names = found.time[frames], found.names
    length = float(time[-1] - time[0]) if len(time) else 0.0
    rows = []
    for species, kind in kinds:
        relaxation = kind.correlation_time() * length / max(len(time) - 1, 1)
        warn_of_short_run(path, names[species], length, relaxation)
        molecules, beads = kind.shape
        rows.append(
            (
                names[species],
                str(beads),
                str(molecules),
                str(len(time)),
                *(root_of_mean(kind.ends) if kind.linear else ("-", "-")),
                *root_of_mean(kind.gyration),
                number(relaxation, "{:.3g}"),
            )
        )
    header = ("molecules", "beads", "count", "frames", "end-to-end", "error", "gyration", "error", "correlation")
    return f"{aligned([header, *rows])}\n\n{MEANING}"


def warn_of_short_run(path: Path | str, name: str, length: float, relaxation: float) -> None:
    """Warn where a stretch of a run is shorter than its errors need; times in the run's unit, NaN where unknown."""
    from hpcchain.observe.molecules import ENOUGH

    if length < ENOUGH * relaxation:
        bound = "at least " if length < 2.0 * relaxation else ""
        LOG.warning("%s: molecules %s: the time of %.4g analysed is shorter than %g correlation times of %s%.3g each: "
                    "sizes may still be those of the start, and errors too small; make the run longer",
                    path, name, length, ENOUGH, bound, relaxation)  # fmt: skip


def root_of_mean(squares: MoleculeMean) -> tuple[str, str]:
    """Return the root of a MoleculeMean of squares, and its error, as texts."""
    mean, error = squares.mean_and_error()
    root = math.sqrt(mean)
    return number(root, "{:.5g}"), number(error / (2.0 * root) if root > 0.0 else error, "{:.2g}")


def drawing() -> Any:
    """Return a new matplotlib figure that needs no screen; raises UsageError without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("--plot needs matplotlib, which is not installed: pip install 'hpcchain[plot]'") from error
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw(figure: Any, series: dict, path: Path) -> Path:
    """Draw every observable over time, one panel each, and return the picture's path."""
    figure.set_size_inches(7.0, 1.6 * max(len(series), 1))
    panels = figure.subplots(max(len(series), 1), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (name, (time, value)) in zip(panels, series.items(), strict=False):
        panel.plot(time, value, linewidth=0.8)
        panel.set_ylabel(name, fontsize="small")
    panels[-1].set_xlabel("time")
    figure.savefig(path, dpi=120)
    return path
