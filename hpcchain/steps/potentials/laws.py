"""A user's own potentials: a function of a distance that returns energy and derivative, from a file of Python.

Nothing of it is trusted. The file's digest is in checkpoints, and a run goes on only with the same content. Rank 0
reads the file, all ranks compile the same text. Machine code of it is kept in the process alone: numba's cache on disk
would not see all that the function hangs on. What it returns is tried at some distances before a run begins. Whatever
it raises, an exit among it, is a fault of its file. Whether to trust it is checked before (`run.starts.starting`).
"""

from __future__ import annotations

import logging
import math
import signal
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from hpcchain.config.text import content, digest
from hpcchain.errors import CodeError, ConfigError
from hpcchain.parallel.agreement import Ranks
from hpcchain.parallel.signals import interrupts
from hpcchain.steps.potentials.constants import numbered
from hpcchain.steps.potentials.lists import add_to, along_bond, apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpcchain.model.physics.constants import PotentialConstants
    from hpcchain.steps.potentials.constants import Constants

LOG = logging.getLogger("hpcchain.run")
TRIED = 16
"""Distances at which a function is tried."""
SLOPE, STEP = 1e-4, 1e-6
"""By how much a derivative may be off the differences of the energy, relative; these differences' relative step."""
AGAIN = 0.5
"""After how long an interrupt of a user's code is raised once more, if that still runs [s]."""


def source_of(one: PotentialConstants, comm: Ranks | None = None) -> bytes:
    """Return the text of a potential's file, the same on all ranks and with the digest that it began with; collective.

    Without `comm` it is read here alone.

    Raises
    ------
    ConfigError
        On every rank, where the file cannot be read or is another.
    """
    comm = comm or Ranks()
    found: bytes | ConfigError | None = None
    if comm.rank == 0:
        try:
            found = content(one.file)
            if digest(found) != one.digest:
                found = ConfigError(
                    f"potential.file: {one.file} is not what the run began with (its SHA-256 was {one.digest}); "
                    "put that back, or begin a new run"
                )
        except ConfigError as error:
            found = ConfigError(f"potential.file: {error}")
    found = comm.allgather(found)[0]
    if not isinstance(found, bytes):
        raise found or ConfigError(f"potential.file: {one.file} cannot be read")
    return found


class Blame:
    """Turns whatever a user's code raises inside into a CodeError; an interrupt by a signal stays one.

    An interrupt that is lost, as in a `__del__` or a callback of the garbage collector, is raised again.

    Parameters
    ----------
    where : str
        Key and code for the message, and what is wrong.
    mend : str
    """

    def __init__(self, where: str, mend: str) -> None:
        self.where, self.mend = where, mend

    def __enter__(self) -> None:
        self._inside, self._interrupted = True, False
        self._before: dict[int, Any] = {}
        if interrupts():
            for number in (signal.SIGINT, signal.SIGALRM):
                self._before[number] = signal.signal(number, self._interrupt)

    def _interrupt(self, *_: Any) -> None:
        self._interrupted = True
        if self._inside:
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            raise KeyboardInterrupt

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._inside = False
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._interrupted:
            raise KeyboardInterrupt from None
        if error is not None:
            exec("")  # Python notes an interrupt that a string of code raised, and would end by it (130)
            raise CodeError(f"{self.where}: {said(error)}; {self.mend}") from None


def law_of(one: PotentialConstants, text: bytes) -> Any:
    """Return the compiled function of a potential, from the text of its file.

    Raises
    ------
    CodeError
        Where the text does not run, has no such function, or does not compile to two numbers.
    """
    where = named(one)
    module = ModuleType("hpcchain_user_potential")
    module.__file__ = one.file
    with Blame(f"potential.file: {one.file} does not run", "mend it"):
        exec(compile(text, one.file, "exec"), module.__dict__)  # noqa: S102  # the user asks for it
        function = getattr(module, one.function, None)
        function = getattr(function, "py_func", function)
    if not callable(function):
        raise CodeError(f"{where} is not there; name a function of the file")
    with Blame(f"{where} does not compile", "it must be a function of one number that numba compiles"):
        law: Any = numba.njit(error_model="numpy")(function)
        law.compile((numba.float64,))
        kind: Any = law.overloads[(numba.float64,)].signature.return_type
    if kind != numba.types.UniTuple(numba.float64, 2):
        raise CodeError(f"{where} returns {kind}; it must return two floats, the energy and its derivative")
    return law


def named(one: PotentialConstants) -> str:
    """Return how messages call the function of a potential."""
    return f"potential.function: {one.function!r} of {one.file}"


def fails(one: PotentialConstants) -> Blame:
    """Return what calls of a potential's function stand in."""
    return Blame(f"{named(one)} fails", "it must return a number at every distance")


def said(error: BaseException) -> str:
    """Return what an error says, in one line."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # a class of the user's
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}" if lines else type(error).__name__


def try_law(one: PotentialConstants, law: Callable, scale: float) -> None:
    """Raise CodeError where a function returns what is no energy with its derivative.

    Parameters
    ----------
    one : PotentialConstants
        The potential.
    law : callable
    scale : float
        The greatest distance at which it is tried; the least is half of it [length].
    """
    where, wrong = named(one), 0
    for r in np.linspace(0.5, 0.999, TRIED) * scale:
        step = STEP * r
        with fails(one):
            first, again, above, below = law(r), law(r), law(r + step), law(r - step)
        if first != again and all(map(math.isfinite, first)):
            raise CodeError(f"{where} returns {first} and {again} at the same distance {r:g}; it must return one")
        if not all(map(math.isfinite, first)):
            raise CodeError(f"{where} returns {first} at the distance {r:g}; it must return finite numbers")
        slope = (above[0] - below[0]) / (2.0 * step)
        size = abs(slope) + abs(first[1]) + 1e-6 * abs(first[0]) / r
        wrong += abs(slope - first[1]) > SLOPE * size + 1e-9 * abs(first[0]) / step
    if wrong > TRIED // 4:
        raise CodeError(
            f"{where} returns {first[1]:g} as the derivative at the distance {r:g}, where the energy's differences say "
            f"{slope:g}; return (energy, derivative of the energy by the distance)"
        )


class Passes:
    """Forces and energies of one potential of a user on own beads.

    Parameters
    ----------
    one : PotentialConstants
    law : callable
        See `law_of`.
    names : tuple of str
        Types of beads.
    """

    def __init__(self, one: PotentialConstants, law: Callable, names: tuple) -> None:
        self.on, self.fails = one.on, fails(one)
        self.acts = numbered(names, [one]) == 0
        if self.on == "pair":
            with self.fails:
                self.near = (one.range**2, float(law(one.cutoff)[0]) if one.shift else 0.0)
        self.center = np.array(one.center or [0.0, 0.0, 0.0])
        self.run = {"pair": pair_pass, "bond": bond_pass, "center": center_pass}[self.on](law)


def passes_of(constants: Constants, comm: Ranks) -> list:
    """Return the Passes of a run's own potentials; collective."""
    return [Passes(one, law_of(one, source_of(one, comm)), constants.names) for one in constants.modules]


def announced(modules: list) -> list:
    """Return the texts of the files of some potentials, after saying which are going to be run; see `source_of`."""
    texts = [source_of(one) for one in modules]
    for file, found in dict.fromkeys((one.file, one.digest) for one in modules):
        LOG.info("running %s as Python (SHA-256 %s)", file, found)
    return texts


def try_laws(modules: list, bond: float, edge: float) -> None:
    """Raise CodeError where a user's function is not there, does not compile, or returns what is no potential.

    Parameters
    ----------
    modules : list of PotentialConstants
        A user's own potentials.
    bond, edge : float
        The shortest bond's length and the box's longest edge [length].
    """
    for one, text in zip(modules, announced(modules), strict=True):
        scale = {"pair": one.cutoff, "bond": 1.2 * bond, "center": 0.5 * edge}
        try_law(one, law_of(one, text), scale[one.on])


def pair_pass(law: Callable) -> Any:
    """Return the kernel that adds the forces, energies and virials of pairs."""

    @numba.njit(error_model="numpy")
    def run(position, kind, pairs, acts, near, images, force, energy, virial):
        own, neighbour, count = pairs.own, pairs.neighbour, pairs.lengths
        cutoff2, shift = near
        for r in range(len(own)):
            i = own[r]
            fx, fy, fz, u, w = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(count[r]):
                j = neighbour[r, k]
                if not acts[kind[i], kind[j]]:
                    continue
                dx, dy, dz, r2 = apart(position, i, j, images)
                if r2 >= cutoff2:
                    continue
                distance = math.sqrt(r2)
                value, slope = law(distance)
                f = -slope / distance
                fx += f * dx
                fy += f * dy
                fz += f * dz
                u += 0.5 * (value - shift)
                w += 0.5 * f * r2
            add_to(force, r, fx, fy, fz)
            energy[r] += u
            virial[r] += w

    return run


def bond_pass(law: Callable) -> Any:
    """Return the kernel that adds the forces, energies and virials of bonds; it returns where one is no number."""

    @numba.njit(error_model="numpy")
    def run(position, own, bonds, mine, force, energy, virial):
        first, partner, which = bonds.first, bonds.partner, bonds.which
        for r in range(len(own)):
            i = own[r]
            for b in range(first[r], first[r + 1]):
                if which[b] != mine:
                    continue
                dx, dy, dz, r2 = along_bond(position, i, partner[b])
                distance = math.sqrt(r2)
                value, slope = law(distance)
                f = -slope / distance
                if not (-math.inf < f < math.inf):
                    return r, b
                add_to(force, r, f * dx, f * dy, f * dz)
                energy[r] += 0.5 * value
                virial[r] += 0.5 * f * r2
        return -1, -1

    return run


def center_pass(law: Callable) -> Any:
    """Return the kernel that adds the forces and energies of beads about a place."""

    @numba.njit(error_model="numpy")
    def run(position, image, own, size, center, force, energy):
        for r in range(len(own)):
            dx = position[own[r], 0] + image[r, 0] * size[0] - center[0]
            dy = position[own[r], 1] + image[r, 1] * size[1] - center[1]
            dz = position[own[r], 2] + image[r, 2] * size[2] - center[2]
            distance = math.sqrt(dx * dx + dy * dy + dz * dz)
            value, slope = law(distance)
            f = -slope / distance if distance > 0.0 else 0.0
            add_to(force, r, f * dx, f * dy, f * dz)
            energy[r] += value

    return run
