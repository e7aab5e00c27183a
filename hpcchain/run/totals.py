"""What a run and its present report interval have counted, over all ranks and continued across restarts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpcchain.parallel.comm import Single, World

WALL_IMPULSE = ("push_x", "push_y", "push_z")
TENSOR = ("virial_yy", "virial_zz", "virial_xy", "virial_xz", "virial_yz")
"""Parts of the virial's tensor beside its trace, in the order of `layout.arrays.TENSOR_PARTS`."""
ENERGIES = ("work", "heat")
CONTACTS = ("contacts", "wall_contacts", "no_roots")
SOLVED = ("halved", "steps", "iterations", "nodes", "node_iterations")
MOST = ("most_iterations", "most_node_iterations")


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

    Attributes
    ----------
    contacts, wall_contacts : int
        Contacts between beads, and with walls, of the run up to the last `gather`.
    """

    def __init__(self, engine: Any, counters: dict, comm: Single | World) -> None:
        self._engine, self._comm = engine, comm
        self._before = {name: counters.get(name, 0) for name in (*CONTACTS, *SOLVED, *MOST)}
        self._interval = (counters.get("interval_contacts", 0), restored_virial(counters, engine.quantum))
        self._wall_impulse = restored_wall_impulse(counters, engine.impulse_quantum)
        self._tensor = restored_tensor(counters, engine.quantum)
        self._before |= {name: counters.get(name, 0) for name in ENERGIES}
        counted = ("virial", *TENSOR, *WALL_IMPULSE, *ENERGIES, *CONTACTS, *SOLVED, *MOST)
        self._now = self._start = dict.fromkeys(counted, 0)

    def gather(self) -> None:
        """Bring the ranks' counts up to date; collective."""
        counters = self._engine.counters
        own = {name: counters[name] for name in (*CONTACTS, *SOLVED, *MOST)} | {"virial": self._engine.virial}
        own |= dict(zip(TENSOR, self._engine.virial_tensor, strict=True))
        own |= dict(zip(WALL_IMPULSE, self._engine.wall_impulse, strict=True)) | {
            name: getattr(self._engine, name) for name in ENERGIES
        }
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
    def work(self) -> float:
        """Energy that has come in through walls that move, in the whole run [mass length^2 / time^2]."""
        return float(self._total("work") * Fraction(self._engine.energy_quantum))

    @property
    def heat(self) -> float:
        """Energy that has come in as heat, in the whole run [mass length^2 / time^2]."""
        return float(self._total("heat") * Fraction(self._engine.energy_quantum))

    def _total(self, name: str) -> int:
        return self._before[name] + self._now[name]

    @property
    def solved(self) -> dict:
        """What solving for steps has taken, by name: `SOLVED` and `MOST`."""
        most = {name: max(self._before[name], self._now[name]) for name in MOST}
        return {name: self._total(name) for name in SOLVED} | most

    @property
    def interval_contacts(self) -> int:
        """Contacts of both sorts since the last `begin_interval`."""
        return self._interval[0] + sum(self._now[name] - self._start[name] for name in ("contacts", "wall_contacts"))

    @property
    def interval_virial(self) -> float:
        """Virial since the last `begin_interval` [mass length^2 / time]."""
        return float(self._interval_quanta * Fraction(self._engine.quantum))

    @property
    def interval_tensor(self) -> list | None:
        """Virial's tensor since the last `begin_interval`, xx, yy, zz, xy, xz, yz [mass length^2 / time].

        None where the run goes on from a checkpoint of an earlier version. The trace is `interval_virial`.
        """
        parts = self._interval_tensor_quanta
        if parts is None:
            return None
        quanta = [self._interval_quanta - parts[0] - parts[1], *parts]
        return [float(number * Fraction(self._engine.quantum)) for number in quanta]

    @property
    def interval_pushes(self) -> list:
        """Impulse on the walls of each axis since the last `begin_interval` [mass length / time].

        None where the run goes on from a checkpoint of an earlier version, which does not say what came before it.
        """
        quanta = self._interval_push_quanta
        return quanta and [float(number * Fraction(self._engine.impulse_quantum)) for number in quanta]

    def begin_interval(self) -> None:
        """Count contacts, virial and impulses on walls anew, from the last `gather` on."""
        self._interval, self._wall_impulse, self._start = (0, 0), [0, 0, 0], self._now
        self._tensor = [0] * len(TENSOR)

    def saved(self) -> dict:
        """Return the counters that a checkpoint keeps."""
        return (
            {name: getattr(self, name) for name in (*CONTACTS, "interval_contacts")}
            | self.solved
            | {
                "interval_quanta": self._interval_quanta,
                "virial_quantum": self._engine.quantum,
                "interval_tensor": self._interval_tensor_quanta,
                "interval_pushes": self._interval_push_quanta,
                "impulse_quantum": self._engine.impulse_quantum,
            }
            | {name: self._total(name) for name in ENERGIES if self._total(name)}
        )

    @property
    def _interval_quanta(self) -> int:
        return self._interval[1] + self._now["virial"] - self._start["virial"]

    @property
    def _interval_tensor_quanta(self) -> list | None:
        return self._since(self._tensor, TENSOR)

    @property
    def _interval_push_quanta(self) -> list | None:
        return self._since(self._wall_impulse, WALL_IMPULSE)

    def _since(self, before: list | None, names: tuple) -> list | None:
        if before is None:
            return None
        return [old + self._now[name] - self._start[name] for old, name in zip(before, names, strict=True)]


def solving(counters: dict) -> dict:
    """Return what the run log and `hpcchain perf` say of the solution of steps, name -> number or None (none solved).

    Parameters
    ----------
    counters : dict
        `Totals.solved`, or a checkpoint's counters; {} is returned where a checkpoint has none of them.
    """
    if any(name not in counters for name in (*SOLVED, *MOST)):
        return {}
    return {
        "steps_solved": counters["steps"],
        "steps_halved": counters["halved"],
        "iterations_per_step": mean(counters["iterations"], counters["steps"]),
        "most_iterations": counters["most_iterations"],
        "contact_nodes_solved": counters["nodes"],
        "iterations_per_contact_node": mean(counters["node_iterations"], counters["nodes"]),
        "most_iterations_of_a_contact_node": counters["most_node_iterations"],
    }


def mean(total: int, number: int) -> float | None:
    """Return a mean, None where there is nothing to take it of."""
    return total / number if number else None


def restored_virial(counters: dict, quantum: float) -> int:
    """Return the virial of the interval that a checkpoint was written in, an int in units of `quantum`.

    Checkpoints of earlier versions keep it as a rounded sum.
    """
    if "interval_quanta" in counters:
        virial = counters["interval_quanta"] * Fraction(counters["virial_quantum"])
    else:
        virial = Fraction(counters.get("interval_virial", 0.0))
    return round(virial / Fraction(quantum))


def restored_tensor(counters: dict, quantum: float) -> list | None:
    """Return the parts of the virial's tensor of the interval that a checkpoint was written in, in units of `quantum`.

    None for a checkpoint of an earlier version, which does not keep them.
    """
    if "interval_contacts" in counters and counters.get("interval_tensor") is None:
        return None
    unit = Fraction(counters.get("virial_quantum", quantum)) / Fraction(quantum)
    return [round(number * unit) for number in counters.get("interval_tensor", [0] * len(TENSOR))]


def restored_wall_impulse(counters: dict, quantum: float) -> list | None:
    """Return the impulses on walls of the interval that a checkpoint was written in, three int in units of `quantum`.

    None for a checkpoint of an earlier version, which does not keep them.
    """
    if "interval_contacts" in counters and counters.get("interval_pushes") is None:
        return None
    unit = Fraction(counters.get("impulse_quantum", quantum)) / Fraction(quantum)
    return [round(number * unit) for number in counters.get("interval_pushes", [0, 0, 0])]
