"""The systems that `tools/bench` and `tools/turns.py` measure."""

import math

CASES = {
    f"monomers-{name}-{phi}": (1, beads, phi)
    for name, beads in (("11k", 10976), ("98k", 98304))
    for phi in (0.1, 0.3, 0.45)
}
CASES |= {f"chains-{n}-{phi}": (n, 10000, phi) for n in (10, 50, 200) for phi in (0.1, 0.3)}
CASES |= {"chains-1000-0.3": (1000, 10000, 0.3), "chains-10-50k-0.3": (10, 51200, 0.3)}
LARGE = {
    "chains-10-200k-0.3": (10, 200000, 0.3),
    "chains-10-1m-0.3": (10, 1000000, 0.3),
    "monomers-1m-0.3": (1, 1000000, 0.3),
}
BETWEEN = {f"chains-{n}-{phi}": (n, 10000 // n * n, phi) for n in (64, 80, 100, 130, 160) for phi in (0.1, 0.3)}
"""Lengths for `tools/turns.py --parts`."""
CASES |= LARGE | BETWEEN
COPIED = 4  # copies along each axis of a large case
RATE = {0.1: 0.6, 0.3: 2.5, 0.45: 14.0}


def input_of(name, few=False, wholes=False, copies=1):
    """Return a case's input, as text, and how many copies of its start along each axis make the system.

    With `few` it has about 1000 beads. With `wholes` long chains move as wholes. With `copies` the input is
    that of the whole, of so many along each axis.
    """
    length, beads, fraction = CASES[name]
    needed = COPIED if name in LARGE and not few else 1
    beads = max(1000, 4 * length) if few else beads // needed**3
    side = (beads * math.pi / 6.0 / fraction) ** (1.0 / 3.0) * copies
    kind = 'kind = "monomer"' if length == 1 else f'kind = "chain"\nbeads = {length}'
    text = (
        f"[box]\nsize = [{side}, {side}, {side}]\n[[molecule]]\n{kind}\ncount = {beads // length * copies**3}\n"
        f"[run]\nend_time = 1.0\n"
    )
    return text + "[propagator]\nstretches = 0\n" * wholes, needed


def duration_of(name, contacts, beads):
    """Return about how long so many contacts of so many beads take [time]."""
    length, _, fraction = CASES[name]
    return contacts / (RATE[fraction] * (2.0 if length == 1 else 1.0) * beads)
