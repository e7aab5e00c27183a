"""Figures, where matplotlib is installed."""

from pathlib import Path
from typing import Any


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
