"""Runs of the program and the numbers that are read from them, with standard errors."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import hpcchain
from tests.reference import theory as spheres
from tests.reference.program import run
from tests.support.launching import ROOT, run_hpcchain

BLOCKS = 10


@dataclass(frozen=True)
class Line:
    """One line of the table.

    `expected_error` is the expected value's own standard error, or what its theory is known to be wrong by; `reason`
    says what the latter is.
    """

    quantity: str
    source: str
    expected: float
    expected_error: float
    found: float
    error: float
    reason: str = ""

    @property
    def z(self):
        """How many standard errors of the difference lie between them."""
        return (self.found - self.expected) / np.hypot(self.error, self.expected_error)

    @property
    def good(self):
        """Whether they agree."""
        return bool(abs(self.z) <= 3)


@dataclass(frozen=True)
class Gas:
    """A state of one kind of molecules, and how it is run: all stated beforehand.

    Attributes
    ----------
    beads, molecules : int
    fraction : float
        Packing fraction.
    end, settle : float
        Time of the run, and how much of its beginning is left out.
    frame : float
        Between frames.
    seed : int
    kind : str
    events : bool
        Whether contacts are logged.
    report : float
        Between reports; 0: a 200th of the run.
    """

    beads: int
    molecules: int
    fraction: float
    end: float
    settle: float
    frame: float
    seed: int
    kind: str = "chain"
    events: bool = False
    start: dict = field(default_factory=dict)
    report: float = 0.0

    @property
    def side(self):
        """Side of the cubic box."""
        return spheres.side_for(self.beads * self.molecules, self.fraction)

    def tables(self):
        """Return the input's tables."""
        shape = {"kind": "monomer"} if self.beads == 1 else {"kind": self.kind, "beads": self.beads}
        return {
            "box": {"size": [self.side] * 3},
            "molecule": [shape | {"count": self.molecules} | self.start],
            "initial": {
                "method": "explicit" if self.start else "grow",
                "temperature": 1.0,
                "seed": self.seed,
            },
            "run": {"end_time": self.end},
            "output": {
                "events": self.events,
                "frame_every": self.frame,
                "report_every": self.report or self.end / 200,
                "checkpoint_every": self.end,
            },
        }

    def __str__(self):
        return (
            f"{self.molecules} of {self.beads}, φ = {self.fraction:g}, seed {self.seed}, "
            f"t = {self.settle:g} to {self.end:g}"
        )


def results(gas, folder):
    """Return the Results of a run of a Gas in a folder; it is run unless it is there already, with the same input."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    said = folder / "asked.txt"
    if not said.is_file() or said.read_text(encoding="utf-8") != repr(gas):
        run(gas.tables(), folder)
        said.write_text(repr(gas), encoding="utf-8")
    return hpcchain.read(folder / "out")


def example(name, folder, timeout=7200.0):
    """Return the Results of an example of the manual, which is run in a folder unless it is there already."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "out" / "trajectory.h5").is_file():
        source = ROOT / "docs" / "examples" / f"{name}.toml"
        done = run_hpcchain(["run", source, "--output", folder / "out"], folder, timeout=timeout)
        if done.returncode != 0:
            raise SystemExit(f"{source}: exit code {done.returncode}\n{done.stderr}")
    return hpcchain.read(folder / "out")


def blocked(values):
    """Return mean and standard error of the mean over BLOCKS consecutive blocks."""
    means = np.array([np.mean(block) for block in np.array_split(values, BLOCKS)])
    return means.mean(), means.std(ddof=1) / np.sqrt(BLOCKS)


def over_molecules(values):
    """Return the mean of (frames, molecules) and the greater of its errors over molecules and over time."""
    one = values.mean(axis=0)
    error = one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else 0.0
    return one.mean(), max(error, blocked(values.mean(axis=1))[1])


def compressibility(found, gas):
    """Return Z = P V / (N kT) of molecules, and its error."""
    series = found.observables
    late = series["pressure"][series.time > gas.settle * (1 + 1e-9)]
    mean, error = blocked(late)
    return np.array([mean, error]) * gas.side**3 / gas.molecules


def late_frames(found, gas, velocity=False):
    """Return (frames, molecules, beads, 3) unwrapped positions, or velocities, after the settling time."""
    frames = found.trajectory
    table = frames.velocity if velocity else frames.unwrapped
    late = table[frames.time >= gas.settle * (1 - 1e-9)]
    return late.reshape(len(late), gas.molecules, gas.beads, 3)


def diffusion(found, gas, short, long):
    """Return (g3(long) - g3(short)) / (6 (long - short)) of centres of mass, lags in frames, and its error."""
    centre = late_frames(found, gas).mean(axis=2)
    centre = centre - centre.mean(axis=1, keepdims=True)
    square = [np.sum((centre[lag:] - centre[:-lag]) ** 2, axis=2).mean(axis=0) for lag in (short, long)]
    slope = (square[1] - square[0]) / (6 * (long - short) * gas.frame)
    return slope.mean(), slope.std(ddof=1) / np.sqrt(len(slope))


def decay_rate(found, gas):
    """Return the initial decay rate of the autocorrelation of molecules' velocities, and its error, from all contacts.

    It is half the rate of |change|^2 over <V^2>, so sum p^2 / (3 n N t) over contacts between molecules.
    """
    log = found.events[found.events["time"] > gas.settle]
    molecule = log["bead"] // gas.beads
    log = log[molecule[:, 0] != molecule[:, 1]]
    edges = np.linspace(gas.settle, gas.end, 20 * BLOCKS + 1)
    square, _ = np.histogram(log["time"], edges, weights=log["impulse"] ** 2)
    return blocked(square / (3 * gas.beads * gas.molecules * np.diff(edges)))
