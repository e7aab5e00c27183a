"""What an experiment returns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hpcchain.errors import HpcchainError


class NoStep(HpcchainError, ValueError):
    """The equations of a step have no solution that was found."""


class ExperimentError(HpcchainError, ValueError):
    """An experiment's result is not of the agreed form; the message names what."""


@dataclass(frozen=True)
class Row:
    """One line of a comparison.

    Attributes
    ----------
    quantity : str
        What is compared.
    printed : str
        The paper's value as it stands there; "–" where it gives none.
    ours : str
        What was computed.
    why : str
        Why they differ, or that they agree; never empty.
    """

    quantity: str
    printed: str
    ours: str
    why: str


@dataclass
class Table:
    """Lines of comparison under one title."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def add(self, quantity: Any, printed: Any, ours: Any, why: Any) -> None:
        """Append a line; numbers become texts of three digits (see `number`)."""
        self.rows.append(Row(str(quantity), number(printed), number(ours), str(why)))

    def compare(
        self, quantity: str, printed: Any, ours: Any, low: Any, high: Any, agrees: str = "agrees", shown: Any = None
    ) -> None:
        """Append a line of a number that is to lie between two bounds (`within`), with what is `shown` in its place."""
        self.add(quantity, printed, ours if shown is None else shown, within(ours, low, high, agrees))


@dataclass
class Result:
    """Data, comparisons and remarks of one experiment.

    Attributes
    ----------
    data : dict of str -> dict of str -> 1-D sequence
        Columns by heading, of one length, per table of numbers. The key "" becomes NAME.csv, another key NAME-key.csv.
    tables : list of Table
        Theirs next to ours.
    notes : list of str
        Sentences under the tables: what was chosen, corrected, reduced.
    """

    data: dict = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def columns(names: str, rows: Any) -> dict[str, np.ndarray]:
    """Return columns under the words of `names`, of rows with a value for each."""
    return {name: np.array(column) for name, column in zip(names.split(), zip(*rows, strict=True), strict=True)}


def number(value: Any, digits: int = 3) -> Any:
    """Return a number as a short text, a text as it is, None as "–"."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:.{digits}g}"


def within(value: Any, low: Any, high: Any, agrees: str = "agrees") -> Any:
    """Return `agrees` where a value lies between two bounds, else that it does not, with the bounds.

    What a page says of a number is decided by the number.
    """
    return agrees if low <= value <= high else f"DOES NOT AGREE: outside {low:.3g} to {high:.3g}"


def check(name: str, result: Any) -> None:
    """Raise ExperimentError unless the result can be written: columns of one length, no line without a reason."""
    for key, columns in result.data.items():
        lengths = {heading: len(column) for heading, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ExperimentError(f"{name}: the columns of {key or 'its data'} differ in length: {lengths}")
    for table in result.tables:
        for row in table.rows:
            if not row.why.strip():
                raise ExperimentError(f"{name}: {table.title}: {row.quantity}: says not why theirs and ours differ")
