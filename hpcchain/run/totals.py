"""What a run and its present report interval have counted, over all ranks and continued across restarts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from hpcchain.io.checkpoint.layout import CONTACTS, ENERGIES, MOST, SOLVED, number, whole
from hpcchain.layout.arrays import FLOW_SCALE
from hpcchain.observe.observables import Interval

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World
    from hpcchain.sector.interface import Engine

WALL_IMPULSE = ("push_x", "push_y", "push_z")
TENSOR = ("virial_yy", "virial_zz", "virial_xy", "virial_xz", "virial_yz")
"""Parts of the virial's tensor besides its trace."""
FLOW = ("flow_x", "flow_y", "flow_z")
"""Energy that contacts carry from molecule to molecule, times the way between their centres."""
SUMS = ("virial", *TENSOR, *FLOW, *WALL_IMPULSE, *ENERGIES)
"""In the order of an engine's `sums`."""


class Totals:
    """Adds what the ranks' engines have counted since they were made to what the run had before.

    All sums are of whole numbers, so that neither the number of ranks nor restarts change a bit of those over contacts.
    What solving for steps took is counted as it was done, on several ranks also for ghosts and what was rolled back.

    Parameters
    ----------
    engine : Engine
        Fresh: its counts are zero.
    counters : dict
        Those of the checkpoint that the run goes on from; empty for a new run.
    comm : Single or World
    """

    def __init__(self, engine: Engine, counters: Mapping[str, object], comm: Single | World) -> None:
        self._engine, self._comm = engine, comm
        self._before = {name: whole(counters, name) for name in (*CONTACTS, *SOLVED, *MOST, *ENERGIES)}
        self._interval = interval_of(counters, engine)
        self._now = self._start = dict.fromkeys((*SUMS, *CONTACTS, *SOLVED, *MOST), 0)

    def gather(self) -> None:
        """Bring the ranks' counts up to date; collective."""
        counters = self._engine.counters
        own = dict(zip(SUMS, self._engine.sums, strict=True))
        own |= {name: counters[name] for name in (*CONTACTS, *SOLVED, *MOST)}
        every = self._comm.allgather(own)
        self._now = {name: (max if name in MOST else sum)(one[name] for one in every) for name in own}

    @property
    def contacts(self) -> int:
        """Contacts of beads with each other, of the whole run."""
        return self._total("contacts")

    @property
    def wall_contacts(self) -> int:
        """Contacts of beads with walls, of the whole run."""
        return self._total("wall_contacts")

    @property
    def no_roots(self) -> int:
        """Contacts of the run that have the exact impulse because the variational law had no root."""
        return self._total("no_roots")

    @property
    def energies(self) -> dict[str, float]:
        """What has come in by walls that move, "work", and as "heat", in the whole run [mass length^2 / time^2]."""
        return {name: float(self._total(name) * Fraction(self._engine.energy_quantum)) for name in ENERGIES}

    def _total(self, name: str) -> int:
        return self._before[name] + self._now[name]

    @property
    def solved(self) -> dict[str, int]:
        """What solving for steps has taken, by name: `SOLVED` and `MOST`."""
        most = {name: max(self._before[name], self._now[name]) for name in MOST}
        return {name: self._total(name) for name in SOLVED} | most

    @property
    def interval(self) -> Interval:
        """What contacts have done since the last `begin_interval`."""
        unit, push = Fraction(self._engine.quantum), Fraction(self._engine.impulse_quantum)
        virial, parts = self._since("virial"), [self._since(name) for name in TENSOR]
        return Interval(
            virial=float(virial * unit),
            contacts=self._since("contacts") + self._since("wall_contacts"),
            wall_impulse=[float(self._since(name) * push) for name in WALL_IMPULSE],
            tensor=[float(one * unit) for one in (virial - parts[0] - parts[1], *parts)],
            flow=[float(self._since(name) * flow_quantum(self._engine)) for name in FLOW],
        )

    def begin_interval(self) -> None:
        """Count contacts, virial and impulses on walls anew, from the last `gather` on."""
        self._interval, self._start = dict.fromkeys(self._interval, 0), self._now

    def saved(self) -> dict[str, object]:
        """Return the counters that a checkpoint keeps."""
        return (
            {name: self._total(name) for name in CONTACTS}
            | self.solved
            | {
                "interval_contacts": self._since("contacts") + self._since("wall_contacts"),
                "interval_quanta": self._since("virial"),
                "virial_quantum": self._engine.quantum,
                "interval_tensor": [self._since(name) for name in TENSOR],
                "interval_flow": [self._since(name) for name in FLOW],
                "flow_quantum": float(flow_quantum(self._engine)),
                "interval_pushes": [self._since(name) for name in WALL_IMPULSE],
                "impulse_quantum": self._engine.impulse_quantum,
            }
            | {name: self._total(name) for name in ENERGIES if self._total(name)}
        )

    def _since(self, name: str) -> int:
        """Return what the interval has of one count, in the engine's units."""
        return self._interval[name] + self._now[name] - self._start[name]


def flow_quantum(engine: Engine) -> Fraction:
    """Return the unit in which the flow of energy is counted, a power of two [mass length^3 / time^2]."""
    speed = Fraction(engine.energy_quantum) / Fraction(engine.impulse_quantum)
    return Fraction(FLOW_SCALE) * Fraction(engine.quantum) * speed


def solving(counters: Mapping[str, object]) -> dict[str, float | None]:
    """Return what the run log and `hpcchain perf` say of the solution of steps, name -> number or None (none solved).

    Parameters
    ----------
    counters : dict
        `Totals.solved`, or a checkpoint's counters; {} is returned where a checkpoint has none of them.
    """
    if any(name not in counters for name in (*SOLVED, *MOST)):
        return {}
    found = {name: whole(counters, name) for name in (*SOLVED, *MOST)}
    return {
        "steps_solved": found["steps"],
        "steps_halved": found["halved"],
        "iterations_per_step": mean(found["iterations"], found["steps"]),
        "most_iterations": found["most_iterations"],
        "contact_nodes_solved": found["nodes"],
        "iterations_per_contact_node": mean(found["node_iterations"], found["nodes"]),
        "most_iterations_of_a_contact_node": found["most_node_iterations"],
    }


def mean(total: int, count: int) -> float | None:
    """Return a mean, None where there is nothing to take it of."""
    return total / count if count else None


def interval_of(counters: Mapping[str, object], engine: Engine) -> dict[str, int]:
    """Return what had been counted of the interval that a checkpoint was written in, in the engine's units."""
    virial = Fraction(number(counters, "virial_quantum") or engine.quantum) / Fraction(engine.quantum)
    impulse = Fraction(number(counters, "impulse_quantum") or engine.impulse_quantum) / Fraction(engine.impulse_quantum)
    found = {"contacts": whole(counters, "interval_contacts"), "wall_contacts": 0}
    flow = Fraction(number(counters, "flow_quantum") or flow_quantum(engine)) / flow_quantum(engine)
    found["virial"] = round(whole(counters, "interval_quanta") * virial)
    saved_of = {TENSOR: ("interval_tensor", virial), FLOW: ("interval_flow", flow)}
    for names, (saved, unit) in (saved_of | {WALL_IMPULSE: ("interval_pushes", impulse)}).items():
        parts = counters.get(saved)
        known = parts if isinstance(parts, list) else [0] * len(names)
        found |= {name: round(part * unit) for name, part in zip(names, known, strict=True)}
    return found
