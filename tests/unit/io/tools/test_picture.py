"""Pictures: PNG that other programs open, nearer spheres in front, colors by molecule or type, messages."""

import struct
import zlib
from dataclasses import dataclass, field

import numpy as np
import pytest

from hpcchain.cli.export import COLORS as OFFERED
from hpcchain.cli.main import main
from hpcchain.errors import UsageError
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.tools.export import export
from hpcchain.io.tools.picture import COLORS, TYPE_COLORS, Look, colors_of, drawn, view_axes, write_pixels
from tests.support.io_samples import input_of, system_of


@dataclass
class Beads:
    """What pictures need of beads."""

    diameter: np.ndarray
    molecule: np.ndarray
    species: np.ndarray
    edges: np.ndarray = field(default_factory=lambda: np.full(3, 10.0))
    origin: np.ndarray = field(default_factory=lambda: np.zeros(3))
    periodic: np.ndarray = field(default_factory=lambda: np.ones(3, dtype=bool))


def two(species=(0, 1)):
    """Return two large beads of other molecules and types."""
    return Beads(np.array([4.0, 4.0]), np.array([0, 1]), np.array(species))


def read_png(path):
    """Return the pixels of a PNG with 8 bits and RGB, (h, w, 3); every checksum is looked at."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, content, head = 8, b"", None
    while place < len(data):
        (length,), name = struct.unpack(">I", data[place : place + 4]), data[place + 4 : place + 8]
        body = data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert zlib.crc32(name + body) == check
        head = struct.unpack(">IIBBBBB", body) if name == b"IHDR" else head
        content += body if name == b"IDAT" else b""
        place += 12 + length
    rows = np.frombuffer(zlib.decompress(content), dtype=np.uint8).reshape(head[1], -1)
    assert np.all(rows[:, 0] == 1) and head[2:] == (8, 2, 0, 0, 0)
    return np.cumsum(rows[:, 1:].reshape(head[1], head[0], 3), axis=1, dtype=np.uint8)


def test_png_holds_the_pixels(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, size=(7, 11, 3), dtype=np.uint8)
    write_pixels(tmp_path / "a.png", pixels)
    assert np.array_equal(read_png(tmp_path / "a.png"), pixels)
    image = pytest.importorskip("matplotlib.image")
    assert np.allclose(image.imread(tmp_path / "a.png")[..., :3] * 255.0, pixels, atol=0.01)


def test_nearer_spheres_hide_those_behind():
    """Two beads on one line of sight: only the nearer one's color is there, whichever comes first."""
    back = view_axes()[2]
    middle = np.full(3, 5.0)
    for near in (0, 1):
        position = np.array([middle, middle]) + (2 * near - 1) * np.array([[-2.0], [2.0]]) * back
        pixels = drawn(two(), position, Look(width=120, color="type")).astype(int)
        counted = [np.sum(close(pixels, TYPE_COLORS[kind])) for kind in (0, 1)]
        assert counted[near] > 500 and counted[1 - near] == 0


def close(pixels, color):
    """Return which pixels have the hue of a color, however light or dark they are."""
    mixed = pixels / 255.0 - pixels.min(axis=2, keepdims=True) / 255.0
    pure = color - color.min()
    strong = mixed.max(axis=2) > 0.15
    share = mixed / np.maximum(mixed.max(axis=2, keepdims=True), 1e-9)
    return strong & (np.abs(share - pure / pure.max()).max(axis=2) < 0.06)


def test_up_is_up_and_beads_are_where_they_are():
    """A bead at the upper right of the box is drawn there, one that left the periodic box comes in again."""
    one = Beads(np.array([1.0]), np.array([0]), np.array([0]))
    inside = drawn(one, np.array([[9.0, 1.0, 9.0]]), Look(width=200, color="type"))
    row, column = (
        places.mean() / length
        for places, length in zip(np.nonzero(close(inside, TYPE_COLORS[0])), inside.shape[:2], strict=True)
    )
    assert row < 0.35 and column > 0.65
    again = drawn(one, np.array([[-1.0, 11.0, 29.0]]), Look(width=200, color="type"))
    assert np.array_equal(inside, again)


def test_colors_follow_molecules_or_types():
    chains = Beads(np.ones(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=int))
    found = colors_of(chains, "auto")
    assert np.array_equal(found[0], found[1]) and np.abs(found[1] - found[2]).max() > 0.3
    assert np.array_equal(colors_of(chains, "type"), np.repeat(TYPE_COLORS[:1], 4, axis=0))
    assert np.array_equal(colors_of(two(), "auto"), TYPE_COLORS[:2])
    assert np.all((found >= 0.0) & (found <= 1.0)) and OFFERED == COLORS


def test_a_checkpoint_is_drawn_and_only_a_picture_is_drawn_over(tmp_path):
    write_checkpoint(tmp_path / "c.h5", None, system_of([2, 4]), 1.0, {}, input_of([2, 4]))
    out = tmp_path / "c.png"
    export(tmp_path / "c.h5", "png", out, Look(width=64))
    export(tmp_path / "c.h5", "png", out)
    assert read_png(out).shape[1] == 900
    out.write_text("by hand", encoding="utf-8")
    with pytest.raises(UsageError, match="not as a PNG picture"):
        export(tmp_path / "c.h5", "png", out)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--to", "png", "--frame", "1"], "the file has 1 frame"),
        (["--to", "png", "--width", "9"], "between 16 and 8000"),
        (["--to", "gsd", "--frame", "0"], "gsd has all: it goes with --to lammps, pdb or png"),
        (["--to", "pdb", "--width", "90"], "goes with --to png"),
    ],
)
def test_messages(tmp_path, capsys, more, words):
    write_checkpoint(tmp_path / "c.h5", None, system_of([2, 4]), 1.0, {}, input_of([2, 4]))
    assert main(["export", str(tmp_path / "c.h5"), *more, "-o", str(tmp_path / "c.png")]) == 2
    assert words in capsys.readouterr().err and not (tmp_path / "c.png").exists()
