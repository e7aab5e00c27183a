"""Plain tables for stdout."""


def aligned(rows: list, left: int = 1) -> str:
    """Return rows of texts as lines with the first columns to the left and the others to the right.

    Parameters
    ----------
    rows : list of sequences of str
        The header first; all of one length.
    left : int
        How many columns stand to the left.
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            _aligned(cell, width, column < left) for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _aligned(cell: str, width: int, to_left: bool) -> str:
    return cell.ljust(width) if to_left else cell.rjust(width)
