"""The command line: help, exit codes, one clear message per failure, and what the small commands print."""

import logging
import math
import os
import pty
import re
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.analysis.study import Wanted, observables
from hpcchain.analysis.tables import Report, concise
from hpcchain.cli import analyze, console, perf, template
from hpcchain.cli.main import COMMANDS, dispatch, main
from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions
from hpcchain.errors import ConfigError, DataError, EngineError, HpcchainError, UsageError
from hpcchain.machine import size
from hpcchain.parallel.tuning.ranks_at_work import paying_width
from hpcchain.run.failures import HINT
from tests.support.launching import clean_environment


def ended(capsys, action, debug=False):
    """Return (exit code, stdout, stderr) of an action under the console."""
    code = console.run(action, debug)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def raising(error):
    """Return an action that raises an error."""

    def action(comm):
        raise error

    return action


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    assert main([command, "--help"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"usage: hpcchain {command} ")
    assert "--debug" in captured.out
    assert captured.err == ""


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    listed = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert listed == list(COMMANDS)


def test_help_and_usage_errors_load_nothing_heavy():
    program = """
import sys
from hpcchain.cli.main import main
codes = [main(["run", "--help"]), main(["run"]), main(["template"])]
heavy = [name for name in ("numpy", "numba", "h5py", "mpi4py", "matplotlib") if name in sys.modules]
sys.exit(f"{codes} {heavy}" if codes != [0, 2, 0] or heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["frob"], "invalid choice: 'frob'"),
        ([], "required: COMMAND"),
        (["run"], "required: INPUT.toml"),
        (["run", "a.toml", "--unti", "3"], "unrecognized arguments: --unti 3\nusage: hpcchain run "),
        (["run", "a.toml", "--seed", "3"], "unrecognized arguments: --seed 3; use --set initial.seed=VALUE"),
        (["run", "a.toml", "-np=4"], "unrecognized arguments: -np=4; use mpirun -n N hpcchain"),
        (["run", "a.toml", "--until", "nan"], "'nan' is not a simulated time"),
        (["run", "a.toml", "--until", "-1"], "'-1' is not a simulated time"),
        (["run", "a.toml", "--until", "soon"], "'soon' is not a simulated time"),
        (["run", "a.toml", "--silence", "-5"], "'-5' is not a wall time: give 0.01 to 1e+08 seconds, or 0"),
        (["run", "a.toml", "--silence", "0.0001"], "'0.0001' is not a wall time"),
        (["resume", "a", "--silence", "1e300"], "'1e300' is not a wall time"),
        (["run", "a.toml", "--resume", "never"], "invalid choice: 'never'"),
        (["export", "a.h5", "--to", "xtc", "-o", "x"], "invalid choice: 'xtc'"),
        (["template", "nope"], "no template is called 'nope'"),
        (["template", "chains", "--job", "run"], "chains: --job and --list go without a name"),
    ],
)
def test_usage_errors_exit_2_and_say_what_is_wrong(capsys, argv, words):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("hpcchain: ")
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("a.toml: box.size"), 78),
        (DataError("a.h5: truncated"), 65),
        (UsageError("no such format"), 2),
        (EngineError("beads 3 and 4"), 70),
        (HpcchainError("something"), 70),
    ],
)
def test_own_errors_keep_their_code_and_their_words(capsys, error, code):
    assert ended(capsys, raising(error)) == (code, "", f"hpcchain: {error}\n")


def test_other_exceptions_are_one_line_and_70(capsys):
    code, _, text = ended(capsys, raising(ValueError("first\nsecond   third")))
    assert code == 70
    assert text == f"hpcchain: internal error: ValueError: first second third; {HINT}\n"
    code, _, text = ended(capsys, raising(OSError(28, "No space left on device", "out/x.h5")))
    assert code == 70
    assert "No space left on device: 'out/x.h5'" in text and text.count("\n") == 1
    assert ended(capsys, raising(MemoryError()))[0] == 70


def test_a_library_that_is_not_found_is_no_error_of_the_program(capsys):
    code, _, text = ended(capsys, raising(ImportError("libhdf5.so.103: cannot open shared object file")))
    assert code == 2 and text.startswith("hpcchain: the installation is not whole: libhdf5.so.103: cannot open")
    assert "load the modules" in text and "internal" not in text and text.count("\n") == 1


def test_debug_shows_the_traceback_and_the_message_last(capsys):
    code, _, text = ended(capsys, raising(ConfigError("a.toml: box.size")), debug=True)
    assert code == 78
    assert "Traceback (most recent call last)" in text
    assert text.endswith("hpcchain: a.toml: box.size\n")


def test_a_message_and_its_end_are_one_write(monkeypatch):
    """Where Python is unbuffered, a launcher's own words could otherwise stand on the message's line."""
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append, flush=lambda: None))
    console.report(78, "a.toml: box.size", None, False)
    assert written == ["hpcchain: a.toml: box.size\n"]


def test_interrupt_is_130_without_traceback(capsys):
    assert ended(capsys, raising(KeyboardInterrupt())) == (130, "", "hpcchain: interrupted\n")


def test_missing_input_is_65_from_the_command_line(run_hpcchain):
    done = run_hpcchain(["check", "missing.toml"])
    assert done.returncode == 65
    assert done.stderr.startswith("hpcchain: missing.toml: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["info"], ["perf"], ["analyze"], ["compare", "missing.h5"], ["export", "--to", "gsd", "-o", "out.gsd"]]
)
def test_missing_files_are_65_for_every_reader(capsys, words):
    assert main([words[0], "missing.h5", *words[1:]]) == 65
    captured = capsys.readouterr()
    assert "missing.h5" in captured.err and captured.err.count("\n") == 1


@pytest.mark.parametrize("lines", [1, 100000])
def test_a_closed_pipe_ends_quietly(lines):
    program = f"""
import sys
from hpcchain.cli import console

def action(comm):
    sys.stdin.readline()
    for _ in range({lines}):
        print("line")
    return 0

sys.exit(console.run(action))
"""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", program], env=clean_environment(), **pipes) as process:
        process.stdout.close()
        process.stdin.write(b"go\n")
        process.stdin.flush()
        error = process.stderr.read()
        assert process.wait(timeout=60.0) == 141
    assert error == b""


@pytest.mark.parametrize(
    ("outcomes", "spokesman"),
    [
        ([(0, 0), (0, 0)], 0),
        ([(0, 0), (75, 0), (75, 0)], 1),
        ([(75, 0), (0, 0), (78, 1), (70, 1)], 2),
        ([(0, 0), (0, 1)], 1),
    ],
)
def test_which_rank_speaks_for_all(outcomes, spokesman):
    assert console.decide(outcomes) == spokesman


def test_log_lines(capsys):
    console.configure(0, 4)
    console.configure(0, 4)
    logger = logging.getLogger("hpcchain.sector")
    logger.info("window %d", 3)
    logger.debug("unseen")
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} hpcchain\.sector 0/4 INFO window 3", line)
    console.configure(1, 4)
    logger.info("unseen")
    logger.warning("seen")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("hpcchain.sector 1/4 WARNING seen")
    console.configure(0, 1)


def test_log_lines_on_a_terminal_begin_with_the_time_of_day_and_the_message(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logger = logging.getLogger("hpcchain.sector")
    for rank, form, line in (
        (0, None, "window 3"),
        (0, "short", "window 3"),
        (1, None, "warning on rank 1: window 4"),
        (0, "full", r"hpcchain\.sector 0/4 INFO window 3"),
    ):
        console.configure(rank, 4, form=form)
        logger.log(logging.WARNING if rank else logging.INFO, "window %d", 3 + rank)
        assert re.fullmatch(rf"(\d{{4}}-\d\d-\d\d )?\d\d:\d\d:\d\d(,\d+)? {line}\n", capsys.readouterr().err)
    console.configure(0, 1)


def test_the_log_format_is_chosen_by_what_stderr_is_and_by_an_option(tmp_path):
    """A real terminal, and a pipe; a caution is the line."""
    (tmp_path / "in.toml").write_text(
        "[box]\nsize = 9\n[[molecule]]\nkind = 'monomer'\ncount = 2\n[run]\nend_time = 1\n[output]\nframe_every=1e-7\n"
    )
    short = r"\d\d:\d\d:\d\d warning: in\.toml: output\.frame_every"
    full = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} hpcchain\.check 0/1 WARNING in\.toml: output\.frame_every"
    for terminal, words, line in ((True, [], short), (False, [], full), (True, ["--log-format", "full"], full)):
        reading, writing = pty.openpty() if terminal else os.pipe()
        command = [sys.executable, "-m", "hpcchain", "check", "in.toml", *words]
        subprocess.run(command, cwd=tmp_path, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=writing)
        assert re.match(line, os.read(reading, 4096).decode())
        os.close(writing)
        os.close(reading)


def test_completion_knows_commands_and_options(capsys):
    pytest.importorskip("shtab")
    assert main(["--print-completion", "bash"]) == 0
    text = capsys.readouterr().out
    assert "complete -" in text and all(name in text for name in COMMANDS) and "--wall-limit" in text


def test_completion_is_of_the_whole_parser_and_says_what_it_needs(capsys, monkeypatch):
    given = SimpleNamespace(complete=lambda parser, shell: f"{shell} {parser.format_help()}")
    monkeypatch.setitem(sys.modules, "shtab", given)
    assert main(["--print-completion", "zsh"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("zsh usage: hpcchain") and all(f" {name} " in text for name in COMMANDS)
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert "pip install 'hpcchain[completion]'" in capsys.readouterr().err


def test_the_man_page_has_every_command_and_option(capsys):
    assert main(["--man"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(".TH HPCCHAIN 1") and all(f".SS hpcchain {name}\n" in text for name in COMMANDS)
    assert "--wall-limit" in text and not re.search(r"^[.'](?!TH|SH|SS|nf|fi)", text, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(template.templates()))
def test_templates_are_valid_input(capsys, tmp_path, name):
    assert main(["template", name]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "input.toml"
    path.write_text(text)
    config = load_config(path)
    assert config.title == tomllib.loads(text)["title"]
    assert 0 < sum(molecule.count for molecule in config.molecules) <= 10000
    assert cautions(config) == []
    assert main(["check", str(path)]) == 0
    brief = capsys.readouterr().out
    assert tomllib.loads(brief)["title"] == config.title
    path.write_text(brief)
    assert load_config(path).to_toml() == config.to_toml()
    assert main(["check", str(path), "--all"]) == 0
    assert capsys.readouterr().out.startswith(config.to_toml())


def test_check_prints_what_is_written_and_what_follows(capsys, tmp_path):
    """Also a default that is written, what --set says and what others decide; all other defaults only with --all."""
    path = tmp_path / "input.toml"
    path.write_text(
        "[box]\npacking_fraction = 0.1\n[[molecule]]\nkind = 'star'\narms = 3\narm_beads = 2\ncount = 20\nmass = 1\n"
        "[contact]\n[[contact.pair]]\ntypes = ['A', 'A']\nrestitution = 0.9\n[run]\nend_time = 1\n"
    )
    assert main(["check", str(path), "--set", "initial.seed=1", "--set", "contact.friction=0.0"]) == 0
    assert set(tomllib.loads(text := capsys.readouterr().out)) == {"box", "molecule", "initial", "contact", "run"}
    table = tomllib.loads(text)
    assert set(table["box"]) == {"size"} and set(table["run"]) == {"end_time"} and table["initial"] == {"seed": 1}
    assert set(table["molecule"][0]) == {"name", "kind", "beads", "count", "arms", "arm_beads", "mass"}
    assert table["contact"] == {"friction": 0.0, "pair": [{"types": ["A", "A"], "restitution": 0.9}]}
    assert main(["check", str(path), "--all"]) == 0
    whole = tomllib.loads(capsys.readouterr().out)
    assert whole["molecule"][0]["diameter"] == 1.0 and whole["output"]["frame_every"] == 1.0


def test_check_gives_the_packing_fraction(capsys, tmp_path):
    path = tmp_path / "input.toml"
    path.write_text(template.templates()["rods"])
    assert main(["check", str(path)]) == 0
    assert "# packing fraction 0.15: the spheres' volume over the box's\n" in capsys.readouterr().out
    box = ["--set", "box.size=[9.0, 9.0, 9.0]"]
    assert main(["build", str(path), "-o", str(tmp_path / "start.h5"), "--set", "molecule.0.count=4", *box]) == 0
    start = [*box, "--set", "initial.method=file", "--set", f"initial.file={tmp_path / 'start.h5'}"]
    path.write_text(template.templates()["rods"].partition("[[molecule]]")[0] + "[run]\nend_time = 1.0\n")
    assert main(["check", str(path), *start]) == 0
    assert f"# packing fraction {24 * math.pi / 6 / 729:.6g}: " in capsys.readouterr().out
    path.write_text(template.templates()["monomers"])
    assert main(["check", str(path), "--set", 'box.boundary=["open", "open", "open"]']) == 0
    assert "packing" not in capsys.readouterr().out.partition("[initial]")[2]


def test_check_says_how_many_ranks_to_ask_for(capsys, tmp_path):
    """By the molecules alone: whatever sectors are asked for, and where a start file has them."""
    path = tmp_path / "input.toml"
    path.write_text(template.templates()["chains"])
    one = "# ranks: one; with more it would be no faster (sbatch --ntasks=1, mpirun -n 1)\n"
    two = "# cores: two, for a second thread (sbatch --cpus-per-task=2, mpirun --map-by slot:PE=2)\n"
    few = ["check", str(path), "--set", 'run.sectors="all"', "--set", "molecule.0.count=20"]
    assert main(few) == 0
    assert one + two in capsys.readouterr().out
    assert main([*few, "--set", "run.threads=1"]) == 0
    out = capsys.readouterr().out
    assert one in out and two not in out
    many = ["--set", "box.size=[200.0, 200.0, 200.0]", "--set", "molecule.0.count=40000"]
    assert main(["check", str(path), *many]) == 0
    (ranks,) = re.findall(r"# ranks: up to (\d+), .*\(sbatch --ntasks=\1, mpirun -n \1\)\n", capsys.readouterr().out)
    assert int(ranks) > 8
    assert main(["build", str(path), "-o", str(tmp_path / "start.h5"), "--set", "molecule.0.count=4"]) == 0
    start = [f"initial.file={tmp_path / 'start.h5'}", "initial.method=file"]
    path.write_text(path.read_text().partition("[[molecule]]")[0] + "[run]\nend_time = 1.0\n")
    assert main(["check", str(path), *(word for each in start for word in ("--set", each))]) == 0
    assert one in capsys.readouterr().out


def test_check_says_how_wide_sectors_of_long_chains_should_be(capsys, tmp_path):
    path = tmp_path / "input.toml"
    path.write_text(template.templates()["long-chains"])
    assert main(["check", str(path)]) == 0
    text = capsys.readouterr().out
    assert f"sectors are {paying_width(200, 1.0):.0f} wide" in text and "which may have all beads" in text
    assert "# propagator.stretches: a contact moves what it reaches of chains of 200 beads\n" in text
    assert main(["check", str(path), "--set", 'run.sectors="all"']) == 0
    text = capsys.readouterr().out
    assert "sectors are" in text and "on each of 16" in text
    assert main(["check", str(path), "--set", "propagator.stretches=0"]) == 0
    text = capsys.readouterr().out
    assert "sectors are" not in text and "# propagator.stretches: chains of 200 beads move as wholes\n" in text
    path.write_text(template.templates()["long-chains"].replace('stretches = "auto"', "step = 0.01"))
    assert main(["check", str(path), "--set", "propagator.name=rattle"]) == 0
    assert "# propagator.stretches: " not in capsys.readouterr().out


def test_template_list(capsys):
    assert main(["template", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"chains", "monomers", "mixture", "walls", "rings", "stars", "rods", "rigid", "explicit"} <= set(names)
    assert all(len(line.split()) > 4 for line in map(template.purpose, template.templates().values()))


def test_check_takes_settings_and_counts(capsys, tmp_path):
    path = tmp_path / "input.toml"
    path.write_text(template.templates()["chains"])
    assert main(["check", str(path), "--set", "run.end_time=7.5", "--set", "molecule.0.count=100"]) == 0
    text = capsys.readouterr().out
    assert tomllib.loads(text)["run"]["end_time"] == 7.5
    assert "# 2000 beads, 1900 bonds, 100 molecules\n" in text
    assert main(["check", str(path), "--set", "run.end_tim=7.5"]) == 78
    assert "run.end_time" in capsys.readouterr().err


def test_sizes_have_units():
    found = [size(count) for count in (0, 999, 1000, 1.5e9, 2e15)]
    assert found == ["0 B", "999 B", "1 kB", "1.5 GB", "2e+03 TB"]


def test_only_the_root_rank_runs_what_is_not_parallel():
    with pytest.raises(DataError):
        dispatch(["info", "missing.h5"], SimpleNamespace(rank=0, size=2))
    assert dispatch(["info", "missing.h5"], SimpleNamespace(rank=1, size=2)) == 0


def test_names_that_the_terminal_has_no_letters_for_are_printed(tmp_path):
    (tmp_path / "in.toml").write_text(
        '[box]\nsize = [9, 9, 9]\n[[molecule]]\nname = "鎖"\nkind = "monomer"\ncount = 2\n[run]\nend_time = 1\n',
        encoding="utf-8",
    )
    environment = clean_environment() | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "hpcchain", "check", "in.toml"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and 'name = "\\u9396"' in done.stdout, done.stderr


def test_perf_table():
    lines = perf.table({"files": (0.5, 1.0, 1.5), "events": (2.0, 3.0, 3.0)}).splitlines()
    assert lines[0].split() == ["phase", "min", "[s]", "avg", "[s]", "max", "[s]", "share", "max/avg"]
    assert lines[1].split() == ["events", "2.000", "3.000", "3.000", "75.0", "%", "1.00"]
    assert lines[2].split() == ["files", "0.500", "1.000", "1.500", "25.0", "%", "1.50"]
    assert len(lines) == 3
    assert perf.table({"idle": (0.0, 0.0, 0.0)}).splitlines()[1].split()[-2:] == ["-", "-"]


def test_perf_table_has_the_parts_of_a_phase_below_it_and_counts_them_once():
    table = {
        "events": (2.0, 2.0, 2.0),
        "files": (1.0, 1.0, 1.0),
        "events: waiting": (0.0, 0.5, 1.0),
        "events: computing": (1.0, 1.5, 2.0),
        "total": (4.0, 4.0, 4.0),
    }
    lines = perf.table(table).splitlines()
    assert [line.split()[0] for line in lines] == ["phase", "events", "computing", "waiting", "files", "rest", "total"]
    assert lines[2].startswith("  computing") and lines[3].split()[4:] == ["12.5", "%", "2.00"]
    assert lines[5].split() == ["rest", "1.000", "25.0", "%"]


def test_perf_table_with_the_whole_runs_time():
    lines = perf.table({"total": (4.0, 5.0, 6.0), "events": (3.0, 4.0, 5.0)}).splitlines()
    assert lines[1].split() == ["events", "3.000", "4.000", "5.000", "80.0", "%", "1.25"]
    assert lines[2].split() == ["rest", "1.000", "20.0", "%"]
    assert lines[3].split() == ["total", "4.000", "5.000", "6.000", "100.0", "%", "1.20"]


def test_averages_table():
    report = Report("out", series={"energy": (np.arange(3.0), np.full(3, 2.5)), "empty": (np.empty(0), np.empty(0))})
    observables(report, Wanted(0.0))
    lines = analyze.grouped([report], "pressure", 80).splitlines()
    assert [line.split() for line in lines] == [["pressure", "energy"], ["all", "2.5"]]
    lines = analyze.grouped([report, report], "pressure", 80).splitlines()
    assert [line.split() for line in lines] == [["run", "pressure", "energy"], *[["out", "all", "2.5"]] * 2]


def test_folded_tables_are_no_wider_than_the_terminal_and_lose_nothing():
    rows = [[f"{row}-{column}" * (column + 1) for column in range(6)] for row in range(3)]
    for width in (60, 80, 200):
        lines = analyze.folded(rows, 1, width).splitlines()
        assert max(map(len, lines)) <= width and {cell for row in rows for cell in row} == set(" ".join(lines).split())
        assert len(lines) % 3 == 0 and all(line.startswith(f"{k % 3}-0") for k, line in enumerate(lines))


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.2137, 0.0101, "0.214(10)"),
        (145.84, 3.41, "145.8(34)"),
        (1457.0, 338.0, "1460(340)"),
        (12.0, 12.4, "12(12)"),
        (-0.00001, 0.013, "0.000(13)"),
        (0.5, 0.00996, "0.500(10)"),
        (345.50000000000006, 4.4e-14, "345.5"),
        (1.0, 0.0, "1"),
        (0.0, 0.0, "0"),
        (1.234567, math.nan, "1.2346(?)"),
        (math.nan, math.nan, "-"),
        (math.inf, math.nan, "inf"),
        (3.25e9, 1.5e7, "3.250(15)e9"),
        (1.2e-9, 3.4e-9, "1.2(34)e-9"),
    ],
)
def test_a_number_has_the_digits_that_its_error_leaves(value, error, text):
    assert concise(value, error) == text
