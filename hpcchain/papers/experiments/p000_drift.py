"""How the energy of a colliding thermal chain walks, for each propagator and step: what "no drift" comes to."""

from typing import Any

import numpy as np

from hpcchain.model.system import Options
from hpcchain.papers.engine import engine_of, system_of, thermal_chain
from hpcchain.papers.result import Result, Table, columns

NAME = "000-drift"
TITLE = "energy of colliding chains of 10 after 1000 collisions, and contacts whose law has no root"
CASES = (("variational", {}), ("variational", {"collision": "exact"}), ("taylor", {}))
PRINTED = {
    ("variational", 0.05): "1.0e-1",
    ("variational", 0.0125): "6.4e-3",
    ("exact", 0.05): "1.8e-2",
    ("exact", 0.0125): "8.4e-4",
    ("taylor", 0.0): "1e-12",
}
EXACT_FALLBACK = {0.1: "3.6 %", 0.0125: "0.04 %"}


def run(quick: Any) -> Any:
    """Return root mean square energy errors over several chains, and how often the law had no root."""
    chains = 2 if quick else 12
    contacts = 100 if quick else 1000
    table, rootless = Table("rms of E / E0 - 1"), Table("Contacts for which the exact impulse was taken")
    rows = []
    for name, options in CASES:
        law = options.get("collision", name)
        for step in (0.0,) if name == "taylor" else (0.1, 0.05, 0.025, 0.0125):
            errors, lacking, number = walk(name, options, step, chains, contacts)
            held = errors[np.isfinite(errors)]
            rms = float(np.sqrt(np.mean(held**2))) if len(held) else np.inf
            rows.append((law, step, rms, len(errors) - len(held), lacking / number))
            title = "taylor" if name == "taylor" else f"{LAWS[law]}, h = {step}"
            table.add(title, PRINTED.get((law, step)), rms, WHY[law])
            if len(held) < len(errors):
                table.add(
                    f"{title}: chains whose energy doubled",
                    "0 (no drift)",
                    str(len(errors) - len(held)),
                    "left out above: energy feeds itself where steps are too long for how fast bonds turn, and "
                    "then grows without bound. The NumPy integrator of this paper does the same",
                )
            if law == "variational":
                rootless.add(
                    f"h = {step}",
                    EXACT_FALLBACK.get(step),
                    f"{100 * lacking / number:.2f} %",
                    "no root near the reflected velocity from which the beads part (kappa > 1/2): a "
                    "little wider than no real root or nu < 0",
                )
    data = {"": columns("law step rms doubled rootless", rows)}
    notes = [
        'The paper has no such table: it says "no drift", which holds where motion is integrable. The values '
        'under "printed" are those of an independent calculation with one chain.',
        f"{chains} thermal chains of 10 unit bonds and beads in free space, {contacts} contacts each, kT = m = 1; "
        "the energy is that of the velocities on the bonds. SHAKE/RATTLE is the exact impulse's line to the last "
        "bit.",
    ]
    return Result(data, [table, rootless], notes)


LAWS = {"variational": "Leyendecker et al.'s law (16)", "exact": "exact impulse, as SHAKE/RATTLE"}
WHY = {
    "variational": "the law keeps the discrete energy over a contact and free steps keep another one; contacts fall "
    "anywhere in a step, so the difference, of order h^2, is a random walk",
    "exact": "the same, with smaller steps of the walk",
    "taylor": "round-off",
}


def walk(name: str, options: dict[str, Any], step: Any, chains: Any, contacts: int) -> Any:
    """Return relative energy errors of the chains after the contacts, contacts without root, and all contacts.

    The error is infinite for a chain whose energy has doubled, which is not followed further.
    """
    errors, lacking, number = [], 0, 0
    for seed in range(chains):
        position, velocity = thermal_chain(10, seed)
        engine = engine_of(system_of(position, velocity, 10, propagator=name, step=step, options=Options(**options)))
        time, ratio, energy = 0.0, 1.0, np.sum(velocity**2)
        while engine.counters["contacts"] < contacts and ratio < 2.0:
            time += 0.5
            engine.advance(time)
            ratio = np.sum(engine.frame(time)[1] ** 2) / energy
        errors.append(ratio - 1.0 if ratio < 2.0 else np.inf)
        lacking += engine.counters["no_roots"]
        number += engine.counters["contacts"]
    return np.array(errors), lacking, number
