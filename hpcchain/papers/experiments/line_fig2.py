"""Tapia-McClung and Grønbech-Jensen 2005, Fig 2: condition numbers of the matrices (15) and (16)."""

from typing import Any

import numpy as np

from hpcchain.model.molecules import rod_matrices
from hpcchain.papers.result import Result, Table

NAME = "002-fig2"
TITLE = "Fig 2: condition numbers of the multipliers' matrices"
LARGEST = 52


def run(quick: Any) -> Any:
    """Return condition numbers for N = 3 ... 52, or with `quick` to 52 in steps."""
    n = np.array([3, 4, 5, 6, 8, 10, 15, 20, 30, 50, LARGEST] if quick else range(3, LARGEST + 1))
    across, along = np.array([rod_matrices.condition_numbers(int(size)) for size in n]).T
    table = Table("Condition numbers of N equal particles at equal distances")
    off = np.abs(along - n / 2)[n > 3].max()
    table.compare("k along, N > 3", "N/2", off, 0.0, 1e-9, shown=f"N/2 to {off:.1e}")
    for size in (4, 5, 10, 20, 50):
        value = float(across[n == size][0])
        table.add(
            f"k across, N = {size}",
            f"{(size - 2) ** 1.4:.4g}",
            f"{value:.3f}",
            "printed as about (N - 2)^1.4, a fit by eye",
        )
    slope = np.polyfit(np.log(n[n >= 6] - 2.0), np.log(across[n >= 6]), 1)[0]
    table.add("k across, exponent of N - 2, N = 6 ... 52", "1.4", slope, "the slope still grows with N")
    notes = ["The matrix across has l_1N^2 / l_jN on its diagonal; as printed in (8) and (11) it is another."]
    if quick:
        notes.append("Eleven values of N.")
    return Result({"": {"N": n, "across": across, "along": along}}, [table], notes)


def draw(result: Any, figure: Any) -> None:
    """Draw the condition numbers over N - 2 as the paper does."""
    data = result.data[""]
    axes = figure.subplots()
    size = np.asarray(data["N"]) - 2.0
    axes.loglog(size, data["across"], "o", fillstyle="none", label="across, (15)")
    axes.loglog(size, data["along"], "o", color="black", label="along, (16)")
    axes.loglog(size, size**1.4, "-", linewidth=0.8, label="(N - 2)^1.4")
    axes.set(xlabel="N - 2", ylabel="condition number")
    axes.legend()
