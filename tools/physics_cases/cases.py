"""The cases: what is run, with seeds and lengths stated beforehand, and what is compared with what."""

import numpy as np

from physics_cases import theory
from physics_cases.measure import (
    Gas,
    Line,
    blocked,
    compressibility,
    decay_rate,
    diffusion,
    example,
    late_frames,
    over_molecules,
    results,
)
from tests.reference import theory as spheres

OWN = "Monte Carlo of this program's `theory.py`"
OTHER = "Monte Carlo by an independent program, `monte_carlo.py`"
TPT1, TPT_D, FLORY = "Wertheim's TPT1", "TPT with dimers", "generalised Flory dimer theory"
DUMBBELLS = "Tildesley and Streett, from their Monte Carlo"
SPEEDY = "Speedy, through published simulations"
TPT1_KNOWN = "its second virial coefficient grows as n²"
FLORY_KNOWN = "its second virial coefficient grows too fast; added after the runs"

PURE = {
    "spheres-0.1": Gas(1, 4000, 0.1, 100.0, 10.0, 40.0, 20),
    "spheres-0.3": Gas(1, 4000, 0.3, 20.0, 3.0, 10.0, 20),
    "spheres-0.45": Gas(1, 4000, 0.45, 8.0, 1.5, 4.0, 20),
    "dimers-0.2": Gas(2, 1000, 0.2, 100.0, 15.0, 50.0, 20),
    "dimers-0.3": Gas(2, 1000, 0.3, 50.0, 10.0, 25.0, 20),
}
CHAINS = {
    "chains-4-0.1": Gas(4, 500, 0.1, 160.0, 40.0, 80.0, 31),
    "chains-4-0.3": Gas(4, 500, 0.3, 60.0, 15.0, 30.0, 31),
    "chains-8-0.1": Gas(8, 250, 0.1, 160.0, 40.0, 80.0, 32),
    "chains-8-0.3": Gas(8, 250, 0.3, 70.0, 20.0, 30.0, 32),
    "chains-16-0.1": Gas(16, 128, 0.1, 120.0, 40.0, 40.0, 33),
    "chains-16-0.3": Gas(16, 128, 0.3, 90.0, 30.0, 30.0, 33),
    "chains-32-0.1": Gas(32, 64, 0.1, 140.0, 40.0, 50.0, 34),
    "chains-32-0.3": Gas(32, 64, 0.3, 80.0, 30.0, 25.0, 34),
}
CRAWLING = {
    "chains-4-0.1": (2.1399, 0.0036),
    "chains-4-0.3": (9.3154, 0.0239),
    "chains-8-0.1": (2.8458, 0.0088),
    "chains-8-0.3": (16.3893, 0.0556),
    "chains-16-0.1": (4.2395, 0.0183),
    "chains-16-0.3": (30.1063, 0.0701),
    "chains-32-0.1": (7.0362, 0.0366),
    "chains-32-0.3": (57.3792, 0.1905),
}
"""Z and its error by `python tools/physics_cases/monte_carlo.py --all`, made after the runs."""
VIRIAL = {
    2: (Gas(2, 600, 0.01, 400.0, 20.0, 200.0, 41), Gas(2, 600, 0.02, 300.0, 20.0, 200.0, 42)),
    4: (Gas(4, 300, 0.008, 500.0, 30.0, 200.0, 43), Gas(4, 300, 0.016, 300.0, 30.0, 200.0, 44)),
    8: (Gas(8, 150, 0.006, 600.0, 40.0, 200.0, 45), Gas(8, 150, 0.012, 300.0, 40.0, 200.0, 46)),
}
DILUTE = {
    8: Gas(8, 100, 0.003, 500.0, 50.0, 2.0, 51),
    16: Gas(16, 60, 0.003, 500.0, 60.0, 4.0, 52),
    32: Gas(32, 24, 0.003, 500.0, 100.0, 5.0, 53),
}
MELT = {
    8: Gas(8, 96, 0.4, 100.0, 25.0, 1.0, 61),
    16: Gas(16, 48, 0.4, 150.0, 50.0, 2.0, 62),
    32: Gas(32, 24, 0.4, 240.0, 100.0, 0.5, 63),
}
TRIMERS = Gas(3, 400, 0.01, 1500.0, 60.0, 6.0, 71)
SPHERES_DILUTE = Gas(1, 2000, 0.05, 400.0, 10.0, 2.0, 72)
SPHERES_LOG = Gas(1, 1000, 0.3, 20.0, 3.0, 1.0, 73, events=True)
SPHERES_TAIL = Gas(1, 2000, 0.3, 203.0, 3.0, 0.25, 76)
DIMERS_LOG = Gas(2, 500, 0.1, 120.0, 10.0, 0.5, 74, events=True)
CHAINS_LOG = Gas(8, 200, 0.2, 150.0, 30.0, 1.0, 75, events=True)
TRANSPORT = {
    "transport-0.1": Gas(1, 500, 0.1, 6000.0, 20.0, 500.0, 91, report=0.2),
    "transport-0.3": Gas(1, 500, 0.3, 1500.0, 10.0, 100.0, 92, report=0.05),
    "transport-0.45": Gas(1, 500, 0.45, 1500.0, 10.0, 2.0, 93, report=0.05),
}
WIDE = Gas(1, 4000, 0.45, 80.0, 10.0, 2.0, 95)
MELT_FLOW = Gas(10, 50, 0.4, 3500.0, 100.0, 4.0, 94, report=0.1)
RODS_ISOTROPIC = Gas(10, 300, 0.08, 60.0, 20.0, 1.0, 81, kind="rod")


def pure(name):
    """Return a case that compares Z of hard spheres or tangent dimers with figures of other programs."""

    def lines(folder):
        gas = PURE[name]
        table = spheres.HARD_SPHERES if gas.beads == 1 else spheres.TANGENT_DIMERS
        z, error = compressibility(results(gas, folder), gas)
        known = table[gas.fraction]
        of = "an independent program, N = 10,976" if gas.beads == 1 else "an independent program, N = 1000"
        lines = [Line(f"Z of {name}", of, known, known * (1.0e-3 if gas.beads == 2 else 2.5e-4), z, error)]
        if gas.beads == 2:
            fitted = theory.tildesley_streett(gas.fraction)
            lines.append(Line(f"Z of {name}", DUMBBELLS, fitted, 0.01 * fitted, z, error, "the fit is good to 1 %"))
        return lines

    return lines, [PURE[name]]


def chains(name):
    """Return a case that compares Z of tangent chains with another program, perturbation theories and Flory's.

    Their own errors, stated beforehand: TPT with dimers 3 %; TPT1 5 % at .3, at .1 as far as it lies from the other,
    5 % at least. Flory's was added after the runs, with TPT1's rule: it has the same fault (Yethiraj et al. 1992).
    """

    def lines(folder):
        gas = CHAINS[name]
        z, error = compressibility(results(gas, folder), gas)
        first, dimers = (of(gas.beads, gas.fraction) for of in (theory.tpt1, theory.tpt_dimers))
        wrong = max(0.05 * first, abs(first - dimers))
        flory = theory.flory_dimers(gas.beads, gas.fraction)
        return [
            Line(f"Z of {name}", OTHER, *CRAWLING[name], z, error),
            Line(f"Z of {name}", TPT_D, dimers, 0.03 * dimers, z, error, "the theory is good to 3 %"),
            Line(f"Z of {name}", TPT1, first, wrong, z, error, TPT1_KNOWN),
            Line(f"Z of {name}", FLORY, flory, max(0.05 * flory, abs(flory - dimers)), z, error, FLORY_KNOWN),
        ]

    return lines, [CHAINS[name]]


def virial(beads):
    """Return a case that compares (Z - 1) / density, brought to density 0 from two densities, with the integral."""

    def lines(folder):
        thin, thick = VIRIAL[beads]
        slope = []
        for gas, place in ((thin, "thin"), (thick, "thick")):
            z, error = compressibility(results(gas, folder / place), gas)
            density = gas.molecules / gas.side**3
            slope.append(((z - 1) / density, error / density))
        found = 2 * slope[0][0] - slope[1][0]
        error = np.hypot(2 * slope[0][1], slope[1][1])
        expected = theory.second_virial(theory.chains_alone(beads, seed=4), seed=5)
        return [Line(f"second virial coefficient, n = {beads}", OWN, *expected, found, error)]

    return lines, list(VIRIAL[beads])


def trimers(folder):
    """Compare the angles of trimers in a dilute gas with the weight of rigid bonds."""
    position = late_frames(results(TRIMERS, folder), TRIMERS)
    bond = np.diff(position, axis=2)
    cosine = np.einsum("fmi,fmi->fm", bond[:, :, 0], bond[:, :, 1])
    stiff = 0.25, 0.25  # of c evenly spread over [-1/2, 1]: springs in place of rigid bonds
    return [
        Line(f"trimers, mean of {name}", f"Fixman (springs: {other:g})", known, 0.0, *over_molecules(values))
        for name, known, other, values in zip(
            ("cos θ", "cos² θ"), theory.trimer_angles(), stiff, (cosine, cosine**2), strict=True
        )
    ]


def sizes(position):
    """Return the mean square radius of gyration of (frames, molecules, beads, 3), and its error."""
    return over_molecules(np.var(position, axis=2).sum(axis=2))


def dilute(beads):
    """Return a case that compares the size of chains that hardly meet with pivot Monte Carlo."""

    def lines(folder):
        gas = DILUTE[beads]
        expected = theory.gyration(theory.chains_alone(beads, seed=6))
        found = sizes(late_frames(results(gas, folder), gas))
        return [Line(f"R_g² of a coil, n = {beads}", OWN, *expected, *found)]

    return lines, [DILUTE[beads]]


def melt(folder):
    """Compare sizes in a melt with random walks, and the motion of beads with Rouse's law."""
    square = {}
    for beads, gas in MELT.items():
        position = late_frames(results(gas, folder / str(beads)), gas)
        square[beads] = sizes(position)
    logs = {beads: (np.log(value), error / value) for beads, (value, error) in square.items()}
    slope = (logs[32][0] - logs[8][0]) / np.log(31 / 7) / 2
    error = np.hypot(logs[32][1], logs[8][1]) / np.log(31 / 7) / 2
    short = "chains this short are stiffer at their ends' scale: ν over n − 1 is above ½ by up to .05"
    exponent, wrong = rouse_exponent(position, gas)
    early = "bonds' own motion at short times and the free end at long ones raise it: .5 to .6 is known"
    return [
        Line("ν of R_g in a melt, n = 8 to 32", "random walk", 0.5, 0.025, slope, error, short),
        Line("exponent of g1, n = 32, t = 4 to 32", "Rouse", 0.5, 0.05, exponent, wrong, early),
    ]


def rouse_exponent(position, gas, first=4.0, last=32.0):
    """Return d log g1 / d log t of the five middle beads between two times, and its error over molecules."""
    centre = position.mean(axis=(1, 2), keepdims=True)
    middle = (position - centre)[:, :, gas.beads // 2 - 2 : gas.beads // 2 + 3]
    lags = np.unique(np.round(np.geomspace(first, last, 12) / gas.frame).astype(int))
    way = np.array([np.sum((middle[lag:] - middle[:-lag]) ** 2, axis=3).mean(axis=(0, 2)) for lag in lags])
    groups = np.array_split(np.arange(gas.molecules), 10)

    def slope(molecules):
        return np.polyfit(np.log(lags), np.log(way[:, molecules].mean(axis=1)), 1)[0]

    left_out = [slope(np.setdiff1d(np.arange(gas.molecules), group)) for group in groups]
    return slope(np.arange(gas.molecules)), np.std(left_out) * np.sqrt(len(groups) - 1)


def sphere_motion(folder):
    """Compare diffusion and velocity autocorrelation of hard spheres with Enskog's theory."""
    gas = SPHERES_DILUTE
    found = diffusion(results(gas, folder / "dilute"), gas, 5, 10)
    expected = theory.enskog_diffusion(gas.fraction, gas.side)
    slow = "correlated collisions, some per cent at this density"
    log = SPHERES_LOG
    rate = decay_rate(results(log, folder / "log"), log)
    exact = theory.enskog_friction(log.fraction)
    return [
        Line("D of hard spheres, φ = .05", "Enskog, box corrected", expected, 0.02 * expected, *found, slow),
        Line("−d ln C_v / dt at 0, φ = .3", "exact, g(1) of KLM", exact, 1e-3 * exact, *rate, "g(1) to 10⁻³"),
    ]


def transport(name):
    """Return a case that compares viscosities and conductivity of hard spheres with Enskog's theory.

    Its own errors, stated beforehand: of conductivity 5 %, of the bulk viscosity 10 %, of the shear viscosity 3 %
    (Alder, Gass and Wainwright 1970). At .45 they are 10, 20 and 50 %: it lacks the slow part of G(t).
    """

    def lines(folder):
        gas = TRANSPORT[name]
        found = results(gas, folder).analysis(start=gas.settle, figures=("stress", "heat_flux"))
        dense = gas.fraction > 0.4
        compared = [
            ("bulk_viscosity", theory.enskog_bulk_viscosity, 0.2 if dense else 0.1),
            ("heat_conductivity", theory.enskog_conductivity, 0.1 if dense else 0.05),
            ("viscosity", theory.enskog_viscosity, 0.5 if dense else 0.03),
        ]
        lines = []
        for figure, known, wrong in compared:
            for own in (figure, f"{figure}_green_kubo"):
                value, expected = found.value(own), known(gas.fraction)
                label, reason = f"{own} of spheres, φ = {gas.fraction:g}", "uncorrelated collisions"
                lines.append(Line(label, "Enskog", expected, wrong * expected, value.value, value.error, reason))
        return lines

    return lines, [TRANSPORT[name]]


def published_motion(folder):
    """Compare the diffusion of hard spheres with Speedy's fit to published simulations of as many spheres.

    The fit's own error was stated beforehand: 3 %.
    """
    lines = []
    for name, lags in {"transport-0.1": (1, 2), "transport-0.3": (1, 2), "transport-0.45": (5, 10)}.items():
        gas = TRANSPORT[name]
        found = diffusion(results(gas, folder.parent / name), gas, *lags)
        expected = theory.speedy_diffusion(gas.fraction)
        label = f"D of hard spheres, φ = {gas.fraction:g}"
        lines.append(Line(label, SPEEDY, expected, 0.03 * expected, *found, "a fit, for as many spheres"))
    return lines


def images(folder):
    """Compare the viscosity of dense spheres with that by which D grows with the box (Yeh and Hummer 2004)."""
    small, wide = TRANSPORT["transport-0.45"], WIDE
    found = results(small, folder.parent / "transport-0.45")
    value = found.analysis(start=small.settle, figures=("stress",)).value("viscosity")
    motion = [diffusion(found, small, 2, 4), diffusion(results(wide, folder), wide, 2, 4)]
    more, wrong = motion[1][0] - motion[0][0], np.hypot(motion[0][1], motion[1][1])
    expected = 2.837 / (6 * np.pi * more) * (1 / small.side - 1 / wide.side)
    source = "D of 500 and of 4000, and Yeh and Hummer"
    name = f"viscosity of spheres, φ = {small.fraction:g}"
    return [Line(name, source, expected, expected * wrong / more, value.value, value.error)]


def melt_flow(folder):
    """Compare the slow part of the viscosity of a melt of short chains with Rouse's, from sizes and diffusion.

    That is T R_g² / (6 D) for each chain in a volume: Doi and Edwards 1986, section 7.3, with the sum over the modes of
    n beads. Its own error, 30 %, was stated beforehand. What the integral of G(t) has at t = 0.5, where it is least, is
    that of the beads; it was taken off after the run.
    """
    gas = MELT_FLOW
    found = results(gas, folder).analysis(start=gas.settle, figures=("sizes", "displacement", "stress"))
    size, motion = found.value("radius_of_gyration", "A"), found.value("diffusion_infinite_box", "A")
    expected = gas.molecules / gas.side**3 * size.value**2 / (6 * motion.value)
    wrong = expected * np.hypot(0.3, motion.error / motion.value)
    integral = found.curve("stress_integral")
    beads = float(np.interp(0.5, integral.x, integral.value))
    lines = []
    for own in ("viscosity", "viscosity_green_kubo"):
        value, label = found.value(own), f"slow {own} of chains, φ = {gas.fraction:g}"
        short = "chains of 10 are short for it"
        lines.append(Line(label, "Rouse", expected, wrong, value.value - beads, value.error, short))
    return lines


def sphere_tail(folder):
    """Compare the velocity autocorrelation of hard spheres at 16 to 26 mean free times with its algebraic tail."""
    gas = SPHERES_TAIL
    velocity = late_frames(results(gas, folder), gas, velocity=True)[:, :, 0]
    velocity = velocity - velocity.mean(axis=1, keepdims=True)
    lags = np.arange(6, 11)
    products = [np.mean(velocity[lag:] * velocity[:-lag], axis=(1, 2))[: len(velocity) - lags[-1]] for lag in lags]
    value, error = blocked(np.mean(products, axis=0))
    expected = float(np.mean(theory.velocity_tail(gas.fraction, lags * gas.frame, gas.molecules)))
    slow = "Enskog's coefficients, and later terms of the series in 1 / t"
    name = "C_v of spheres, φ = .3, t = 1.5 to 2.5"
    return [Line(name, "Alder and Wainwright's tail", expected, 0.2 * expected, value, error, slow)]


def chain_motion(name, gas, wrong):
    """Return a case that compares D of molecules with kT over mass and initial decay rate: Enskog's approximation."""

    def lines(folder):
        found = results(gas, folder)
        rate, rate_error = decay_rate(found, gas)
        lag = 10 if gas.beads == 2 else 12
        value, error = diffusion(found, gas, lag, 2 * lag)
        ratio = value * gas.beads * rate
        spread = ratio * np.hypot(error / value, rate_error / rate)
        why = "correlated collisions; of chains also their memory of shape"
        return [Line(f"D / D_E of {name}", "Enskog: 1", 1.0, wrong, ratio, spread, why)]

    return lines, [gas]


def equipartition(folder):
    """Compare the kinetic energy of modes that bonds allow with kT / 2 each, and that of single beads with theory."""
    gas = CHAINS_LOG
    found = results(gas, folder)
    position, velocity = late_frames(found, gas)[::3], late_frames(found, gas, velocity=True)[::3]
    lines = []
    for mode in (0, 1, 2, gas.beads - 1):
        shape = np.cos(mode * np.pi * (np.arange(gas.beads) + 0.5) / gas.beads)
        top, low = projected(position, velocity, shape)
        value, error = over_molecules(top / low.mean())
        share = 1 - 1 / gas.molecules if mode == 0 else 1.0
        at_rest = "the whole has no momentum: 1 − 1 / 200" if mode == 0 else ""
        lines.append(Line(f"kT of the bonds' mode {mode}", "equipartition", share, 0.0, value, error, at_rest))
    for bead in (0, gas.beads // 2):
        shape = np.eye(gas.beads)[bead]
        allowed = projected(position, velocity, shape)[1].mean()
        value, error = over_molecules(np.sum(velocity[:, :, bead] ** 2, axis=2) / allowed)
        lines.append(
            Line(f"m v² of bead {bead + 1} over that which bonds leave", "equipartition", 1.0, 0.0, value, error)
        )
    return lines


def projected(position, velocity, shape):
    """Return (w . v)^2 and w . w summed over three directions, (frames, molecules) each.

    w is the displacement of all beads by `shape` (n,) along an axis, without what would stretch bonds: of beads of mass
    1, w = d - G^T (G G^T)^-1 G d. Then <(w . v)^2> = kT <w . w>.
    """
    bond = np.diff(position, axis=2)
    frames, molecules, bonds, _ = bond.shape
    matrix = np.zeros((frames, molecules, bonds, bonds))
    across = np.einsum("fmki,fmki->fmk", bond[:, :, 1:], bond[:, :, :-1])
    index = np.arange(bonds)
    matrix[..., index, index] = 2.0 * np.einsum("fmki,fmki->fmk", bond, bond)
    matrix[..., index[1:], index[:-1]] = matrix[..., index[:-1], index[1:]] = -across
    top, low = np.zeros((frames, molecules)), np.zeros((frames, molecules))
    for axis in range(3):
        stretch = bond[..., axis] * np.diff(shape)
        tension = np.linalg.solve(matrix, stretch[..., None])[..., 0]
        pull = tension[..., None] * bond
        move = np.zeros_like(position)
        move[..., axis] = shape
        move[:, :, 1:] -= pull
        move[:, :, :-1] += pull
        top += np.einsum("fmki,fmki->fm", move, velocity) ** 2
        low += np.einsum("fmki,fmki->fm", move, move)
    return top, low


def rods(folder):
    """Compare the order of rods below and above the isotropic-nematic transition with Parsons' and Lee's theory."""
    lines = []
    for gas in (RODS_ISOTROPIC, nematic_start()):
        position = late_frames(results(gas, folder / f"{gas.fraction:g}"), gas)
        axis = (position[:, :, -1] - position[:, :, 0]) / (gas.beads - 1)
        tensor = (3 * np.einsum("fmi,fmj->fij", axis, axis) / gas.molecules - np.eye(3)) / 2
        values = np.linalg.eigvalsh(tensor)
        order = values[:, -1] if gas.start else -2 * values[:, 1]
        expected = theory.parsons_lee_order(gas.beads, gas.fraction)
        lines.append(
            Line(
                f"order of rods of 10, φ = {gas.fraction:g}",
                "Parsons and Lee",
                expected,
                0.03,
                *blocked(order),
                "the theory's own error in the nematic",
            )
        )
    return lines


def brush(folder):
    """Compare the shape of a brush's profile with the parabola of strongly stretched chains."""
    frames = example("brush", folder).trajectory
    late = frames.position[frames.time >= 50.0, :, 2] - 0.5
    ratio, error = blocked(np.mean(late**2, axis=1) / np.mean(late) ** 2)
    tail = "chains of 12 have a tail beyond the parabola's end"
    return [Line("⟨z²⟩ / ⟨z⟩² of a brush", "Milner, Witten and Cates: parabola", 64 / 45, 0.05, ratio, error, tail)]


def nematic_start():
    """Return the dense Gas of rods, which starts with all parallel on a square lattice of two layers."""
    gas = Gas(10, 450, 0.28, 80.0, 40.0, 1.0, 82, kind="rod")
    cell = gas.side / 15
    x, y, layer, bead = np.meshgrid(np.arange(15), np.arange(15), np.arange(2), np.arange(10), indexing="ij")
    place = np.stack([cell * (x + 0.5), cell * (y + 0.5), gas.side / 2 * layer + 0.55 + bead], axis=-1)
    rows = [[float(value) for value in row] for row in place.reshape(-1, 3)]
    return Gas(10, 450, 0.28, 80.0, 40.0, 1.0, 82, kind="rod", start={"positions": rows})


CASES = (
    {name: pure(name) for name in PURE}
    | {name: chains(name) for name in CHAINS}
    | {f"virial-{beads}": virial(beads) for beads in VIRIAL}
    | {"trimers": (trimers, [TRIMERS])}
    | {name: transport(name) for name in TRANSPORT}
    | {"images": (images, [TRANSPORT["transport-0.45"], WIDE]), "melt-flow": (melt_flow, [MELT_FLOW])}
    | {"published-motion": (published_motion, list(TRANSPORT.values()))}
    | {f"coil-{beads}": dilute(beads) for beads in DILUTE}
    | {
        "melt": (melt, list(MELT.values())),
        "sphere-motion": (sphere_motion, [SPHERES_DILUTE, SPHERES_LOG]),
        "sphere-tail": (sphere_tail, [SPHERES_TAIL]),
        "dimer-diffusion": chain_motion("dimers, φ = .1", DIMERS_LOG, 0.1),
        "chain-diffusion": chain_motion("chains of 8, φ = .2", CHAINS_LOG, 0.25),
        "equipartition": (equipartition, [CHAINS_LOG]),
        "brush": (brush, ["docs/examples/brush.toml, seed 1, t = 50 to 200"]),
        "rods": (rods, [RODS_ISOTROPIC, Gas(10, 450, 0.28, 80.0, 40.0, 1.0, 82, kind="rod")]),
    }
)
"""Name -> what makes its lines of a folder, and the states that are run."""
