"""Mangled inputs: always a valid Config or one error of ours, never another exception, never slow."""

import random
import time

import pytest

from hpcchain.config import Config, load_config
from hpcchain.errors import ConfigError, DataError

INPUT = """title = "mangled"
[box]
size = [20.0, 21.0, 22.0]
origin = [0.0, -1.0, 0.0]
boundary = ["periodic", "wall", "open"]
[[molecule]]
name = "A"
kind = "chain"
beads = 3
count = 2
bond_length = [1.0, 1.1]
positions = [[1, 1, 1], [2, 1, 1], [3.1, 1, 1], [1, 3, 1], [2, 3, 1], [3.1, 3, 1]]
velocities = [[0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
[[molecule]]
kind = "graph"
beads = 4
bonds = [[0, 1], [1, 2], [1, 3]]
mass = 2.5
self_contact = false
positions = [[5, 5, 5], [6, 5, 5], [7, 5, 5], [6, 6, 5]]
velocities = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
[[molecule]]
kind = "star"
arms = 2
arm_beads = 1
positions = [[5, 9, 5], [6, 9, 5], [4, 9, 5]]
velocities = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
[initial]
method = "explicit"
seed = 3
[propagator]
name = "collocation"
stages = 4
step = 0.1
[contact]
restitution = 0.5
[run]
end_time = 5.0
window = "auto"
sectors = [1, 1, 2]
[output]
directory = "out"
events = true
"""

VALUES = [
    *("nan", "-inf", "1e308", "1e-320", "-1", "0", "2147483647", "9223372036854775807", "9" * 400, "9" * 5000),
    "0x" + "f" * 4500,
    *("true", '""', '"auto"', '"chain"', '"\\u0000"', "[]", "[[]]", "[" * 3000, "[" * 50 + "]" * 50),
    *("{}", "{a = 1}", "1979-05-27", "1979-05-27T07:32:00Z"),
    *("[1, 2, 3]", "[[1, 2, 3]]", "[[0, 1], [0, 1]]", "'''\n'''"),
    *("[1, 'a', nan]", "[[1e60, 1e60, 1e60]]", "1e59", "1e-59", "[1e59, 1e59, 1e59]", '"graph"', '"ring"', '"monomer"'),
]
NAMES = [
    "beds",
    "",
    '"a b"',
    '"\\n"',
    "box",
    "molecule",
    "a.b",
    "size",
    "Ω",
    '"' + "x" * 10_000 + '"',
    "kind",
    "rod",
    "0",
]


def change_value(lines, rng):
    at = rng.choice([i for i, line in enumerate(lines) if " = " in line])
    lines[at] = lines[at].split(" = ")[0] + " = " + rng.choice(VALUES)


def change_entry(lines, rng):
    at = rng.choice([i for i, line in enumerate(lines) if "[" in line and "=" in line])
    spots = [i for i, letter in enumerate(lines[at]) if letter.isdigit()]
    if spots:
        spot = rng.choice(spots)
        lines[at] = lines[at][:spot] + rng.choice(VALUES) + lines[at][spot + 1 :]


def change_name(lines, rng):
    at = rng.randrange(len(lines))
    lines[at] = lines[at].replace(lines[at].split(" = ")[0].strip("[]"), rng.choice(NAMES), 1)


def delete_line(lines, rng):
    del lines[rng.randrange(len(lines))]


def repeat_line(lines, rng):
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))


def swap_values(lines, rng):
    a, b = rng.sample([i for i, line in enumerate(lines) if " = " in line], 2)
    (key_a, value_a), (key_b, value_b) = lines[a].split(" = ", 1), lines[b].split(" = ", 1)
    lines[a], lines[b] = f"{key_a} = {value_b}", f"{key_b} = {value_a}"


LINE_CHANGES = [change_value, change_entry, change_name, delete_line, repeat_line, swap_values]


def truncate(data, rng):
    return data[: rng.randrange(len(data))]


def random_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def insert_bytes(data, rng):
    at = rng.randrange(len(data))
    return data[:at] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 20))) + data[at:]


def mangle(seed):
    """Return a mangled input and what was done to it."""
    rng = random.Random(seed)
    kinds = [*LINE_CHANGES, truncate, random_bytes, insert_bytes]
    kind = kinds[seed % len(kinds)]
    if kind in LINE_CHANGES:
        lines = INPUT.splitlines()
        for _ in range(rng.choice([1, 1, 2, 4])):
            kind(lines, rng)
        return ("\n".join(lines) + "\n").encode()
    return kind(INPUT.encode(), rng)


def try_load(path, overrides=()):
    """Return the Config or the error of ours; anything else propagates."""
    start = time.perf_counter()
    try:
        result = load_config(path, overrides)
    except (ConfigError, DataError) as error:
        result = error
    assert time.perf_counter() - start < 5.0
    return result


def test_the_input_itself_is_valid(tmp_path):
    path = tmp_path / "in.toml"
    path.write_text(INPUT)
    assert isinstance(try_load(path), Config)


@pytest.mark.parametrize("first", range(0, 900, 100))
def test_mangled_inputs_load_or_give_one_message(tmp_path, first):
    rejected = 0
    for seed in range(first, first + 100):
        path = tmp_path / f"{seed}.toml"
        path.write_bytes(mangle(seed))
        result = try_load(path)
        if isinstance(result, Config):
            path.write_text(result.to_toml())
            assert load_config(path) == result, f"seed {seed}"
        else:
            rejected += 1
            text = str(result)
            assert text.startswith(f"{path}: ") and "\n" not in text and len(text) < 600, f"seed {seed}: {text}"
    assert rejected > 50


def test_every_key_with_every_strange_value(tmp_path):
    path = tmp_path / "in.toml"
    path.write_text(INPUT)
    keys = ["title", "box", "molecule", "run", "molecule.0", "molecule.0.kind", "molecule.1.kind"]
    section = ""
    for line in INPUT.splitlines():
        if line.startswith("["):
            section = line.strip("[]") + (".1" if line.startswith("[[") else "")
        elif section:
            keys.append(f"{section}.{line.split(' = ')[0]}")
    for key in keys:
        for value in VALUES:
            try_load(path, [f"{key}={value}"])
