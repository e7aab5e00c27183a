"""Files of Python that data name: run only where no other user could have written them, and never for a start."""

import hashlib
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from hpcchain import Simulation, System
from hpcchain.config import load_config
from hpcchain.errors import CodeError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.growth_state import NUMBERS, GrowthState, write_growth
from hpcchain.io.hdf5 import files, seal
from tests.support.io_samples import input_of, system_of
from tests.support.launching import run_hpcchain
from tests.support.run_folders import command, start

OTHER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that belong to another user")
LAW = """
with open({marks!r}, "a") as file:
    file.write("run\\n")
{more}
def law(r):
    {inside}
    return 0.5 * r * r, r
"""
INPUT = """
[box]
size = [8.0, 8.0, 8.0]
[[molecule]]
kind = "monomer"
count = 6
hard = false
[[potential]]
name = "module"
file = "laws/law.py"
function = "law"
on = "center"
center = [4.0, 4.0, 4.0]
[run]
engine = "steps"
end_time = 0.02
[steps]
step = 0.01
[output]
frame_every = 0.01
report_every = 0.01
checkpoint_every = 0.01
"""
GROWING = GrowthState(*np.zeros((4, 6, 3)), **dict.fromkeys(NUMBERS, 0))
START = """
[box]
size = [8.0, 8.0, 8.0]
[initial]
method = "file"
file = "{file}"
[run]
end_time = 0.02
"""


def write(folder, more="", inside="pass", text=INPUT):
    """Write an input and the file of its potential, which marks each time that it runs; return the file."""
    (folder / "laws").mkdir(exist_ok=True, mode=0o755)
    law = folder / "laws" / "law.py"
    law.write_text(LAW.format(marks=str(folder / "marks"), more=more, inside=inside), encoding="utf-8")
    (folder / "in.toml").write_text(text, encoding="utf-8")
    return law


def marks(folder):
    """Return how often the file has run."""
    path = folder / "marks"
    return len(path.read_text().splitlines()) if path.exists() else 0


def newest(folder):
    """Return the path of a run's newest checkpoint."""
    return list_checkpoints(folder / "checkpoints")[0][1]


COMMANDS = {
    "check": ["check", "in.toml"],
    "run": ["run", "in.toml", "--output", "other"],
    "build": ["build", "in.toml", "-o", "start.h5"],
    "resume": ["resume", "out", "--until", "0.03"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("what", ["file", "folder", pytest.param("owner", marks=needs_root)])
def test_files_that_others_could_have_changed_are_run_on_demand_alone(tmp_path, name, what):
    law = write(tmp_path)
    command(["run", "in.toml", "--output", "out"], tmp_path)
    before = marks(tmp_path)
    if what == "file":
        law.chmod(0o666)
    elif what == "folder":
        law.parent.chmod(0o777)
    else:
        os.chown(law, OTHER, OTHER)
    said = command(COMMANDS[name], tmp_path, code=78)
    assert "potential.file: " in said and "--trust-code" in said and str(law.parent) in said
    assert marks(tmp_path) == before and "running" not in said
    command([*COMMANDS[name], "--trust-code"], tmp_path)
    assert marks(tmp_path) > before


def test_folders_with_the_sticky_bit_and_links_of_ones_own_are_safe(tmp_path):
    law = write(tmp_path)
    tmp_path.chmod(0o1777)
    law.rename(tmp_path / "elsewhere.py")
    law.symlink_to("../elsewhere.py")
    command(COMMANDS["check"], tmp_path)
    (tmp_path / "elsewhere.py").chmod(0o666)
    assert f"{tmp_path / 'elsewhere.py'}: can be written to" in command(COMMANDS["check"], tmp_path, code=78)


@pytest.mark.parametrize("what", ["mode", pytest.param("owner", marks=needs_root)])
def test_checkpoints_of_others_name_no_code(tmp_path, what):
    """Their files may be one's own: not made for this."""
    write(tmp_path)
    command(["run", "in.toml", "--output", "out"], tmp_path)
    path, before = newest(tmp_path / "out"), marks(tmp_path)
    if what == "mode":
        path.chmod(0o666)
    else:
        os.chown(path, OTHER, OTHER)
    for words in (COMMANDS["resume"], ["resume", path, "--until", "0.03", "--output", "copy"]):
        said = command(words, tmp_path, code=78)
        assert str(path) in said and "law.py" in said and "--trust-code" in said
        assert marks(tmp_path) == before and not (tmp_path / "copy" / "checkpoints").exists()
    command([*COMMANDS["resume"], "--trust-code"], tmp_path)


def test_inputs_of_an_ensemble_that_others_could_have_changed_name_no_code(tmp_path):
    """They are written anew where the end is another."""
    write(tmp_path)
    command(["run", "in.toml", "--vary", "initial.seed=1,2", "--output", "all"], tmp_path)
    path, before = next((tmp_path / "all").glob("*/input.toml")), marks(tmp_path)
    path.chmod(0o666)
    said = command(["resume", "all", "--until", "0.03"], tmp_path, code=78)
    assert str(path) in said and "law.py" in said and "--trust-code" in said and marks(tmp_path) == before
    command(["resume", "all", "--until", "0.03", "--trust-code"], tmp_path)


def test_starts_that_still_grow_and_are_of_others_name_no_code(tmp_path):
    write(tmp_path)
    (tmp_path / "out").mkdir()
    path, state = tmp_path / "out" / "growth.h5", GROWING
    write_growth(path, state, load_config(tmp_path / "in.toml").to_toml())
    path.chmod(0o666)
    said = command(COMMANDS["resume"], tmp_path, code=78)
    assert str(path) in said and "--trust-code" in said and marks(tmp_path) == 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_start_file_never_runs_code(tmp_path, ranks):
    """Under either engine; beads begin where the file has them."""
    write(tmp_path)
    command(["run", "in.toml", "--output", "out"], tmp_path)
    before, path = marks(tmp_path), newest(tmp_path / "out")
    steps = START + "[steps]\nstep = 0.01\n[output]\nframe_every = 0.01\nreport_every = 0.01\ncheckpoint_every = 0.01\n"
    steps = steps.replace("[run]", '[run]\nengine = "steps"')
    (tmp_path / "start.toml").write_text(steps.format(file=path), encoding="utf-8")
    command(["check", "start.toml"], tmp_path)
    command(["run", "start.toml", "--output", "new", "--until", "0"], tmp_path, ranks=ranks)
    assert marks(tmp_path) == before
    found, given = (read_checkpoint(each).system.state for each in (newest(tmp_path / "new"), path))
    for name in ("position", "velocity", "image"):
        assert np.array_equal(getattr(found, name), getattr(given, name))


RAISED = [
    "raise SystemExit(0)",
    "raise KeyboardInterrupt",
    "raise GeneratorExit",
    "raise StopIteration",
    "raise MemoryError",
    "raise type('Own', (BaseException,), {'__str__': lambda self: 1 / 0})",
    "import sys; sys.exit()",
]


@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_file_raises_is_its_fault(tmp_path, raised):
    law = write(tmp_path, more=raised)
    for name in ("check", "run", "build"):
        said = command(COMMANDS[name], tmp_path, code=78)
        assert f"hpcchain: potential.file: {law} does not run: " in said
    assert not (tmp_path / "other" / "checkpoints").exists()


@pytest.mark.parametrize("more", ["", "import os\nif os.path.exists({!r}): raise SystemExit(0)\n"])
def test_what_fails_when_a_run_goes_on_is_its_fault_too(tmp_path, more):
    """At import, or in a function that compiles anew."""
    now = str(tmp_path / "now")
    more = more.format(now) or f"import os\nlimit = 0.0 if os.path.exists({now!r}) else 1e9\n"
    write(tmp_path, more=more, inside="pass" if "raise" in more else "if r > limit: raise ValueError")
    command(["run", "in.toml", "--output", "out"], tmp_path)
    Path(now).touch()
    said = command(COMMANDS["resume"], tmp_path, code=78)
    assert "law.py" in said and ("SystemExit" in said or "ValueError" in said)


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_a_function_raises_in_a_run_is_its_fault(tmp_path, ranks):
    """Where it was not tried: near the centre, where the beads are drawn to."""
    text = INPUT.replace("end_time = 0.02", "end_time = 40.0").replace("= 0.01\n[output]", "= 0.05\n[output]")
    text = text.replace("every = 0.01", "every = 10.0").replace("[run]", '[run]\nsectors = "all"')
    law = write(tmp_path, inside="if r < 1.0: raise ValueError('near')", text=text)
    command(["check", "in.toml"], tmp_path)
    said = command(COMMANDS["run"], tmp_path, code=78, ranks=ranks)
    assert said.count(f"hpcchain: potential.function: 'law' of {law} fails: ValueError: near") == 1


@pytest.mark.parametrize("raised", ["SystemExit", "KeyboardInterrupt"])
def test_what_a_function_raises_when_it_is_tried_is_its_fault(tmp_path, raised):
    """Python within compiled code can raise anything."""
    law = write(tmp_path, more="import numba", inside=f"with numba.objmode(): exec('raise {raised}')")
    assert f"'law' of {law} fails: {raised}" in command(COMMANDS["check"], tmp_path, code=78)


def test_what_a_string_of_code_raises_is_its_fault(tmp_path):
    """Python notes an interrupt that comes out of one, and where a module is the program it ends by it at last."""
    law = write(tmp_path, more="exec('raise KeyboardInterrupt')")
    done = run_hpcchain(COMMANDS["check"], tmp_path)
    assert done.returncode == 78 and f"{law} does not run: KeyboardInterrupt" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "kind, said",
    [
        ("pipe", "cannot be read: it is a pipe"),
        ("folder", "cannot be read: it is a folder"),
        ("long", "is longer than"),
    ],
)
def test_what_is_no_plain_file_of_some_length_is_not_read(tmp_path, kind, said):
    law = write(tmp_path)
    law.unlink()
    if kind == "pipe":
        os.mkfifo(law)
    elif kind == "folder":
        law.mkdir()
    else:
        os.truncate(os.open(law, os.O_CREAT | os.O_WRONLY), 2**40)
    for name in ("check", "run", "build"):
        assert f"potential[0].file: {law} {said}" in command(COMMANDS[name], tmp_path, code=78)


def to_link(file, place):
    file["time"] = h5py.ExternalLink(str(place / "pipe"), "time")


def to_virtual(file, place):
    layout = h5py.VirtualLayout(shape=(1,), dtype=np.float64)
    layout[:] = h5py.VirtualSource(str(place / "pipe"), "time", shape=(1,))
    file.create_virtual_dataset("time", layout)


def to_storage(file, place):
    file.create_dataset("time", (1,), np.float64, external=[(str(place / "pipe"), 0, 8)])


@pytest.mark.parametrize("lead", [to_link, to_virtual, to_storage])
def test_checkpoints_do_not_lead_to_other_files(tmp_path, lead):
    """Opening a pipe would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    write_checkpoint(tmp_path / "c.h5", None, system_of([1, 3]), 1.0, {}, input_of([1, 3]))
    with h5py.File(tmp_path / "c.h5", "r+") as file:
        del file["time"]
        lead(file, tmp_path)
    seal.seal(tmp_path / "c.h5")
    (tmp_path / "start.toml").write_text(START.format(file="c.h5"), encoding="utf-8")
    for words in (["check", "c.h5"], ["info", "c.h5"], ["resume", "c.h5", "--output", "a"], ["run", "start.toml"]):
        assert "c.h5: time is in another file" in command(words, tmp_path, code=65)


def test_stored_texts_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_JSON", 100)
    write_checkpoint(tmp_path / "c.h5", None, system_of([1, 3]), 1.0, {}, input_of([1, 3]))
    said = command(["info", "c.h5"], tmp_path, code=65)
    assert "has more than 100 bytes" in said


def test_devices_are_not_read(tmp_path):
    write(tmp_path, text=INPUT.replace("laws/law.py", "/dev/zero"))
    assert "/dev/zero cannot be read: it is a device, not a plain file" in command(COMMANDS["check"], tmp_path, code=78)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_log_says_once_which_file_runs(tmp_path, ranks):
    law = write(tmp_path)
    line = f"running {law} as Python (SHA-256 {hashlib.sha256(law.read_bytes()).hexdigest()})"
    for words in (["run", "in.toml", "--output", "out"], COMMANDS["resume"]):
        said = command(words, tmp_path, ranks=ranks)
        assert said.count(line) == 1 and said.count("running") == 1


CAUGHT = "import time\ntry:\n    time.sleep(600)\nexcept BaseException:\n    raise SystemExit(0)\n"
LOST = """
import time
class Deaf:
    def __del__(self):
        time.sleep(600)
Deaf()
time.sleep(600)
"""


@pytest.fixture
def heeds_interrupts():
    """What a shell has put in the background ignores them, and so does all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("more", [CAUGHT, LOST])
def test_an_interrupt_while_a_file_runs_is_one(heeds_interrupts, tmp_path, more):
    """The log has said which; whatever the file makes of it: Python passes over what is raised in a `__del__`."""
    write(tmp_path, more=more)
    process = start(["check", "in.toml"], tmp_path)
    line = process.stderr.readline()
    limit = time.monotonic() + 60.0
    while not marks(tmp_path) and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60.0)[1]
    assert "running" in line and process.returncode == 130 and "interrupted" in said


def test_python_programs_get_the_same_message(tmp_path):
    law = write(tmp_path)
    law.chmod(0o666)
    with pytest.raises(CodeError, match="trust_code=True"):
        Simulation(tmp_path / "in.toml")
    assert marks(tmp_path) == 0 and Simulation(tmp_path / "in.toml", trust_code=True).run(0.01) == 0.01


def test_systems_of_arrays_get_the_same_message(tmp_path):
    law = write(tmp_path)
    law.chmod(0o666)
    sections = {"run": {"engine": "steps"}, "steps": {"step": 0.01}}
    config = load_config(tmp_path / "in.toml")
    system = System.from_arrays([[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]], box=[8.0] * 3, **sections)
    given = System(replace(system.config, potentials=config.potentials))
    with pytest.raises(CodeError, match="trust_code=True"):
        Simulation(given)
    assert marks(tmp_path) == 0 and Simulation(given, trust_code=True).time == 0.0
