"""A stand-in for the engine of several ranks: each runs the whole system and shows a scattered part of it.

What a rank owns changes at each call of `advance`, and its beads are in an order of their own, so that whatever does
not ask for `ids` anew, or sums over less than all ranks, is found out. As a program, `replicated.py ARGS` is
`hpcchain ARGS` with the stand-in where several ranks find their engine.
"""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from hpcchain.model.system import State, System
from hpcchain.sector.serial import Engine

SEAM = "hpcchain.parallel.windows"
STEPS = 3


class ReplicatedEngine:
    """The interface of the engine of several ranks, on top of the serial engine.

    Parameters
    ----------
    system : System
    comm : World or Exchange
        Its rank, size and allgather are used.
    log_events, shell, cell, growth, window, sectors :
        As the engine of several ranks takes them.
    """

    def __init__(self, system, comm, log_events, shell, cell, growth, window, sectors, threads):
        self.settings = {"window": window, "sectors": sectors, "threads": threads}
        system = whole_of(system, comm)
        self.growing = growth != (1.0, 0.0)
        self._serial = Engine(system, log_events=True, shell=shell, cell=cell, growth=growth)
        self._comm, self._log_events = comm, log_events
        self._turn, self._reached, self._seen, self._rows = 0, 0.0, 0, []
        self._own = {"contacts": 0, "wall_contacts": 0}
        self.quantum, self.impulse_quantum = self._serial.quantum, self._serial.impulse_quantum
        self.energy_quantum = self._serial.energy_quantum
        self._deal_out()

    def _deal_out(self):
        topology = self._serial.system.topology.whole()
        molecule = np.arange(topology.molecules)
        owner = (molecule * 7 + molecule // 5 + self._turn) % self._comm.size
        mine = np.flatnonzero(owner[topology.molecule_of_bead] == self._comm.rank)
        self.ids = np.random.default_rng([self._turn, self._comm.rank]).permutation(mine)
        local = np.empty(topology.beads, dtype=np.int64)
        local[self._serial.ids] = np.arange(topology.beads)
        self._rows_shown = local[self.ids]

    def advance(self, time, pause=None):
        """Go to a time in a few steps and ask all ranks for a pause between them."""
        reached = True
        for step in np.linspace(min(self._reached, time), time, STEPS + 1)[1:]:
            self._serial.advance(float(step))
            self._take(self._serial.drain_events())
            self._reached = float(step)
            if step < time and pause is not None and any(self._comm.allgather(bool(pause()))):
                reached = False
                break
        self._turn += 1
        self._deal_out()
        return reached

    def _take(self, table):
        """Keep this rank's share of new contacts."""
        mine = table[(self._seen + np.arange(len(table))) // 3 % self._comm.size == self._comm.rank]
        self._seen += len(table)
        self._own["contacts"] += int(np.sum(mine["kind"] == 0))
        self._own["wall_contacts"] += int(np.sum(mine["kind"] == 1))
        self._rows.append(mine[:: -1 if self._comm.rank else 1])

    def drain_events(self):
        rows, self._rows = self._rows, []
        return np.concatenate(rows) if rows and self._log_events else self._serial.drain_events()[:0]

    def frame(self, time):
        return tuple(rows[self._rows_shown] for rows in self._serial.frame(time))

    def state(self):
        state = self._serial.state()
        return type(state)(**{name: getattr(state, name)[self._rows_shown] for name in state.ARRAYS})

    @property
    def counters(self):
        return self._serial.counters | self._own

    @property
    def sums(self):
        """Shares of this rank: the others take some, the first the rest."""
        return [self._share(whole) for whole in self._serial.sums]

    def _share(self, whole):
        shares = [whole // (rank + 2) for rank in range(1, self._comm.size)]
        return [whole - sum(shares), *shares][self._comm.rank]

    @property
    def time(self):
        return self._serial.time

    @property
    def seconds(self):
        return {}

    def window_report(self):
        return {"passes_per_window": float(self._comm.size), "imbalance": 0.0}


def whole_of(system, comm):
    """Return the whole of a System of which each rank may have a part."""
    if system.held is None:
        return system
    parts = comm.allgather((system.topology.beads_of(system.held), system.state))
    order = np.argsort(np.concatenate([ids for ids, _ in parts]))
    arrays = {name: np.concatenate([getattr(state, name) for _, state in parts])[order] for name in State.ARRAYS}
    return System(system.box, system.topology, State(**arrays), system.physics)


def stand_in(engine=ReplicatedEngine):
    """Return the module that several ranks import their engine from, with another engine in it."""
    module = ModuleType(SEAM)
    module.WindowedEngine = engine
    return module


def main(argv, engine=ReplicatedEngine):
    """Run the command line with a stand-in; each rank leaves its process number in the working folder."""
    import os

    from hpcchain.cli.main import main as command
    from hpcchain.parallel.comm import launched

    Path(f"rank-{launched()[1]}.pid").write_text(str(os.getpid()))
    sys.modules[SEAM] = stand_in(engine)
    return command(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
