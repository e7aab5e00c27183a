"""Marinkovic 2022, (13)-(25) and (33): two rough spheres collide; what is printed, taken literally, and what holds."""

from typing import Any

import numpy as np

from hpcchain.papers.engine import engine_of, system_of
from hpcchain.papers.granular import rough
from hpcchain.papers.result import Result, Table, columns

NAME = "004-rough"
TITLE = "(16)-(33): rough spheres collide; slips of sign, and which coefficients keep the energy"
RATIO = 2.5
SLIPS = {
    "energy": (
        "energy change by -m (1 - e_t^2) u_t^2 / (4 (1 + q))",
        "(18) prints u_t as u x n, which is turned by a right angle",
    ),
    "momentum": ("total angular momentum", "(33) gives w_j the other sign than (24), which is right"),
}
"""Of the printed rule: what is off, and why."""


def run(quick: Any) -> Any:
    """Return errors of the printed rule and of the engine over random contacts for several e_t; fewer when quick."""
    count = 20 if quick else 200
    rng = np.random.default_rng(4)
    rows = [(e_t, *np.max([one(rng, e_t) for _ in range(count)], axis=0)) for e_t in (1.0, 0.5, 0.0, -0.5, -1.0)]
    data = columns("e_t printed_energy printed_momentum ours_energy ours_momentum u_t", rows)
    table = Table(f"{count} contacts for each e_t, e_n = 1: greatest error of energy change, angular momentum and slip")
    for k, e_t in enumerate(data["e_t"]):
        for name, (quantity, why) in SLIPS.items():
            printed, ours = data[f"printed_{name}"][k], data[f"ours_{name}"][k]
            table.compare(f"e_t = {e_t:g}: {quantity}", f"off by {printed:.1e}", ours, 0.0, 1e-11, why, f"{ours:.1e}")
    table.add(
        "energy is kept at",
        "e_t = 1 only",
        "e_t = 1 and -1",
        "-1 reverses the slip: perfectly rough spheres keep the energy, as smooth ones do",
    )
    table.compare("slip after a contact with e_t = 0", 0.0, data["u_t"][2], 0.0, 1e-11)
    return Result({"": data}, [table], ["Fewer contacts, as quick."] if quick else [])


def one(rng: np.random.Generator, e_t: float) -> list:
    """Return errors of one contact: printed and ours, of energy change and angular momentum, and |u_t' - e_t u_t|."""
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    x = np.array([0.5 * n, -0.5 * n]) * (1.0 + 1e-13)
    v, w = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    v[0] -= (1.0 + abs((v[0] - v[1]) @ n)) * n
    engine = engine_of(system_of(x, v, spins=w, extended=rough(e_t)))
    engine.advance(1e-12)
    sequence = np.argsort(engine.ids)
    state = engine.state()
    after = state.velocity[sequence], (state.extra[sequence, :3] if state.extra.shape[1] else w)
    slip = slipping(v, w, n)
    expected = -0.25 * (1.0 - e_t**2) / (1.0 + RATIO) * (slip @ slip)
    found = []
    for velocity, spin in (literal(v, w, n, e_t), after):
        found.append(abs(energy(velocity, spin) - energy(v, w) - expected))
        found.append(float(np.abs(momentum(x, velocity, spin) - momentum(x, v, w)).max()))
    return [*found, float(np.abs(slipping(*after, n) - e_t * slip).max())]


def slipping(v: np.ndarray, w: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the tangential velocity of the surfaces at the contact."""
    u = v[0] - v[1] - 0.5 * np.cross(w[0] + w[1], n)
    return u - (u @ n) * n


def literal(v: np.ndarray, w: np.ndarray, n: np.ndarray, e_t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and spins by (33), as it is printed, with u_t of (18); e_n = 1, R = 1/2, m = 1."""
    u = v[0] - v[1] - 0.5 * np.cross(w[0] + w[1], n)
    tangential = np.cross(u, n)
    push = (u @ n) * n + (1.0 - e_t) * tangential / (2.0 * (1.0 + RATIO))
    turn = (1.0 - e_t) * np.cross(tangential, n) / (2.0 * 0.5 * (1.0 + 1.0 / RATIO))
    return np.array([v[0] - push, v[1] + push]), np.array([w[0] - turn, w[1] + turn])


def energy(v: np.ndarray, w: np.ndarray) -> float:
    """Return the kinetic energy of two spheres of mass 1 and moment 0.1."""
    return 0.5 * float(np.sum(v**2)) + 0.05 * float(np.sum(w**2))


def momentum(x: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return their angular momentum."""
    return np.sum(np.cross(x, v) + 0.1 * w, axis=0)


def draw(result: Any, figure: Any) -> None:
    """Draw the errors over e_t."""
    axes, data = figure.subplots(), result.data[""]
    for name in ("printed_energy", "printed_momentum", "ours_energy", "ours_momentum"):
        axes.semilogy(data["e_t"], np.maximum(data[name], 1e-17), "o-", label=name.replace("_", ", "))
    axes.set(xlabel="e_t", ylabel="greatest error")
    axes.legend(fontsize="small")
