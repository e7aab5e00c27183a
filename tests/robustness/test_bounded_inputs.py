"""Inputs that are too large or too deep are refused before they are parsed, in bounded time and memory."""

import resource
import time

import pytest

from hpcchain import machine
from hpcchain.config import bounds, load_config
from hpcchain.errors import ConfigError

GOOD = """
[box]
size = [20.0, 20.0, 20.0]
[[molecule]]
kind = "monomer"
count = 2
[run]
end_time = 1.0
"""
MANY = 50_000


def refusal(tmp_path, text, overrides=()):
    """Return the message with which an input is refused within seconds and 300 MB more of memory."""
    path = tmp_path / "in.toml"
    path.write_text(text)
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    assert time.perf_counter() - begin < 5.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    message = str(caught.value)
    assert "\n" not in message and len(message) < 600
    return message


@pytest.mark.parametrize(
    "key",
    [
        ".".join(["a"] * MANY),
        " . ".join(["ab"] * MANY),
        ".".join(['"a.b"'] * MANY),
        ".".join(["'x'", "y"] * MANY),
        "box." + ".".join(map(str, range(MANY))),
    ],
)
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}", "x = [{{ a = 1, {} = 1 }}]"])
def test_keys_of_many_parts(tmp_path, key, form):
    message = refusal(tmp_path, GOOD + form.format(key) + "\n")
    assert message.startswith(f"{tmp_path / 'in.toml'}: line 9: ") and "8 parts" in message


@pytest.mark.parametrize(
    "value",
    [
        "[" * MANY,
        "[" * MANY + "]" * MANY,
        "[[1,\n" * MANY,
        "{a=" * MANY,
        "{a=[" * MANY + "]}" * MANY,
        "[0, " * 200 + "]" * 200,
        "'[' \nb = " + "[" * 17,
    ],
)
def test_brackets_within_brackets(tmp_path, value):
    assert "nested too deeply" in refusal(tmp_path, GOOD + f"x = {value}\n")


def test_lines_are_counted_through_strings_and_comments(tmp_path):
    text = 'title = """\n\n[[[[[[[[[[[[[[[[[[[[[[\n"""\n# [[[ "\nx = ' + "[" * 20
    assert ": line 6: brackets" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"k{i} = 1" for i in range(150_000)),
        "\n".join(f"[k{i}]" for i in range(150_000)),
        "[[molecule]]\n" * 150_000,
        "x = {" + ", ".join(f"a{i} = 1" for i in range(150_000)) + "}",
    ],
)
def test_more_keys_than_any_input_has(tmp_path, text):
    assert "keys and headers" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        'x = "' + "a" * 10**6,
        'x = """' + "[" * 10**6,
        "x = '''" + "a.b" * 10**5,
        "a" * 10**6,
        "a" * 10**6 + " = 1",
        "'" * 10**5,
        '"\\' * 10**5,
        'x = "\\u0000" = ',
        "x = " + "9" * 10**6,
        "]" * 10**6,
        "x" + "\n." * 10**5,
    ],
)
def test_long_and_unfinished_things_give_one_message(tmp_path, text):
    refusal(tmp_path, GOOD + text)


def test_signs_in_strings_and_comments_count_for_nothing(tmp_path):
    dots, signs = ".a" * 40, "[{" * 40 + "," * 2000 + "=" * 2000
    path = tmp_path / "in.toml"
    path.write_text(
        f'# {dots} {signs} "\ntitle = """{dots} {signs} \\""" \'\'\' ""\n"""\n'
        + GOOD
        + f"[output]\ndirectory = '{dots}{signs}\"' # ' {signs}\n"
    )
    assert load_config(path).title.startswith(dots)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ('a = "b"', "a = s"),
        ("a = 'b\\' # c", "a = s "),
        ('a = "\\"" # "', "a = s "),
        ('a = """b"""""\nc', "a = s\nc"),
        ("a = '''b''''\nc", "a = s\nc"),
        ('a = """\n"\n""\n"""c', "a = s\n\n\nc"),
        ('""""""', "s"),
        ('"" ""', "s s"),
        ('"a\nb"', "s\nbs"),
        ("'''a", "s"),
        ('"""a\\', "s"),
        ("", ""),
    ],
)
def test_strings_are_found_as_the_parser_finds_them(text, bare):
    assert bounds.without_strings(text.encode()).decode() == bare


@pytest.mark.parametrize(
    "override",
    [
        ".".join(["a"] * MANY) + "=1",
        "run." * 20 + "end_time=2",
        "title=" + "[" * MANY,
        "title=" + "{a=" * MANY,
        "molecule.0.bonds=" + "[" * 30 + "]" * 30,
        "propagator={" + ".".join(["a"] * MANY) + "=1}",
        "title='" + "x" * 10**5,
        "x" * 10**5 + "=1",
        "title=[" * 10**4,
    ],
)
def test_settings_have_the_same_bounds(tmp_path, override):
    assert "--set" in refusal(tmp_path, GOOD, [override]) or "x" * 40 in override


def test_the_size_is_bounded_before_the_file_is_read(tmp_path, monkeypatch):
    path = tmp_path / "in.toml"
    with path.open("wb") as file:
        file.truncate(300_000_000)
    monkeypatch.setattr("hpcchain.config.text.read_at_most", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ConfigError, match="holds 300 MB, more than the 268 MB") as caught:
        load_config(path)
    assert str(path) in str(caught.value) and "start file" in str(caught.value)


def test_an_input_that_the_program_wrote_may_be_larger(tmp_path, monkeypatch):
    path = tmp_path / "in.toml"
    path.write_text(GOOD)
    monkeypatch.setattr(bounds, "MOST_BYTES", len(GOOD) // 2)
    with pytest.raises(ConfigError, match="more than"):
        load_config(path)
    assert load_config(path, stored=True).beads == 2


def test_rows_are_refused_where_there_is_no_memory_to_parse_them(monkeypatch):
    text = "x = [" + "[1.5, 2.5, 3.5],\n" * 100_000 + "]"
    left = iter((1e9, 20e6))
    monkeypatch.setattr(machine.Available, "left", lambda _: next(left))
    bounds.require_bounded(text, "in.toml")
    with pytest.raises(ConfigError, match="^in.toml: reading it takes up to .* of memory, and 20 MB are there"):
        bounds.require_bounded(text, "in.toml")


def test_positions_of_many_beads_stay_legitimate(tmp_path):
    rows = ",\n".join(
        f"[{x}.12345678901234, {y}.5, {z}.25]"
        for x in range(0, 60, 2)
        for y in range(0, 60, 2)
        for z in range(0, 60, 2)
    )
    path = tmp_path / "in.toml"
    path.write_text(
        GOOD.replace("count = 2", f"count = 27000\npositions = [\n{rows}\n]").replace("20.0", "60.0")
        + '[initial]\nmethod = "explicit"\n'
    )
    assert load_config(path).beads == 27000
