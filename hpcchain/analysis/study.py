"""Find the figures of one run: read its frames piece by piece, share the pieces among ranks, and gather the sums.

Figures of single frames are shared by blocks of frames, figures of motion by groups of molecules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hpcchain.analysis import catalogue
from hpcchain.analysis.correlate import lags_of
from hpcchain.analysis.figures.contacts import ContactCounts, ContactPlaces
from hpcchain.analysis.figures.displacement import without_box
from hpcchain.analysis.figures.figure import Slab
from hpcchain.analysis.figures.profile import Along, Profile
from hpcchain.analysis.figures.sizes import ENDS, SQUARE, Sizes
from hpcchain.analysis.kinds import kinds_in
from hpcchain.analysis.statistics import Sums, equilibration, mean_and_error, split
from hpcchain.analysis.tables import Report, Value
from hpcchain.errors import DataError, UsageError
from hpcchain.io.hdf5.collective import agreed, together
from hpcchain.io.output.run_output import event_tables, open_frames, read_reports, run_output
from hpcchain.parallel.agreement import gathered, rank_of, size_of

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.io.output.recoverable_output import RunOutput
    from hpcchain.io.output.run_output import Frames
    from hpcchain.parallel.agreement import Communicator


PARTS = tuple(name for pair in catalogue.FLUXES.values() for name in pair)
NO_FIGURES = ("momentum", "angular_momentum", "spin", "heat_flux", *PARTS)
"""Observables whose averages say nothing: they are conserved, drawn at the start, or parts of a figure."""

STEADY = ("temperature", "pressure", "potential_energy", "contacts")
"""Observables that say when a run has become steady."""

CONTACT_PLACES, PRESSURE = "profile_contacts", "profile_pressure"

FEWEST_SAMPLES = 20
"""Reports or frames without which the end of equilibration is not looked for."""

FEW_EFFECTIVE = 5.0
"""Effective samples in the second half of a series, below which it hardly shows whether it has become steady."""

MOST_SAMPLES = 500
"""Evenly taken of more, to find it."""

TIME_BLOCKS = 8
"""Stretches of time in which motion is looked at apart, for its errors."""

PIECE = 1 << 20
"""Beads times frames of motion that are held at once, if one molecule has no more: some 300 MB with all transforms."""

EVEN = 1e-6
"""How far distances of frames may differ, relative, and the frames still be evenly spaced."""

UNITS = {
    "temperature": "energy",
    "pressure": "energy / length^3",
    "wall_pressure": "energy / length^3",
    "kinetic_energy": "energy",
    "potential_energy": "energy",
    "rotational_energy": "energy",
    "contacts": "per report",
}


@dataclass(frozen=True)
class Wanted:
    """What is asked for.

    Attributes
    ----------
    start : float or None
        From which time on; None: to be found.
    figures : tuple of str or None
        Which families; None: all that there are.
    along : Along or None
        Of what profiles.
    sizes : bool
        Whether the sizes of molecules over time, for pictures.
    by_size : int
        Kinds that molecules of one kind are divided into by their beads' diameters, at most.
    """

    start: float | None = None
    figures: tuple[str, ...] | None = None
    along: Along | None = None
    sizes: bool = False
    by_size: int = 1

    def has(self, name: str) -> bool:
        """Return whether a family is asked for."""
        if name == catalogue.PROFILE and self.along is not None:
            return True
        return name not in catalogue.ON_DEMAND if self.figures is None else name in self.figures

    def require_known(self) -> None:
        """Raise UsageError when the start is no time, or there is no family of a name."""
        if self.start is not None and not (isinstance(self.start, Real) and math.isfinite(self.start)):
            raise UsageError(f"the time {self.start!r} to start from is no finite number")
        if isinstance(self.figures, str):
            raise UsageError(f"figures is the text {self.figures!r}; give a tuple of names")
        if self.by_size < 1:
            raise UsageError(f"molecules cannot be divided by size into {self.by_size} kinds: give 1 or more")
        if self.along is not None:
            self.along.require_possible()
        for name in self.figures or ():
            if name not in catalogue.FIGURES:
                raise UsageError(f"{name!r} is no figure: choose of {', '.join(catalogue.FIGURES)}")


class Sample(NamedTuple):
    """Frames of a run, the numbers of those that are analysed, kinds of molecules, and ranks that share the work."""

    frames: Frames
    chosen: np.ndarray
    kinds: list[Kind]
    comm: Communicator | None


def study(source: Path | str, wanted: Wanted, comm: Communicator | None = None) -> Report:
    """Return the Report of a run: its folder, finished or not, or one of its output files; collective.

    Raises
    ------
    DataError
        When something is missing or damaged, or a family that was asked for needs what the run has not written.
    UsageError
        When nothing is left from the time on that was asked for, or a package is missing.
    """
    wanted.require_known()
    catalogue.require_packages(wanted.figures or ())
    output = run_output(source, comm)
    report = Report(run=str(source))
    with together(comm, source, "reading reports"):
        reports = read_reports(output) if output.has("observables") else {}
        report.reports, report.series = reports, split_vectors(reports)
    if not output.has("trajectory"):
        names = filter(wanted.has, (*catalogue.STATIC, *catalogue.MOTION, *catalogue.FLUXES))
        report.left_out = dict.fromkeys(names, "there are no frames")
        begin(report, wanted)
        require_something(report, np.empty(0))
        observables(report, wanted)
        contacts(report, wanted, output, [], comm)
    else:
        with open_frames(output) as frames:
            kinds = kinds_in(frames.fixed, wanted.by_size)
            report.kinds = [(kind.name, kind.size, len(kind.beads)) for kind in kinds]
            report.sizes = size_series(frames, kinds, comm) if wanted.sizes or wanted.start is None else {}
            begin(report, wanted)
            require_something(report, frames.time)
            observables(report, wanted)
            chosen = np.flatnonzero(frames.time >= report.start)
            report.frames = len(chosen)
            if len(chosen):
                report.times = float(frames.time[chosen[0]]), float(frames.time[chosen[-1]])
            sample = Sample(frames, chosen, kinds, comm)
            static(report, wanted, sample)
            motion(report, wanted, sample)
            fluxes(report, wanted, sample)
            contacts(report, wanted, output, kinds, comm)
            contact_places(report, wanted, output, sample)
    refuse_missing(report, wanted)
    return report


def split_vectors(reports: dict) -> dict:
    """Return name -> (time, value) of one number per report; of vectors each component, of tensors each row's.

    A report that ends no interval, the first of a run, has neither a pressure nor contacts.
    """
    series = {}
    if {"pressure", "contacts"} <= reports.keys():
        step, time, count = reports["contacts"]
        reports = reports | {"contacts": (step, time, np.where(np.isnan(reports["pressure"][2]), np.nan, count))}
    for name, (_, time, value) in reports.items():
        if name not in NO_FIGURES:
            table = value.reshape(len(value), -1)
            for column, index in enumerate(np.ndindex(*value.shape[1:])):
                label = name + (f"[{','.join(map(str, index))}]" if index else "")
                series[label] = time, table[:, column]
    return series


def size_series(frames: Frames, kinds: list[Kind], comm: Communicator | None) -> dict:
    """Return name -> (time, value) of the root mean square sizes of each kind, of evenly taken frames; collective."""
    every = np.arange(0, len(frames), -(-len(frames) // MOST_SAMPLES) or 1)
    bounds = split(len(every))
    sizes = [Sizes(kind) for kind in kinds if kind.size > 1]

    def of_block(block: int) -> list:
        rows = []
        for number in every[bounds[block] : bounds[block + 1]]:
            frame = frames[number]
            means = [size.add(frame).sum(axis=0) / size.groups.sum() for size in sizes]
            rows.append([value for mean in means for value in (mean[SQUARE], mean[ENDS])])
        return rows

    rows = [row for block in shared(comm, len(bounds) - 1, of_block) for row in block]
    names = [f"{name} {size.kind.name}" for size in sizes for name in ("radius_of_gyration", "end_to_end")]
    columns = zip(*rows, strict=True)
    return {name: (frames.time[every], np.sqrt(column)) for name, column in zip(names, columns, strict=False)}


def begin(report: Report, wanted: Wanted) -> None:
    """Set from when on a run is analysed: as asked for, or where its observables and sizes have become steady.

    The latest of the ends of equilibration that they have, each for itself, is taken.
    """
    if wanted.start is not None:
        report.start, report.found_by = wanted.start, "option"
        return
    report.start, report.found_by = 0.0, "all"
    steady = {name: report.series[name] for name in STEADY if name in report.series}
    for name, (time, value) in (steady | report.sizes).items():
        known = np.isfinite(value)
        time, value = time[known], value[known]
        if len(value) >= FEWEST_SAMPLES:
            thin = slice(None, None, -(-len(value) // MOST_SAMPLES))
            first, effective = equilibration(value[thin])
            report.found_by = "equilibration"
            if first and time[thin][first] > report.start:
                report.start, report.decisive = float(time[thin][first]), (name, time, value)
            if effective < FEW_EFFECTIVE:
                report.slow.append(name)


def require_something(report: Report, times: np.ndarray) -> None:
    """Raise UsageError when neither frames nor reports are left from the start on, DataError when there are none."""
    latest = max([time[-1] for time, _ in report.series.values() if len(time)] + times[-1:].tolist(), default=-np.inf)
    if latest == -np.inf:
        raise DataError(
            f"{report.run}: holds no output to analyse: neither observables.h5 nor trajectory.h5 with a row"
        )
    if latest < report.start:
        raise UsageError(
            f"{report.run}: nothing is left from time {report.start:g} on: the run has come to "
            f"{latest:g}; give an earlier --from"
        )


def observables(report: Report, wanted: Wanted) -> None:
    """Add the averages of the observables, errors by blocking."""
    if not report.series:
        report.left_out[catalogue.OBSERVABLES] = "there are no reports"
        return
    for name, (time, value) in report.series.items() if wanted.has(catalogue.OBSERVABLES) else ():
        late = value[(time >= report.start) & np.isfinite(value)]
        mean, error = mean_and_error(late)
        unit = UNITS.get(name.split("[")[0], "")
        report.values.append(Value(name, "", float(mean), float(error), unit, len(late)))


def collisional(report: Report) -> np.ndarray | None:
    """Return (R, 3, 3) what contacts add to the pressure tensor in the reports that are analysed, None without any."""
    if "collisional_pressure" not in report.reports:
        return None
    _, time, value = report.reports["collisional_pressure"]
    return value[(time >= report.start) & np.isfinite(value).all(axis=(1, 2))]


def static(report: Report, wanted: Wanted, sample: Sample) -> None:
    """Add the figures of single frames."""
    frames, chosen, kinds, comm = sample
    tensor, names = collisional(report), list(filter(wanted.has, catalogue.STATIC))
    if not len(chosen):
        report.left_out |= dict.fromkeys(names, "no frame is left")
        return
    found = [catalogue.figures_of(name, frames.fixed, kinds, tensor, wanted.along) for name in names]
    figures = those_there(report, names, found)
    strides = [-(-len(chosen) // figure.most) if figure.most else 1 for figure in figures]
    bounds = split(len(chosen))

    def of_block(block: int) -> list:
        sums: list = [None] * len(figures)
        counts = [0] * len(figures)
        for number in range(bounds[block], bounds[block + 1]):
            frame = frames[chosen[number]]
            for k, figure in enumerate(figures):
                if number % strides[k] == 0:
                    new = figure.add(frame)
                    sums[k], counts[k] = new if sums[k] is None else sums[k] + new, counts[k] + 1
        return list(zip(sums, counts, strict=True))

    totals: list = [None] * len(figures)
    if figures:
        for block, results in enumerate(shared(comm, len(bounds) - 1, of_block)):
            for k, (sums, count) in enumerate(results):
                if count:
                    totals[k] = added(totals[k], block, len(bounds) - 1, sums, count, figures[k].groups)
    keep(report, [entry for k, figure in enumerate(figures) for entry in figure.result(totals[k])])


def those_there(report: Report, names: list[str], found: list[list | str]) -> list:
    """Return the figures of families in one list; why there are none of a family is noted in the report."""
    report.left_out |= {name: one for name, one in zip(names, found, strict=True) if isinstance(one, str)}
    return [figure for one in found if not isinstance(one, str) for figure in one]


def added(total: Sums | None, block: int, blocks: int, sums: np.ndarray, count: int, groups: np.ndarray) -> Sums:
    """Return the Sums with those of a block of so many frames, (G, K)."""
    if total is None:
        total = Sums(np.zeros((blocks, sums.shape[1])), np.zeros(blocks), np.zeros(sums.shape), np.zeros(len(sums)))
    total.by_time[block], total.time_weight[block] = sums.sum(axis=0), count * groups.sum()
    total.by_group += sums
    total.group_weight += count * groups
    return total


def motion(report: Report, wanted: Wanted, sample: Sample) -> None:
    """Add the figures of motion; they need frames at even distances."""
    chosen, kinds, time = sample.chosen, sample.kinds, sample.frames.time[sample.chosen]
    even = evenly_spaced(time)
    names = list(filter(wanted.has, catalogue.MOTION))
    if even < 2:
        why = "there are not two frames" if len(chosen) < 2 else "frames are not at even distances of time"
        report.left_out |= dict.fromkeys(names, why)
        return
    figures = those_there(report, names, [catalogue.motions_of(name, kinds) for name in names])
    rows = slice(int(chosen[0]), int(chosen[even - 1]) + 1)
    step = (time[even - 1] - time[0]) / (even - 1)
    for kind in kinds:
        own = [figure for figure in figures if figure.kind is kind]
        if own:
            of_kind(report, kind, own, sample, rows, float(step))


def evenly_spaced(time: np.ndarray) -> int:
    """Return how many of the first frames are at even distances; 0 where these are not most of them."""
    if len(time) < 2:
        return 0
    step = np.diff(time)
    usual = float(np.median(step))
    odd = np.flatnonzero(np.abs(step - usual) > EVEN * usual)
    count = int(odd[0]) + 1 if len(odd) else len(time)
    return count if count >= 2 and 2 * count > len(time) else 0


def of_kind(report: Report, kind: Kind, figures: list, sample: Sample, rows: slice, step: float) -> None:
    """Add the figures of motion of one kind of molecules in the frames `rows`, `step` apart in time."""
    count = rows.stop - rows.start
    lags, stretches = lags_of(count), split(count, min(TIME_BLOCKS, max(count // 2, 1)))

    def of_group(group: int) -> list:
        """Return, of each figure, its sums over the whole time (K,) and over each stretch of it (B, K)."""
        whole = [np.zeros((figure.columns, len(lags))) for figure in figures]
        short = [np.zeros((len(stretches) - 1, figure.columns, len(lags))) for figure in figures]
        most = max(PIECE // (count * kind.size), 1)
        for first in range(kind.bounds[group], kind.bounds[group + 1], most):
            beads = kind.beads[first : min(first + most, kind.bounds[group + 1])]
            slab = slab_of(kind, beads, sample.frames, rows, any(figure.of_velocity for figure in figures))
            for k, figure in enumerate(figures):
                whole[k] += figure.curves(slab)[:, lags]
                for b, (low, high) in enumerate(zip(stretches, stretches[1:], strict=False)):
                    within = lags < high - low
                    short[k][b][:, within] += figure.curves(slab.during(low, high))[:, lags[within]]
                    short[k][b][:, ~within] = np.nan
        return [(w.ravel(), s.reshape(len(s), -1)) for w, s in zip(whole, short, strict=True)]

    groups = len(kind.bounds) - 1
    totals: list = [([], 0.0) for _ in figures]
    for results in shared(sample.comm, groups, of_group):
        totals = [([*whole, w], short + s) for (whole, short), (w, s) in zip(totals, results, strict=True)]
    for figure, (whole, short) in zip(figures, totals, strict=True):
        weight = np.full(len(short), kind.molecules.sum())
        fewer = np.tile(origins(count, len(short), lags), figure.columns)
        sums = Sums(drawn_in(short, fewer), weight, np.array(whole), kind.molecules)
        keep(report, figure.result(sums, lags * step))


def origins(frames: int, stretches: int, lags: np.ndarray) -> np.ndarray:
    """Return how many pairs of frames so far apart stretches have together, as parts of those in all frames."""
    return np.maximum(frames - stretches * lags, 0) / (frames - lags)


def drawn_in(values: np.ndarray, fewer: np.ndarray) -> np.ndarray:
    """Return what stretches of time found, (B, K), with the scatter that as many samples as the whole has would have.

    `fewer`, (K,), is the part of the samples that stretches have: pairs of frames from one to the next are not theirs.
    """
    mean = values.mean(axis=0)
    return mean + (values - mean) * np.sqrt(fewer)


def slab_of(kind: Kind, beads: np.ndarray, frames: Frames, rows: slice, with_velocity: bool) -> Slab:
    """Return the Slab of some molecules, whose beads (m, b) need not stand together in the file."""
    low, high = int(beads.min()), int(beads.max()) + 1
    unwrapped = frames.beads("position", rows, low, high)
    unwrapped += frames.beads("image", rows, low, high) * frames.fixed.edges
    velocity = frames.beads("velocity", rows, low, high)[:, beads - low] if with_velocity else None
    return Slab(kind, unwrapped[:, beads - low], velocity)


def longest_memory(report: Report, wanted: Wanted, sample: Sample) -> float:
    """Return the longest correlation time of molecules' ends, 0 where none is known, if the stress is asked for."""
    found = report
    if wanted.has(catalogue.STRESS) and not wanted.has(catalogue.ENDS):
        found = Report(run=report.run)
        motion(found, Wanted(figures=(catalogue.ENDS,)), sample)
    times = [value.value for value in found.values if value.figure == "end_correlation_time"]
    return max(filter(math.isfinite, times), default=0.0)


def fluxes(report: Report, wanted: Wanted, sample: Sample) -> None:
    """Add autocorrelations of stress and flux of heat, and what follows, of the reports that are analysed."""
    fixed, memory = sample.frames.fixed, longest_memory(report, wanted, sample)
    time = report.reports["temperature"][1] if report.reports else np.empty(0)
    even = np.flatnonzero(time >= report.start)
    even = even[: evenly_spaced(time[even])]
    step = float((time[even[-1]] - time[even[0]]) / (len(even) - 1)) if len(even) else 0.0
    rows = {name: value[even] for name, (_, _, value) in report.reports.items() if len(value) == len(time)}
    for name in filter(wanted.has, catalogue.FLUXES):
        found = catalogue.fluxes_of(name, fixed, sample.kinds, step, rows, memory)
        if isinstance(found, str):
            report.left_out[name] = found
            continue
        for series, why in found:
            keep(report, [series.none(why)] if why else series.figures())
        if name == catalogue.STRESS:
            viscosity, temperature = report.value("viscosity"), float(np.mean(rows["temperature"]))
            found = [v for v in report.values if v.figure == "diffusion"]
            keep(report, [without_box(v, viscosity, temperature, fixed.edges) for v in found])


def contacts(report: Report, wanted: Wanted, output: RunOutput, kinds: list[Kind], comm: Communicator | None) -> None:
    """Add contacts by bead, where they were logged."""
    if not wanted.has(catalogue.CONTACTS):
        return
    if not output.logs_events:
        report.left_out[catalogue.CONTACTS] = "no contacts were logged; run with output.events = true"
        return
    if not kinds or not report.frames:
        report.left_out[catalogue.CONTACTS] = "there are no frames, which say what the beads are"
        return
    times = report.times
    if not times[1] > times[0]:
        report.left_out[catalogue.CONTACTS] = "no time is left to count in"
        return
    counts = ContactCounts(kinds, times)
    count_events(counts, output, comm)
    keep(report, counts.result())


def count_events(counter: ContactCounts | ContactPlaces, output: RunOutput, comm: Communicator | None) -> None:
    """Have all events counted, a part of them by each rank, which then have the sums of all; collective."""
    with together(comm, output.source, "reading events"):
        for table in event_tables(output, rank_of(comm), size_of(comm)):
            counter.add(table)
    every = gathered(comm, counter.sums)
    counter.sums = [np.sum(one, axis=0) for one in zip(*every, strict=True)]


def contact_places(report: Report, wanted: Wanted, output: RunOutput, sample: Sample) -> None:
    """Add where contacts are along a profile that is asked for, where they were logged."""
    frames, chosen, kinds, comm = sample
    if not (wanted.has(catalogue.PROFILE) and output.logs_events) or catalogue.PROFILE in report.left_out:
        return
    if len(chosen) < 2:
        report.left_out[CONTACT_PLACES] = "there are not two frames"
        return
    places = ContactPlaces(Profile(wanted.along or Along(), frames.fixed, kinds), frames, chosen)
    with together(comm, output.source, "reading frames"):
        why = places.why_none()
    if why:
        report.left_out[CONTACT_PLACES] = why
        return
    count_events(places, output, comm)
    keep(report, places.result())
    if "collisional_pressure" not in report.reports:
        report.left_out[PRESSURE] = "forces besides contacts may carry some: the engine of steps"
        return
    found = places.pressure([c for c in report.curves if c.figure.startswith("profile_kinetic_pressure")])
    if isinstance(found, str):
        report.left_out[PRESSURE] = found
    else:
        keep(report, found)


def keep(report: Report, found: list[Any]) -> None:
    """Add numbers and curves to a report."""
    for entry in found:
        (report.values if isinstance(entry, Value) else report.curves).append(entry)


def refuse_missing(report: Report, wanted: Wanted) -> None:
    """Raise DataError when a family that was asked for by name could not be found."""
    for name in (*(wanted.figures or ()), *([catalogue.PROFILE] if wanted.along else [])):
        if name in report.left_out:
            raise DataError(f"{report.run}: {name}: {report.left_out[name]}")


def shared(comm: Communicator | None, count: int, work: Callable[[int], Any]) -> Iterator[Any]:
    """Yield work(0), work(1), ..., work(count - 1) on every rank, each done by one of them; collective.

    Raises
    ------
    HpcchainError
        On every rank, when that of one rank fails.
    """
    rank, size = rank_of(comm), size_of(comm)
    for first in range(0, count, size):
        result = None
        with agreed(comm):
            if first + rank < count:
                result = work(first + rank)
        yield from gathered(comm, result)[: count - first]
