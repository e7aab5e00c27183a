"""What theory says of hard spheres, tangent chains and rods: unit diameters, masses and temperature.

Nothing here uses the program: Monte Carlo of single chains and of pairs stands in where there is no formula.
"""

import numpy as np

from tests.reference.theory import contact_value

MOLECULES = 2000
SLICE = 200


def carnahan_starling(fraction):
    """Return Z of hard spheres (Carnahan and Starling 1969)."""
    return (1 + fraction + fraction**2 - fraction**3) / (1 - fraction) ** 3


def tpt1(beads, fraction):
    """Return Z of tangent chains by first-order perturbation theory (Wertheim 1987; Chapman, Jackson, Gubbins 1988).

    Z = n Z_CS - (n - 1) (1 + f d ln g / d f) with g = (1 - f / 2) / (1 - f)^3.
    """
    bond = 1 + fraction * (2.5 - fraction) / ((1 - fraction) * (1 - fraction / 2))
    return beads * carnahan_starling(fraction) - (beads - 1) * bond


def tpt_dimers(beads, fraction):
    """Return Z of tangent chains of an even number of beads, made of dimers (Ghonasgi, Chapman; Chang, Sandler 1994).

    Between dimers g = (1 + 2 f) / (2 (1 - f)^2) (Chiew 1991).
    """
    inside = 1 + fraction * (2.5 - fraction) / ((1 - fraction) * (1 - fraction / 2))
    between = 1 + 2 * fraction * (2 + fraction) / ((1 - fraction) * (1 + 2 * fraction))
    return beads * carnahan_starling(fraction) - beads / 2 * inside - (beads / 2 - 1) * between


def tildesley_streett(fraction):
    """Return Z of tangent dimers, Tildesley and Streett's (1980) equation through their Monte Carlo of dumbbells."""
    rise = (1 + 0.37836 + 1.07860) * fraction + (1 + 1.30376 + 1.80010) * fraction**2
    return (1 + rise - (1 + 2.39803 + 0.35700) * fraction**3) / (1 - fraction) ** 3


def flory_dimers(beads, fraction):
    """Return Z of tangent chains of 2 beads or more by the generalised Flory dimer theory (Honnell and Hall 1989).

    Excluded volumes are 4 pi / 3 of spheres, 9 pi / 4 of dimers, 9.82605 of trimers, and grow by the last step.
    """
    volume = 4 * np.pi / 3, 9 * np.pi / 4, 9.82605
    more = (beads - 2) * (volume[2] - volume[1]) / (volume[1] - volume[0])
    return (more + 1) * tildesley_streett(fraction) - more * carnahan_starling(fraction)


def velocity_tail(fraction, time, spheres):
    """Return the velocity autocorrelation of hard spheres over its first value at long times (Alder, Wainwright 1970).

    2 / (3 density (4 pi (D + nu) t)^(3/2)) with Enskog's D and kinematic viscosity nu, as Erpenbeck and Wood (1985)
    found from some 15 mean free times on; less 1 / spheres, as the whole is at rest.
    """
    density = 6 * fraction / np.pi
    spread = enskog_diffusion(fraction, np.inf) + enskog_viscosity(fraction) / density
    return 2 / (3 * density * (4 * np.pi * spread * time) ** 1.5) - 1 / spheres


def enskog_viscosity(fraction):
    """Return the shear viscosity of hard spheres by Enskog's theory, first Sonine approximation times 1.016."""
    g, b = contact_value(fraction), 4 * fraction
    return 5 / (16 * np.sqrt(np.pi)) * 1.016 * (1 / g + 0.8 * b + 0.761 * b**2 * g)


def enskog_bulk_viscosity(fraction):
    """Return the bulk viscosity of hard spheres by Enskog's theory, (4 / 9) density^2 g (pi)^(1/2); 0 of a thin gas."""
    return 4 / 9 * (6 * fraction / np.pi) ** 2 * contact_value(fraction) * np.sqrt(np.pi)


def enskog_conductivity(fraction):
    """Return the conductivity of heat of hard spheres by Enskog's theory, first Sonine approximation times 1.02513."""
    g, b = contact_value(fraction), 4 * fraction
    return 75 / (64 * np.sqrt(np.pi)) * 1.02513 * (1 / g + 1.2 * b + 0.7574 * b**2 * g)


def enskog_friction(fraction):
    """Return the initial decay rate of the velocity autocorrelation, (8 / 3) density g (pi)^(1/2); it is exact."""
    return 8 / 3 * 6 * fraction / np.pi * contact_value(fraction) * np.sqrt(np.pi)


def enskog_diffusion(fraction, side):
    """Return the self-diffusion coefficient of hard spheres in a periodic cube, by Enskog's theory.

    The first Sonine approximation times 1.01896 (all orders), less 2.837 / (6 pi eta side) for the images of the
    periodic box (Yeh and Hummer 2004), with Enskog's viscosity eta.
    """
    density, g = 6 * fraction / np.pi, contact_value(fraction)
    images = 2.837 / (6 * np.pi * enskog_viscosity(fraction) * side)
    return 1.01896 * 3 / (8 * density * g * np.sqrt(np.pi)) - images


def speedy_diffusion(fraction):
    """Return the self-diffusion coefficient of some 500 hard spheres, a fit to published simulations (Speedy 1987).

    Sigurgeirsson and Heyes (2003) found it to hold for their simulations of as many.
    """
    n = 6 * fraction / np.pi
    return 3 / (8 * np.sqrt(np.pi) * n) * (1 - n / 1.09) * (1 + n**2 * (0.4 - 0.83 * n**2))


def trimer_angles():
    """Return <c> and <c^2> of c = b1 . b2 in a trimer alone: density (4 - c^2)^(1/2) on [-1/2, 1] (Fixman 1974)."""
    c = np.linspace(-0.5, 1, 200_001)
    weight = np.sqrt(4 - c * c)
    return np.sum(weight * c) / np.sum(weight), np.sum(weight * c * c) / np.sum(weight)


def log_metric(cosine):
    """Return half the logarithm of det(G M^-1 G^T) of chains with cosines (m, n - 2) between bonds (Fixman 1974).

    Rigid bonds visit configurations with this weight; bonds that are stiff springs with weight 1.
    """
    before, now = np.ones(len(cosine)), np.full(len(cosine), 2.0)
    for column in cosine.T:
        before, now = now, 2 * now - column**2 * before
    return 0.5 * np.log(now)


def chains_alone(beads, seed, molecules=MOLECULES, turns=None):
    """Return positions (molecules, beads, 3) of tangent chains that meet nothing but themselves, from pivot moves.

    Straight chains are turned about random joints; a turn is accepted by the overlaps and the weight of rigid bonds.
    """
    random = np.random.default_rng(seed)
    bond = np.zeros((molecules, beads - 1, 3))
    bond[:, :, 2] = 1
    weight = log_metric(cosines(bond))
    for _ in range(12 * beads if turns is None else turns):
        joint = random.integers(0, beads - 1, size=molecules)
        turned = np.einsum("mij,mkj->mki", rotations(random, molecules), bond)
        tried = np.where(np.arange(beads - 1)[None, :, None] >= joint[:, None, None], turned, bond)
        new = log_metric(cosines(tried))
        good = np.log(random.uniform(size=molecules)) < new - weight
        good[good] = ~overlapping(positions(tried[good]))
        bond[good], weight[good] = tried[good], new[good]
    return positions(bond)


def cosines(bond):
    """Return the cosines between bonds that follow one another, (m, n - 2)."""
    return np.einsum("mki,mki->mk", bond[:, 1:], bond[:, :-1])


def positions(bond):
    """Return positions of the beads of chains with bond vectors (m, n - 1, 3)."""
    return np.concatenate([np.zeros((len(bond), 1, 3)), np.cumsum(bond, axis=1)], axis=1)


def rotations(random, number):
    """Return random rotation matrices (number, 3, 3), uniform in all rotations (from random quaternions)."""
    q = random.normal(size=(number, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1)[:, None]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)


def overlapping(position):
    """Return which of the chains (m, n, 3) have beads, not bonded, nearer than 1; (m,) bool."""
    beads = position.shape[1]
    first, second = np.triu_indices(beads, 2)
    found = np.zeros(len(position), dtype=bool)
    for low in range(0, len(position), SLICE):
        part = position[low : low + SLICE]
        square = np.sum((part[:, first] - part[:, second]) ** 2, axis=2)
        found[low : low + SLICE] = np.any(square < 1 - 1e-9, axis=1)
    return found


def gyration(position):
    """Return the mean square radius of gyration of chains (m, n, 3), and its standard error."""
    square = np.var(position, axis=1).sum(axis=1)
    return square.mean(), square.std(ddof=1) / np.sqrt(len(square))


def second_virial(position, seed, throws=400):
    """Return the second virial coefficient of chains (m, n, 3) and its standard error, by Monte Carlo.

    Half the mean volume from which the centre of one of two chains is kept by the other: places are thrown into a ball
    about the first chain's centre that holds them all.
    """
    random = np.random.default_rng(seed)
    centred = position - position.mean(axis=1, keepdims=True)
    centred = np.einsum("mij,mkj->mki", rotations(random, len(centred)), centred)
    reach = np.linalg.norm(centred, axis=2).max(axis=1)
    kept = []
    for one in range(0, len(centred) - 1, 2):
        radius = reach[one] + reach[one + 1] + 1
        place = random.normal(size=(throws, 3))
        place *= (radius * random.uniform(size=throws) ** (1 / 3) / np.linalg.norm(place, axis=1))[:, None]
        gap = centred[one][:, None] - centred[one + 1][None]
        square = np.sum((place[:, None, None] + gap[None]) ** 2, axis=3)
        kept.append(np.mean(square.min(axis=(1, 2)) < 1) * 4 / 3 * np.pi * radius**3)
    return 0.5 * np.mean(kept), 0.5 * np.std(kept, ddof=1) / np.sqrt(len(kept))


def excluded_volume(beads, angles, seed, throws=40_000):
    """Return the volume from which two rods of tangent beads keep each other's centre at each angle, by Monte Carlo."""
    random = np.random.default_rng(seed)
    along = np.arange(beads) - (beads - 1) / 2
    found = []
    for angle in angles:
        half = np.array([beads / 2 * (1 + abs(np.cos(angle))) + 1, beads / 2 * np.sin(angle) + 1, 1.0])
        place = random.uniform(-1, 1, size=(throws, 3)) * half
        second = np.outer(along, [np.cos(angle), np.sin(angle), 0])
        near = np.zeros(throws, dtype=bool)
        for bead in second:
            at = place + bead
            nearest = np.clip(np.round(at[:, 0] - along[0]), 0, beads - 1) + along[0]
            near |= (at[:, 0] - nearest) ** 2 + at[:, 1] ** 2 + at[:, 2] ** 2 < 1
        found.append(np.mean(near) * 8 * np.prod(half))
    return np.array(found)


def parsons_lee_order(beads, fraction, seed=5, grid=48):
    """Return the nematic order of rods of tangent beads by Onsager's theory with Parsons' and Lee's factor.

    The orientation density f(u) ~ exp(-density G int V(u, u') f(u') du'), G = (4 - 3 f) / (4 (1 - f)^2), is iterated
    from an aligned one; V is `excluded_volume` (Parsons 1979, Lee 1987; of tangent beads Williamson and Jackson 1998).
    """
    angles = np.linspace(0, np.pi / 2, 31)
    volume = excluded_volume(beads, angles, seed)
    cosine, weight = np.polynomial.legendre.leggauss(2 * grid)
    turn = (np.arange(64) + 0.5) * np.pi / 32
    sine = np.sqrt(1 - cosine**2)
    between = cosine[:, None, None] * cosine[None, :, None] + sine[:, None, None] * sine[None, :, None] * np.cos(turn)
    kernel = np.interp(np.arccos(np.clip(np.abs(between), 0, 1)), angles, volume).mean(axis=2)
    density = fraction / (beads * np.pi / 6)
    strength = density * (4 - 3 * fraction) / (4 * (1 - fraction) ** 2)
    shape = np.exp(10 * cosine**2)
    for _ in range(500):
        shape /= np.sum(weight * shape)
        field = strength * kernel @ (weight * shape)
        shape = np.sqrt(shape * np.exp(field.min() - field) / np.sum(weight * np.exp(field.min() - field)))
    shape /= np.sum(weight * shape)
    return float(np.sum(weight * shape * (1.5 * cosine**2 - 0.5)))
