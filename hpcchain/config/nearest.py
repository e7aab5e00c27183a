"""Guess what a mistyped name was meant to be."""

import difflib


def suggestion(name, names):
    """Return '; did you mean "…"?' with the nearest of the names, or an empty text when none is near."""
    close = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else ""


def likeness(name, other):
    """Return how much two names are alike, 0 to 1."""
    return difflib.SequenceMatcher(None, name[:100].lower(), other).ratio()


def nearest(name, names):
    """Return the nearest of the names, however far."""
    return max(names, key=lambda other: likeness(name, other))
