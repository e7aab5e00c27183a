"""Results and pictures in a folder: CSV, PNG and a page NAME.md per experiment, and summary.md over all pages."""

import csv
from pathlib import Path
from typing import Any

from hpcchain.errors import DataError
from hpcchain.io.hdf5 import atomic

SUMMARY = "summary.md"
HEADER = """\
# The papers' experiments

Written by `hpcchain paper`. Each table has the printed value, ours, and why they differ.
"""


def prepare(folder: Path) -> None:
    """Make the folder for results.

    Raises
    ------
    DataError
        If it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}; choose another --output") from error


def write(folder: Path, module: Any, result: Any, picture: Any, seconds: float, quick: Any) -> Any:
    """Write one experiment's data and page; return the paths.

    Parameters
    ----------
    folder : pathlib.Path
    module : module
        The experiment.
    result : Result
    picture : pathlib.Path or None
        Its figure, already written.
    seconds : float
        CPU seconds that it took.
    quick : bool
    """
    for stale in [*folder.glob(f"{module.NAME}.csv"), *folder.glob(f"{module.NAME}-data-*.csv")]:
        stale.unlink()
    names = [f"-data-{str(key).replace(' ', '-')}" if key else "" for key in result.data]
    paths = [folder / f"{module.NAME}{name}.csv" for name in names]
    for path, columns in zip(paths, result.data.values(), strict=True):
        write_columns(path, columns)
    page = folder / f"{module.NAME}.md"
    atomic.write_text(page, section(module, result, [path.name for path in paths], picture, seconds, quick))
    return [*paths, *([picture] if picture else []), page]


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write columns as CSV, floats with all their digits."""
    with atomic.replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(map(_plain, column) for column in columns.values()), strict=True))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def section(module: Any, result: Any, files: Any, picture: Any, seconds: float, quick: Any) -> Any:
    """Return one experiment's page in Markdown."""
    lines = [f"## {module.NAME}: {module.TITLE}", ""]
    if quick:
        lines += ["*Quick: at reduced size; not for comparison with the paper.*", ""]
    if picture:
        lines += [f"![{module.TITLE}]({picture.name})", ""]
    for table in result.tables:
        lines += [f"**{table.title}**", "", "| | printed | ours | why they differ |", "|---|---|---|---|"]
        lines += [
            f"| {cell(row.quantity)} | {cell(row.printed)} | {cell(row.ours)} | {cell(row.why)} |" for row in table.rows
        ]
        lines.append("")
    lines += [f"- {note}" for note in result.notes]
    lines += [f"- Data: {', '.join(f'[{name}]({name})' for name in files)}"] if files else []
    return "\n".join([*lines, f"- {seconds:.1f} s of CPU time.", ""])


def cell(text: str) -> Any:
    """Return a text that stays inside its cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def summarize(folder: Path, names: Any) -> Any:
    """Write the summary page over the experiments whose pages are in the folder; return its path."""
    pages = [(folder / f"{name}.md") for name in names]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.is_file()]
    path = folder / SUMMARY
    atomic.write_text(path, "\n".join([HEADER, *texts]))
    return path


def drawing() -> Any:
    """Return an empty matplotlib figure that needs no screen, or None without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def picture(folder: Path, module: Any, result: Any) -> Any:
    """Draw an experiment's figure as NAME.png; return its path, or None when it has none or matplotlib is missing."""
    path = folder / f"{module.NAME}.png"
    path.unlink(missing_ok=True)
    figure = drawing() if hasattr(module, "draw") else None
    if figure is None:
        return None
    module.draw(result, figure)
    figure.savefig(path, dpi=110)
    return path
