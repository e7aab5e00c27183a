"""What an input file may be: encodings, marks, ends of lines, and things that are no file."""

import os
import socket
import subprocess
import sys
import time

import pytest

from hpcchain import api
from hpcchain.config import bounds, load_config
from hpcchain.errors import ConfigError, DataError, HpcchainError
from tests.support.launching import run_hpcchain

INPUT = """title = "größer"
[box]
size = [9.0, 9.0, 9.0]
[[molecule]]
kind = "monomer"
count = 2
positions = [[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]]
velocities = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
[initial]
method = "explicit"
[run]
end_time = 0.1
"""


@pytest.mark.parametrize(
    "data",
    [
        INPUT.encode("utf-8-sig"),
        INPUT.replace("\n", "\r\n").encode(),
        INPUT.replace("\n", "\r\n").encode("utf-8-sig"),
        INPUT.rstrip("\n").encode(),
    ],
    ids=["mark", "crlf", "mark and crlf", "no last newline"],
)
def test_what_editors_write_is_read(tmp_path, data):
    plain, path = tmp_path / "plain.toml", tmp_path / "in.toml"
    plain.write_bytes(INPUT.encode())
    path.write_bytes(data)
    assert load_config(path).to_toml() == load_config(plain).to_toml()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (INPUT.encode("utf-16"), "is UTF-16 text"),
        (INPUT.encode("utf-16-le"), "is UTF-16 text"),
        (INPUT.encode("utf-16-be"), "is UTF-16 text"),
        (INPUT.encode("utf-32"), "is UTF-32 text"),
        (INPUT.encode("latin-1"), "is not UTF-8 text (byte 11)"),
        (b"title = 'a\0b'\n", "byte 10 is null"),
        ("\ufeff\ufeff".encode() + INPUT.encode(), "is not valid TOML"),
        (b"\xef\xbb", "is not UTF-8"),
        (b"", "box"),
        (b"\xef\xbb\xbf", "box"),
        (b"\r\n\r\n", "box"),
        (INPUT.replace("\n", "\r").encode(), "TOML"),
        (bytes(1000), "null"),
        (b"\x7fELF" + bytes(range(256)), "is not UTF-8 text"),
    ],
)
def test_what_is_no_input_gives_one_message(tmp_path, data, words):
    path = tmp_path / "in.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ") and words in text and "\n" not in text and len(text) < 400, text


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/urandom", "/proc", "socket", "pipe", "gone", "loop"])
def test_what_is_no_file_is_refused_at_once(tmp_path, path, monkeypatch):
    """None of them is waited for, or read for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind("socket")
        begin = time.monotonic()
        with pytest.raises(ConfigError if path == "pipe" else DataError, match=f"^{path}: ") as error:
            load_config(path)
        assert time.monotonic() - begin < 5.0 and "\n" not in str(error.value)


def test_the_command_ends_at_once_too(tmp_path):
    for path, code in (("/dev/zero", 65), ("/dev/full", 65), (".", 65)):
        done = run_hpcchain(["run", path, "--output", "out"], tmp_path, timeout=60.0)
        assert done.returncode == code and done.stderr.count("\n") == 1, done.stderr


def test_an_input_may_come_through_a_pipe_but_not_endlessly(tmp_path, monkeypatch):
    ends = os.pipe()
    with os.fdopen(ends[1], "wb") as file:
        file.write(INPUT.encode())
    assert load_config(f"/dev/fd/{ends[0]}").title == "größer"
    os.close(ends[0])
    monkeypatch.setattr(bounds, "MOST_BYTES", 3_000_000)
    with subprocess.Popen(["yes", "a = 1"], stdout=subprocess.PIPE) as endless:
        with pytest.raises(ConfigError, match="holds 3 MB, more than the 3 MB that an input may"):
            load_config(f"/dev/fd/{endless.stdout.fileno()}")
        endless.kill()


@pytest.mark.parametrize(
    "value",
    [
        "[1e9, 1, 1]",
        "[1.0, 1, 1]",
        "[0, 1, 1]",
        "[-1, 1, 1]",
        "[nan, 1, 1]",
        "[inf, 1, 1]",
        "[1e400, 1, 1]",
        f"[{10**30}, 1, 1]",
        "[1, 1]",
        "[]",
        "[[1], 1, 1]",
        "'1'",
        "0",
    ],
)
def test_impossible_sectors_give_one_message(tmp_path, value):
    path = tmp_path / "in.toml"
    path.write_text(INPUT, encoding="utf-8")
    with pytest.raises(ConfigError, match="run.sectors: ") as error:
        load_config(path, [f"run.sectors={value}"])
    assert len(str(error.value)) < 300
    if value == "[1e9, 1, 1]":
        assert "write 1000000000" in str(error.value)


def test_runs_from_python_need_no_communicator(tmp_path, caplog):
    """They are of one rank; sectors that do not fit it are named once and not used."""
    path = tmp_path / "in.toml"
    path.write_text(INPUT, encoding="utf-8")
    out = tmp_path / "out"
    assert api.run(path, output=out, overrides=["run.sectors=[1000000000, 1, 1]"]) == 0
    assert caplog.text.count("run.sectors = [1000000000, 1, 1] does not fit 1 rank;") == 1
    assert api.resume(out, until=0.2, comm=None) == 0
    assert api.run(path, output=out, until=0.3, resume="auto", overrides=["run.sectors=[1, 1, 1]"]) == 0
    with pytest.raises(HpcchainError):
        api.run(path, output=out)
    api.build(path, tmp_path / "start.h5")
    assert sys.exc_info() == (None, None, None)
