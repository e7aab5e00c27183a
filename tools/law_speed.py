#!/usr/bin/env python3
"""CPU time of an event of rough beads and of square wells, against that of smooth hard spheres.

    taskset -c 0 tools/law_speed.py [--beads 4000] [--fraction 0.3] [--events 40000] [--turns 9]

Monomers at the same packing fraction and temperature, on one core: smooth ones; perfectly rough ones; square wells of
range 1.5 and depth 1 at temperature 2. They are timed in turn, a stretch of each after another, so that what else the
machine does falls on all alike. Printed are medians of nanoseconds of CPU time an event (contacts, with crossings where
there are wells), and the median of the ratios of stretches that follow one another to those of smooth spheres.
"""

import argparse
import statistics
import time

import environment  # noqa: F401  # first: it may hand over to the project's own Python
import numpy as np

from hpcchain.config.load import config_from_table
from hpcchain.model.starts.spins import with_spins
from hpcchain.model.starts.start import build_system
from hpcchain.sector.serial import Engine

CASES = {
    "smooth": {},
    "rough": {"contact": {"tangential_restitution": -1.0}},
    "wells": {"potential": [{"name": "steps", "distances": [1.5], "energies": [-1.0]}]},
}
TEMPERATURE = 2.0
SETTLE = 5.0
"""Contacts of each bead before the clock runs."""


def engine_of(case, beads, fraction):
    """Return an engine of a case: beads of diameter 1 that begin on a lattice."""
    side = round(beads ** (1.0 / 3.0))
    pitch = (np.pi / 6.0 / fraction) ** (1.0 / 3.0)
    place = (np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.5) * pitch
    kind = {"kind": "monomer", "count": len(place), "positions": place.tolist()}
    tables = {
        "box": {"size": [side * pitch] * 3},
        "molecule": [kind],
        "initial": {"method": "explicit", "seed": 1, "temperature": TEMPERATURE},
        "run": {"end_time": 1.0},
    }
    config = config_from_table(tables | CASES[case], case)
    return Engine(with_spins(build_system(config), config))


def run_for(engine, events, rate):
    """Carry an engine on by about so many events; return how many it were, CPU seconds, and the rate in time."""
    before, begin, start = engine.counters["contacts"], time.thread_time(), engine.time
    engine.advance(start + events / rate)
    spent = time.thread_time() - begin
    done = engine.counters["contacts"] - before
    return done, spent, done / (engine.time - start)


def main():
    """Settle each case, time them in turn, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beads", type=int, default=4096, help="about so many; the nearest cube is taken")
    parser.add_argument("--fraction", type=float, default=0.3, help="packing fraction")
    parser.add_argument("--events", type=int, default=40000, help="of a stretch")
    parser.add_argument("--turns", type=int, default=9, help="stretches of each")
    given = parser.parse_args()
    engines = {case: engine_of(case, given.beads, given.fraction) for case in CASES}
    rates = {}
    for case, engine in engines.items():
        beads = len(engine.ids)
        rates[case] = run_for(engine, 100, 5.0 * beads)[2] or beads
        rates[case] = run_for(engine, SETTLE * beads, rates[case])[2]
    cost = {case: [] for case in CASES}
    for _ in range(given.turns):
        for case, engine in engines.items():
            done, spent, rates[case] = run_for(engine, given.events, rates[case])
            cost[case].append(1e9 * spent / done)
    print("| case | ns an event | to smooth |\n|---|---|---|")
    for case, found in cost.items():
        ratio = statistics.median(one / other for one, other in zip(found, cost["smooth"], strict=True))
        print(f"| {case} | {statistics.median(found):.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
