"""A picture of a frame: shaded spheres in their box, seen from aside, as PNG; it needs no display and no package."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import UsageError

if TYPE_CHECKING:
    from hpcchain.io.output.trajectory import Trajectory

COLORS = ("auto", "molecule", "type")
"""What spheres of one color have in common; auto: the molecule, or the type where there are single beads."""

NARROWEST, WIDEST = 16, 8000
"""Pixels that a picture may be wide."""

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
FINER = 2
"""Pixels across of those that are painted, a pixel of the picture: edges are smooth."""

TOWARDS = np.array([0.38, 1.0, -0.30])
"""Where the viewer looks to; z is up."""

LIGHT = np.array([-0.45, 0.55, 0.70])
"""Where the light comes from: right, up, to the viewer."""

AMBIENT, FAR, MARGIN = 0.42, 0.45, 0.03
"""Brightness in the shade, how pale the farthest spheres are, and empty share of the picture at its sides."""

TYPE_COLORS = np.array([[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0],
                        [240, 228, 66], [120, 120, 120]]) / 255.0  # fmt: skip
"""Told apart by all eyes (Okabe and Ito 2008)."""

GOLDEN = 0.6180339887498949
SHADES = 4.0
"""Of 255 between two brightnesses: finer ones are not seen, and double the file."""

EDGE = 0.35
"""Brightness of the box's edges."""


@dataclass(frozen=True)
class Look:
    """How a picture is to look.

    Attributes
    ----------
    frame : int
        Which frame, counted from 0; below 0 from the end.
    color : str
        One of `COLORS`.
    width : int
        Of the picture [pixels].
    """

    frame: int = -1
    color: str = "auto"
    width: int = 900


class Canvas:
    """Colors and depths of the pixels that are painted, larger depths in front.

    Parameters
    ----------
    width, height : int
        [pixels]
    scale : float
        Pixels a length.
    corner : (2,) float64 array
        What is at the lower left [length].
    """

    def __init__(self, width: int, height: int, scale: float, corner: np.ndarray) -> None:
        self.color = np.ones((height, width, 3), dtype=np.float32)
        self.depth = np.full((height, width), -np.inf, dtype=np.float32)
        self.scale, self.corner = scale, corner

    def spheres(self, place: np.ndarray, radius: np.ndarray, color: np.ndarray, paleness: np.ndarray) -> None:
        """Paint spheres.

        Parameters
        ----------
        place : (n, 3) float64 array
            Right, up, to the viewer [length].
        radius : (n,) float64 array
            [length]
        color : (n, 3) float64 array
        paleness : (n,) float64 array
            0 as it is, 1 white.
        """
        light = LIGHT / np.linalg.norm(LIGHT)
        middle = (place[:, :2] - self.corner) * self.scale
        size = np.maximum(radius * self.scale, 0.5)
        height, width = self.depth.shape
        for (x, y), r, z, tone, pale in zip(middle, size, place[:, 2] * self.scale, color, paleness, strict=True):
            left, right = max(int(x - r), 0), min(int(x + r) + 2, width)
            low, high = max(int(y - r), 0), min(int(y + r) + 2, height)
            dx, dy = np.arange(left, right) + 0.5 - x, (np.arange(low, high) + 0.5 - y)[:, None]
            inside = r * r - dx * dx - dy * dy
            rise = np.sqrt(np.maximum(inside, 0.0))
            before = self.depth[low:high, left:right]
            seen = (inside > 0.0) & (z + rise > before)
            if seen.any():
                shade = np.maximum(light[0] * dx + light[1] * dy + light[2] * rise, 0.0)[seen] / r
                bright = (AMBIENT + (1.0 - AMBIENT) * shade)[:, None] * tone
                before[seen] = (z + rise)[seen]
                self.color[low:high, left:right][seen] = bright + (1.0 - bright) * pale

    def picture(self) -> np.ndarray:
        """Return the picture, FINER times smaller, the uppermost row first, (h, w, 3) uint8."""
        height, width = self.depth.shape
        blocks = self.color.reshape(height // FINER, FINER, width // FINER, FINER, 3)
        levels = np.round((255.0 / SHADES) * np.clip(blocks.mean(axis=(1, 3)), 0.0, 1.0))
        return np.minimum(SHADES * levels, 255.0).astype(np.uint8)[::-1]


def write_png(beads: Trajectory, position: np.ndarray, look: Look, out: Path) -> None:
    """Write a picture of beads at positions (N, 3); raises UsageError when it would be too small or too large."""
    if not NARROWEST <= look.width <= WIDEST:
        raise UsageError(f"--width {look.width}: must be between {NARROWEST} and {WIDEST} pixels")
    write_pixels(out, drawn(beads, position, look))


def drawn(beads: Trajectory, position: np.ndarray, look: Look) -> np.ndarray:
    """Return the picture of beads at positions (N, 3) [length] as (h, w, 3) uint8, the uppermost row first."""
    shift = np.where(beads.periodic, np.floor((position - beads.origin) / beads.edges) * beads.edges, 0.0)
    axes = view_axes()
    places, edges = (position - shift) @ axes.T, box_edges(beads) @ axes.T
    radius = beads.diameter / 2.0
    edges_of = np.concatenate([edges, places - radius[:, None], places + radius[:, None]])
    low, high = edges_of.min(axis=0), edges_of.max(axis=0)
    margin = MARGIN * float((high - low)[:2].max())
    span = (high - low)[:2] + 2.0 * margin
    scale = FINER * look.width / span[0]
    height = max(int(np.ceil(look.width * span[1] / span[0])), 1)
    canvas = Canvas(FINER * look.width, FINER * height, scale, low[:2] - margin)

    def paleness(z: np.ndarray) -> np.ndarray:
        return FAR * (high[2] - z) / max(high[2] - low[2], 1e-300)

    thin = np.full(len(edges), 0.0016 * span[0])
    canvas.spheres(edges, thin, np.full((len(edges), 3), EDGE), paleness(edges[:, 2]))
    canvas.spheres(places, radius, colors_of(beads, look.color), paleness(places[:, 2]))
    return canvas.picture()


def view_axes() -> np.ndarray:
    """Return the unit vectors to the right, upwards and to the viewer, a row each."""
    back = -TOWARDS / np.linalg.norm(TOWARDS)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(back, right), back])


def box_edges(beads: Trajectory) -> np.ndarray:
    """Return points along the twelve edges of the box, so close that they look like lines, (n, 3) [length]."""
    along = np.linspace(0.0, 1.0, 2000)
    points = []
    for axis in range(3):
        for corner in np.ndindex(2, 2):
            line = np.empty((len(along), 3))
            line[:, axis] = along
            line[:, [other for other in range(3) if other != axis]] = corner
            points.append(line)
    return beads.origin + np.concatenate(points) * beads.edges


def colors_of(beads: Trajectory, wanted: str) -> np.ndarray:
    """Return the color of each bead, (N, 3), from 0 to 1."""
    if wanted == "auto":
        sizes = np.bincount(beads.molecule) if len(beads.molecule) else np.zeros(1)
        wanted = "type" if np.any(sizes == 1) else "molecule"
    if wanted == "type":
        return TYPE_COLORS[beads.species % len(TYPE_COLORS)]
    return hues(beads.molecule)


def hues(number: np.ndarray) -> np.ndarray:
    """Return colors (n, 3) far apart for numbers that follow one another: hues turn by the golden ratio."""
    hue = (number * GOLDEN) % 1.0
    value = 0.70 + 0.25 * ((number * 7 % 3) / 2.0)
    wave = np.abs((6.0 * hue[:, None] + np.array([0.0, 4.0, 2.0])) % 6.0 - 3.0) - 1.0
    return value[:, None] * (1.0 - 0.62 * (1.0 - np.clip(wave, 0.0, 1.0)))


def write_pixels(out: Path, pixels: np.ndarray) -> None:
    """Write (h, w, 3) uint8 pixels as PNG (ISO/IEC 15948: 8 bits, RGB, rows as differences to the left)."""
    height, width, _ = pixels.shape
    rows = np.ones((height, 1 + 3 * width), dtype=np.uint8)
    rows[:, 1:] = np.diff(pixels, axis=1, prepend=np.zeros_like(pixels[:, :1])).reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(out, "wb") as file:
        file.write(PNG_MAGIC)
        for name, content in ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")):
            length, checksum = (struct.pack(">I", value) for value in (len(content), zlib.crc32(name + content)))
            file.write(length + name + content + checksum)
