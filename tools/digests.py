#!/usr/bin/env python3
"""Say whether a change alters any bit: digests of small systems of every capability, kept in tests/data/digests.csv.

    tools/digests.py                     compare all systems with the file; exit 1 where one differs
    tools/digests.py --quick             those of the day, some of every capability: half a minute
    tools/digests.py --write [NAME ...]  put today's digests into the file, which is then committed with its reason
    tools/digests.py --list              names of the systems

Each system runs on one rank, on three ranks that are threads, and on one rank with a second thread (`run.threads`) up
to a stop, after which it goes on from its state on two ranks. The three must have the same digest, a SHA-256 of
contacts, last frame, state and sums over contacts. A change that is to alter no bit leaves all lines of the file as
they are; one that alters bits says in CHANGELOG which.

Bits belong to a processor and to versions of numba and NumPy, so each line names them; of what NumPy and OpenBLAS
choose by the processor, one is taken everywhere. Where the file has no line of this machine, only the three digests of
a system are compared with one another, and the last line says so.

With --quick, of systems that are alike, such as random ones, a third run each day, at least one: in three days all
have run but those whose kernels take minutes to compile.
"""

import argparse
import csv
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import environment

# Starts use LAPACK and functions of NumPy, which choose kernels by more of the processor than `machine` says.
os.environ["OPENBLAS_CORETYPE"] = "Haswell"
os.environ["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
import numpy as np  # noqa: E402

sys.path.insert(0, str(environment.ROOT))

from hpcchain.config.load import config_from_table  # noqa: E402
from hpcchain.io.provenance import cpu_name, version_of  # noqa: E402
from hpcchain.layout import arrays as L  # noqa: E402
from hpcchain.model.system import State  # noqa: E402
from hpcchain.run.starts.growth import grown_system  # noqa: E402
from tests.parallel import leaks  # noqa: E402
from tests.physics import test_rough_at_one_instant as rough_joint  # noqa: E402
from tests.property import test_bodies_identity as bodies  # noqa: E402
from tests.property import test_propagator_identity as propagators  # noqa: E402
from tests.property import test_random_extended as extended  # noqa: E402
from tests.property import test_random_identity as random  # noqa: E402
from tests.property import test_random_steps as stepped  # noqa: E402
from tests.support import long_chains, mixtures  # noqa: E402
from tests.support.identity import in_stages, parallel, serial, states  # noqa: E402
from tests.support.long_tests import today  # noqa: E402
from tests.support.stepped import run_on, system_of  # noqa: E402
from tests.unit.sector.segments import test_stretch_laws as laws  # noqa: E402
from tests.unit.sector.segments import test_stretch_steps as in_steps  # noqa: E402
from tests.unit.sector.segments import test_stretch_ties as ties  # noqa: E402

FILE = environment.ROOT / "tests" / "data" / "digests.csv"
COLUMNS = ("machine", "system", "digest")
STEPS = ("flexible", "stiff", "hard", "attracting", "mixed", "outside", "heaped", "dense")
DAYS = 3
"""Days after which --quick has run all systems that are not dear."""
STEPS_END, STEPS_STOP = 0.2, 0.1
"""For the engine of steps [time]."""


@dataclass(frozen=True)
class Case:
    """A system and how long it runs.

    Parameters
    ----------
    make : callable
        Returns the System and the end time [time].
    family : str
        Systems that are alike; "": there is none like it.
    dear : bool
        Whether its kernels are compiled for it almost alone, for minutes.
    run : callable
        Returns the digests of a System's run on one rank, on three, and with a stop.
    """

    make: Callable
    family: str = ""
    dear: bool = False
    run: Callable | None = None

    def digests(self):
        """Return the digests of the three runs."""
        system, end = self.make()
        return (self.run or of_events)(system, end)


def of_events(system, end):
    """Return the digests of three runs by the engine of events."""
    stages = [(0.4 * end, 0, {"threads": 2}), (end, 2, {})]
    runs = serial(system, end), parallel(system, end, 3, threads=2), in_stages(system, stages)
    # the file knows no flow of energy
    sums = [run.sums[: 1 + L.FLOW] + run.sums[1 + L.TENSOR_COMPONENTS :] for run in runs]
    tables = zip(runs, sums, strict=True)
    return [digest([run.events, *run.frame, *states(run.state), np.array(own, dtype=object)]) for run, own in tables]


def of_steps(system, end):
    """Return the digests of three runs by the engine of steps."""
    begun = replace(system, state=run_on(system, STEPS_STOP, 1)[4])
    return [
        digest([*run[:4], *(getattr(run[4], name) for name in State.ARRAYS)])
        for run in (run_on(system, end, 1), run_on(system, end, 3), run_on(begun, end, 2))
    ]


def digest(arrays):
    """Return the SHA-256 of arrays; of objects, which are whole numbers of any length, what they are printed as."""
    total = hashlib.sha256()
    for array in arrays:
        held = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
        total.update(f"{array.shape}".encode() + held)
    return total.hexdigest()


def grown(tables, end):
    """Return the System of an input that is grown, and an end time."""
    return grown_system(config_from_table(tables | {"run": {"end_time": end}}, "in.toml")), end


def at_random(seed):
    """Return a small random system, and its end."""
    with tempfile.TemporaryDirectory() as folder:
        return random.start_of(seed, Path(folder))


def moved(way):
    """Return a box of molecules that a propagator moves in one of its ways, and its end."""
    with tempfile.TemporaryDirectory() as folder:
        return propagators.start(Path(folder), propagators.WAYS[way]), propagators.END


def rough_crowd(rule):
    """Return rough beads of which many touch, under a rule for contacts at one instant, and their end."""
    smooth = rough_joint.crowd(1, [0, 1, 0], 0.7)
    return rough_joint.ruled(rough_joint.rough(smooth, rough_joint.spun(smooth, 1), 0.3), rule), 2.0


def cases():
    """Return the systems: name -> Case."""
    found = {}
    for name, (make, end, _) in leaks.SYSTEMS.items():
        found[name] = Case(lambda make=make, end=end: (make(), end))
    for seed in random.SEEDS:
        found[f"random {seed}"] = Case(lambda seed=seed: at_random(seed), "random")
    for way in propagators.WAYS:
        found[f"propagator {way}"] = Case(lambda way=way: moved(way), f"propagator {way.split()[0]}")
    for what in extended.ADDITIONS:
        for seed in (0, 1):
            found[f"{what} {seed}"] = Case(lambda what=what, seed=seed: (extended.system_of(seed, what)[1], 2.0), what)
    for rule in ("joint", "generalised", "moreau"):
        found[f"rough, {rule}"] = Case(lambda rule=rule: rough_crowd(rule), "rough")
    found["directors"] = Case(lambda: grown(mixtures.WITH_DIRECTORS, 1.0))
    for seed in (0, 1):
        found[f"stretches {seed}"] = Case(lambda seed=seed: (in_parts(long_chains.crowd(seed)), 0.6), "crowd")
    for name, (system, end, _) in ties.CASES.items():
        found[f"stretches, {name}"] = Case(lambda system=system, end=end: (in_parts(system), end), "ties")
    for build in STEPS:
        made = getattr(stepped, build)
        found[f"steps, {build}"] = Case(lambda made=made: (system_of(made(5, False)), STEPS_END), run=of_steps)
    for seed in (0, 1):
        found[f"bodies {seed}"] = Case(lambda seed=seed: (bodies.system_of(seed)[1], 4.0), dear=True)
    found["stretches, variational law"] = Case(lambda: (in_steps.hit_under_its_law(), 0.7), dear=True)
    for name, make in laws.CASES.items():
        found[f"stretches, {name}"] = Case(lambda make=make: (in_parts(make(1)), 0.4), dear=True)
    return found


def of_day(known, day):
    """Return the names of the systems that --quick runs on a day, counted from any."""
    families = {}
    for name, case in known.items():
        if not case.dear:
            families.setdefault(case.family or name, []).append(name)
    return [name for own in families.values() for k, name in enumerate(own) if (k - day) % min(DAYS, len(own)) == 0]


def in_parts(system):
    """Return a System the same but that its long chains are divided."""
    return long_chains.in_parts(system)


def machine():
    """Return what decides bits besides the program."""
    return f"{cpu_name()} numba {version_of('numba')} numpy {version_of('numpy')}"


def read():
    """Return the file's rows as {(machine, system): digest}."""
    if not FILE.exists():
        return {}
    with FILE.open(newline="", encoding="utf-8") as lines:
        return {(row["machine"], row["system"]): row["digest"] for row in csv.DictReader(lines)}


def write(rows):
    """Write the rows of `read`."""
    with FILE.open("w", newline="", encoding="utf-8") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([*key, value] for key, value in rows.items())


def verdict(found, expected, writing):
    """Return what is wrong with a system's three digests, or None."""
    for other, way in zip(found[1:], ("three ranks", "a stop"), strict=True):
        if other != found[0]:
            return f"{way} and one rank differ"
    if expected not in (None, found[0]) and not writing:
        return "its bits are others than those in the file"
    return None


def main():
    """Run the systems, compare or write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only those of the day")
    parser.add_argument("--day", type=int, default=today().toordinal(), metavar="N", help="which day (default: today)")
    parser.add_argument("--write", action="store_true", help="put the digests into the file")
    parser.add_argument("--list", action="store_true", help="names of the systems")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    args = parser.parse_args()
    known, rows, here = cases(), read(), machine()
    unknown = set(args.names) - set(known)
    if unknown:
        parser.error(f"there is no system {sorted(unknown)[0]!r}; --list names them")
    chosen = args.names or (of_day(known, args.day) if args.quick else list(known))
    if args.list:
        print("\n".join(chosen))
        return 0
    wrong, compared = 0, 0
    for name in chosen:
        begin, expected = time.perf_counter(), rows.get((here, name))
        found = known[name].digests()
        problem = verdict(found, expected, args.write)
        wrong, compared = wrong + (problem is not None), compared + (expected is not None)
        seconds, words = time.perf_counter() - begin, "" if problem is None else f": {problem}"
        print(f"{seconds:6.1f} s  {found[0][:12]}  {name}{words}", flush=True)
        if args.write and problem is None:
            rows[here, name] = found[0]
    if args.write:
        write({key: rows[key] for key in sorted(rows)})
    print(f"{len(chosen)} systems, {compared} of them in the file for {here}: {wrong or 'none'} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
