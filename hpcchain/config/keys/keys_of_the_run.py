"""The keys of how a run is carried out and what it writes."""

from hpcchain.config.keys.key import ABSENT, MOST_BEADS, POSITIVE, REQUIRED, TIME, Key
from hpcchain.config.keys.values import TIMES, Choice, Each, Flag, Integer, Number, Text

RUN_KEYS = (
    Key("run", "end_time", Number(least=0.0, tried=TIMES), REQUIRED, "simulated time at which the run ends [time]"),
    Key("run", "engine", Choice(("events", "steps")), "events", "event-driven or time-stepping"),
    Key(
        "run",
        "window",
        Number(above=0.0, word="auto", tried=TIMES),
        "auto",
        "time between agreements of the ranks; no effect on results",
    ),
    Key(
        "run",
        "sectors",
        Each(Integer(1, MOST_BEADS), 3, words=("auto", "all")),
        "auto",
        "ranks along each axis, at most all; auto: as many ranks as pay, all: every rank; no effect on results",
    ),
    Key(
        "run",
        "cell_size",
        Number(above=0.0, word="auto"),
        "auto",
        "edge of the search cells; auto: as far as lists reach; no effect on results [length]",
    ),
    Key(
        "run",
        "list_shell",
        Number(above=0.0, word="auto"),
        "auto",
        "shell of the neighbour lists; auto: follows diameters and mean distance; no effect on results [length]",
    ),
    Key("steps", "step", TIME, REQUIRED, "length of a step; output and the end come at whole steps [time]"),
    Key(
        "steps",
        "integrator",
        Choice(("gvi", "dsi", "contact")),
        "gvi",
        "generalised variational, or discrete-smooth; without hard beads both are velocity Verlet; contact: contact "
        "dynamics, implicit, for heaps and friction",
    ),
    Key(
        "steps",
        "base",
        Choice(("verlet", "midpoint")),
        "verlet",
        "the smooth method that it rests on; midpoint: implicit, solved anew each step",
    ),
    Key(
        "steps",
        "energy",
        Choice(("H", "H2")),
        "H",
        "gvi: the energy that reflections keep; H2: the second-order numerical Hamiltonian",
    ),
    Key("steps", "predictions", Integer(1, 2), 1, "1: contacts are predicted once; 2: until no new one is met"),
    Key("steps", "solver", Choice(("newton", "gauss-seidel")), "newton", "of contacts that hang together"),
    Key("output", "directory", Text(empty=False), "out", "where the results go"),
    Key("output", "frame_every", TIME, 1.0, "simulated time between frames [time]"),
    Key("output", "report_every", TIME, 1.0, "simulated time between reports [time]"),
    Key("output", "checkpoint_every", TIME, 10.0, "simulated time between checkpoints [time]"),
    Key("output", "checkpoint_wall_minutes", POSITIVE, ABSENT, "wall time between checkpoints [minutes]"),
    Key("output", "keep_checkpoints", Integer(1, 10**6), 2, "number of checkpoints kept"),
    Key("output", "events", Flag(), False, "whether every contact is logged"),
)
