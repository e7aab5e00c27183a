"""Plain tables for stdout."""


def aligned(rows: list) -> str:
    """Return rows of texts as lines with the first column to the left and the others to the right.

    Parameters
    ----------
    rows : list of sequences of str
        The header first; all of one length.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            _place(cell, width, column) for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _place(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column == 0 else cell.rjust(width)
