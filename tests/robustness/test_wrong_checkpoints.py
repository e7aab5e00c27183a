"""Well sealed checkpoints and start files of systems that cannot be: refused with 65 and the field's name, or harmless.

Every dataset, constant, counter and attribute is spoilt in turn.
"""

import hashlib
import json
import shutil
from itertools import islice

import h5py
import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5 import atomic
from hpcchain.model.system import BEAD_STATE, State
from tests.support.launching import run_hpcchain
from tests.support.run_folders import resume_here, run_here
from tests.support.spoilt import INPUTS, put, samples, spoil

SOON = 1.05
START = """
[box]
{box}
[initial]
method = "file"
file = "{file}"
[contact]
{contact}
[run]
end_time = {end}
"""
BOXES = {
    "mixed": 'size = [6.0, 6.5, 7.0]\nboundary = ["periodic", "wall", "periodic"]',
    "directors": 'size = [6.0, 6.0, 6.0]\nboundary = ["periodic", "wall", "open"]',
}
CONTACT_OF = {"mixed": "restitution = 0.9\ncontact_time = 0.01", "directors": ""}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Leave the disk to itself: thousands of files need not outlast the machine."""
    monkeypatch.setattr(atomic, "_sync", lambda path: None)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with whole checkpoints and start files."""
    folder = tmp_path_factory.mktemp("sources")
    for name in INPUTS:
        samples(folder, name)
    return folder


def digest(path):
    """Return the SHA-256 of a checkpoint's time and states."""
    found = read_checkpoint(path)
    whole = hashlib.sha256(repr(found.time).encode())
    for name in State.ARRAYS:
        whole.update(np.ascontiguousarray(getattr(found.system.state, name)).tobytes())
    return whole.hexdigest()


def gone_on(path, place, until):
    """Go on from a checkpoint in a folder of its own and return the digest of where it ends."""
    shutil.rmtree(place, ignore_errors=True)
    resume_here(path, output=place, until=until)
    return digest(list_checkpoints(place / "checkpoints")[0][1])


def started(path, place, until, name):
    """Run from a start file in a folder of its own and return the digest of where it ends."""
    shutil.rmtree(place, ignore_errors=True)
    text = START.format(box=BOXES[name], file=path, contact=CONTACT_OF[name], end=until)
    place.with_suffix(".toml").write_text(text)
    run_here(place.with_suffix(".toml"), place)
    return digest(list_checkpoints(place / "checkpoints")[0][1])


def test_the_table_of_a_beads_state_has_all_its_arrays():
    assert [*(column.name for column in BEAD_STATE), "extra", "parts"] == list(State.__dataclass_fields__)


def put_json(name, value):
    return put(name, np.frombuffer(json.dumps(value).encode(), np.uint8))


def datasets(path):
    """Return the names of a file's tables, with their contents."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: node[()]}) if isinstance(node, h5py.Dataset) else None)
    return {name: value for name, value in found.items() if not name.startswith("checksum/")}


TEXTS = ("counters", "physics", "provenance", "perf", "config_toml", "directors/constants")


def wrong_tables(path):
    """Yield (what, change, whether it must be refused) for every table of a file."""
    for name, value in datasets(path).items():
        yield f"{name} missing", lambda file, name=name: file.__delitem__(name), True
        if name in TEXTS:
            continue
        for kind in (np.float32, np.int16, "S4"):
            other = np.full(value.shape, b"x") if kind == "S4" else value.astype(kind)
            yield f"{name} as {kind}", put(name, other), True
        yield f"{name} longer", put(name, np.concatenate([value, value[-1:]])), True
        yield f"{name} shorter", put(name, value[:-1]), True
        yield f"{name} deeper", put(name, value[..., None]), True
        yield from wrong_values(name, value)


def wrong_values(name, value):
    """Yield tables of the right form with numbers that are not right."""
    numbers = [np.nan, np.inf, -np.inf, 1e300, -1.0, 0.0, 1e5]
    if value.dtype.kind in "iu":
        numbers = [0, 1, 255, np.iinfo(value.dtype).max, np.iinfo(value.dtype).min]
    for number in numbers:
        for where in ("last", "all"):
            other, at = value.copy(), {"first": 0, "last": -1, "all": slice(None)}[where]
            other.reshape(-1)[at] = np.array(number).astype(value.dtype)
            impossible = value.dtype.kind == "f" and (not np.isfinite(number) or number == 1e300)
            yield f"{name} {number} {where}", put(name, other), impossible or (number, value.dtype) == (255, np.uint8)
    for what, other in (("reversed", value[::-1]), ("rolled", np.roll(value, 1, axis=0))):
        yield f"{name} {what}", put(name, np.ascontiguousarray(other)), False


JUNK = (None, "x", -1, True, 0.5, -2.5, 10**30, float("nan"), float("inf"), 1e300, [], {}, [1, "x"], {"a": None})
READ = ("counters", "physics", "provenance", "directors/constants")


def wrong_texts(path):
    """Yield (what, change, whether it must be refused) for every constant and counter of a file."""
    for name, data in datasets(path).items():
        if name not in READ:
            continue
        value = json.loads(data.tobytes().decode())
        for junk in JUNK:
            yield f"{name} = {junk}", put_json(name, junk), junk != {} or name == "physics"
        for key in value if isinstance(value, dict) else ():
            if name == "provenance":
                continue
            yield f"{name} without {key}", put_json(name, {k: v for k, v in value.items() if k != key}), False
            for junk in JUNK:
                huge = isinstance(junk, float) and not abs(junk) < 1e60
                yield f"{name}.{key} = {junk}", put_json(name, value | {key: junk}), huge


def outcome(path, place, name):
    """Return "refused" and the message, or "went on" and the digest; any other exception fails."""
    try:
        if "checkpoint" in path.name:
            return "went on", gone_on(path, place, SOON)
        return "went on", started(path, place, 0.05, name)
    except DataError as error:
        return "refused", str(error)


def tried(source, tmp_path, cases):
    """Go through cases and return those that ended otherwise than they must."""
    name, bad = source.stem, []
    right = outcome(source, tmp_path / "right", name.split("-")[0])[1]
    path = tmp_path / f"{name}.h5"
    for what, change, refuse in cases(source):
        spoil(source, path, change)
        ended, words = outcome(path, tmp_path / "a", name.split("-")[0])
        field = what.split()[0].split(".")[0].split("/")[-1]
        if ended == "refused" and ("\n" in words or path.name not in words):
            bad.append((what, words))
        if ended == "went on" and refuse and words != right:
            bad.append((what, "went on to something else"))
        named = any(word in words for word in (field, "directors", "/state/"))
        if ended == "refused" and refuse and not named:
            bad.append((what, words.replace(str(path), "")))
    return bad


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("mixed-checkpoint", marks=pytest.mark.long),
        pytest.param("directors-checkpoint", marks=pytest.mark.long),
        "mixed-start",
    ],
)
def test_every_table_spoilt(sources, tmp_path, name, request):
    """Every sixth way in the short form, with all tables among them."""
    every = 1 if request.config.getoption("--long") else 6
    assert tried(sources / f"{name}.h5", tmp_path, lambda path: islice(wrong_tables(path), 0, None, every)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["mixed-checkpoint", "directors-checkpoint"])
def test_every_constant_and_counter_spoilt(sources, tmp_path, name):
    assert tried(sources / f"{name}.h5", tmp_path, wrong_texts) == []


def wrong_bounds(name):
    """Return changes of the mixed checkpoint by what a run would not notice, or stumble over."""

    def change(file):
        table = file[name[0]]
        table[name[1]] = name[2]

    return change


SILENT = {
    "stretches": (put_json, "physics", {"options": {"stretches": -1}}),
    "tick": (put_json, "physics", {"tick": 0.015}),
    "contacts": (put_json, "counters", {"contacts": "60"}),
    "interval_pushes": (put_json, "counters", {"interval_pushes": [0, 0.5, 0]}),
    "interval_tensor": (put_json, "counters", {"interval_tensor": [0, 1, 2]}),
    "interval_flow": (put_json, "counters", {"interval_flow": [0, 1]}),
}


@pytest.mark.parametrize("field", SILENT)
def test_constants_and_counters_out_of_bounds(sources, tmp_path, field):
    source = sources / "mixed-checkpoint.h5"
    with h5py.File(source) as file:
        _, name, change = SILENT[field]
        value = json.loads(file[name][()].tobytes()) | change
    path = spoil(source, tmp_path / "c.h5", put_json(name, value))
    with pytest.raises(DataError, match=rf"c.h5: {name}.*{field}"):
        resume_here(path, output=tmp_path / "a", until=SOON)


TABLES = {
    "depth": (("state/depth", slice(0, 4), -1), "depth"),
    "depth of one": (("state/depth", 1, 7), "depth: of bead 1 is not that of its molecule's"),
    "remainder": (("state/remainder", -1, np.nan), "remainder"),
    "ticks": (("state/ticks", -1, 1e9), "ticks"),
    "image": (("state/image", (-1, 1), 1), "image"),
    "energy": (("state/velocity", -1, 30.0), "the energy is .*, and was .* at first"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("field", TABLES)
def test_tables_out_of_bounds(sources, tmp_path, field):
    change, words = TABLES[field]
    path = spoil(sources / "mixed-checkpoint.h5", tmp_path / "c.h5", wrong_bounds(change))
    with pytest.raises(DataError, match=f"c.h5: .*{words}"):
        resume_here(path, output=tmp_path / "a", until=SOON)
    if field != "energy":
        assert main(["check", str(path)]) == 65


@pytest.mark.parametrize("field", ["remainder", "depth of one"])
def test_on_two_ranks_by_the_command(sources, tmp_path, field):
    change, words = TABLES[field]
    spoil(sources / "mixed-checkpoint.h5", tmp_path / "c.h5", wrong_bounds(change))
    done = run_hpcchain(["resume", "c.h5", "--output", "a", "--until", SOON], tmp_path, ranks=2)
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert done.returncode == 65 and words in message and "c.h5" in message and "Traceback" not in done.stderr
