"""The contact law against its dense form: energy, momenta, bonds, restitution, and several contacts at one instant."""

import numpy as np
import pytest

from tests.reference.linear import least_distance, pushes
from tests.support import molecules, twins
from tests.support.kernel_tools import Bench, random_chain
from tests.support.kicks import dense_kick
from tests.support.webs import shuffled, web

NO_BONDS = np.empty((0, 2), dtype=np.int64)
SHAPES = {
    "monomer": lambda seed: monomer(seed),
    "dimer": lambda seed: random_chain(2, seed),
    "chain3": lambda seed: random_chain(3, seed),
    "chain9": lambda seed: random_chain(9, seed),
    "web9": lambda seed: shuffled(random_chain(9, seed), 1),
    "ring8": lambda seed: web("ring8", seed),
}


def monomer(seed, mass=None):
    """Return one bead."""
    rng = np.random.default_rng(seed)
    m = rng.uniform(0.3, 3) if mass is None else mass
    return NO_BONDS, rng.normal(size=(1, 3)), rng.normal(size=(1, 3)), np.array([m])


def unit(vector):
    """Return a vector of length 1."""
    return np.asarray(vector, float) / np.linalg.norm(vector)


def totals(bench):
    """Return energy and momentum of all molecules."""
    parts = [(m[3], bench.velocity(k)) for k, m in enumerate(bench.molecules)]
    energy = sum(0.5 * np.sum(mass[:, None] * v**2) for mass, v in parts)
    return energy, sum(mass @ v for mass, v in parts)


def assert_bonds(bench):
    """Check G v = 0 of all molecules."""
    for k, (bonds, x, _, _) in enumerate(bench.molecules):
        if len(bonds):
            np.testing.assert_allclose(twins.gradient(bonds, x) @ bench.velocity(k).ravel(), 0, atol=2e-12)


@pytest.mark.parametrize("restitution", [1.0, 0.8, 0.0])
@pytest.mark.parametrize("second", SHAPES)
@pytest.mark.parametrize("first", SHAPES)
def test_two_molecules(first, second, restitution):
    """v+ = v + p y, p = -(1 + e) n.v / n.y and dE = -(1 - e^2) (n.v)^2 / (2 n.y); momentum, L and bonds are kept."""
    bench = Bench(SHAPES[first](1), SHAPES[second](2), stale=1)
    (bonds_a, xa, va, ma), (bonds_b, xb, vb, mb) = bench.molecules
    a, b = len(xa) // 2, len(xb) - 1
    n = unit(vb[b] - va[a] + [0.1, 0.2, 0.3])
    energy, momentum = totals(bench)
    un = n @ (va[a] - vb[b])
    size = bench.single((0, a), (1, b), n, restitution=restitution)
    ya, yb = dense_kick(bonds_a, xa, ma, a, n), dense_kick(bonds_b, xb, mb, b, n)
    mobility = n @ ya[a] + n @ yb[b]
    assert un < 0
    assert size == pytest.approx(-(1 + restitution) * un / mobility, rel=1e-11)
    np.testing.assert_allclose(bench.velocity(0), va + size * ya, atol=1e-11)
    np.testing.assert_allclose(bench.velocity(1), vb - size * yb, atol=1e-11)
    after, momentum_after = totals(bench)
    assert after - energy == pytest.approx(-0.5 * (1 - restitution**2) * un**2 / mobility, abs=1e-12 * energy)
    np.testing.assert_allclose(momentum_after, momentum, atol=1e-12)
    assert n @ (bench.velocity(0)[a] - bench.velocity(1)[b]) == pytest.approx(-restitution * un, abs=1e-12)
    assert_bonds(bench)


def test_angular_momentum_of_touching_molecules():
    """With n along the line of centres no angular momentum is made."""
    one, (bonds, x, v, mass) = random_chain(9, 3), random_chain(12, 4)
    n = unit([1.0, 2.0, 2.0])
    x = x - x[7] + one[1][4] - n
    bench = Bench(one, (bonds, x, v, mass))
    if n @ (one[2][4] - v[7]) > 0:
        v = v + 4 * n
        bench = Bench(one, (bonds, x, v, mass))

    def spin():
        return sum(np.cross(m[1], m[3][:, None] * bench.velocity(k)).sum(0) for k, m in enumerate(bench.molecules))

    before = spin()
    assert bench.single((0, 4), (1, 7), n) > 0
    np.testing.assert_allclose(spin(), before, atol=1e-11)


@pytest.mark.parametrize("growth", [0.0, 0.7])
@pytest.mark.parametrize("shape", SHAPES)
def test_wall(shape, growth):
    bench = Bench(SHAPES[shape](3))
    bonds, x, v, mass = bench.molecules[0]
    bead = len(x) - 1
    n = np.zeros(3)
    n[int(np.argmax(np.abs(v[bead])))] = -np.sign(v[bead][int(np.argmax(np.abs(v[bead])))])
    size = bench.single((0, bead), None, n, growth=growth)
    y = dense_kick(bonds, x, mass, bead, n)
    np.testing.assert_allclose(bench.velocity(), v + size * y, atol=1e-11)
    assert n @ bench.velocity()[bead] - growth == pytest.approx(-(n @ v[bead] - growth), abs=1e-12)
    assert_bonds(bench)


@pytest.mark.parametrize("shape", ["chain3", "chain9", "web9", "ring8"])
def test_two_beads_of_one_molecule(shape):
    bench = Bench(SHAPES[shape](5), stale=2)
    bonds, x, v, mass = bench.molecules[0]
    a, b = 0, 2
    n = unit(v[b] - v[a] + 0.01)
    energy, momentum = totals(bench)
    size = bench.single((0, a), (0, b), n, restitution=1.0)
    y = dense_kick(bonds, x, mass, a, n) - dense_kick(bonds, x, mass, b, n)
    assert size == pytest.approx(-2 * (n @ (v[a] - v[b])) / (n @ (y[a] - y[b])), rel=1e-10)
    np.testing.assert_allclose(bench.velocity(), v + size * y, atol=1e-10)
    after, momentum_after = totals(bench)
    assert after == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(momentum_after, momentum, atol=1e-12)
    assert_bonds(bench)


def test_energy_that_was_lost_on_the_way_is_given_back():
    bench = Bench(random_chain(9, 6), random_chain(5, 7))
    n = unit(bench.velocity(1)[1] - bench.velocity(0)[8])
    energy, momentum = totals(bench)
    for projection_loss in (1e-3, -1e-3):
        bench.load()
        assert bench.single((0, 8), (1, 1), n, projection_loss=projection_loss) > 0
        assert totals(bench)[0] == pytest.approx(energy + projection_loss, rel=1e-12)
        np.testing.assert_allclose(totals(bench)[1], momentum, atol=1e-12)


def test_receding_contact_has_no_impulse():
    bench = Bench(monomer(1), monomer(2))
    n = unit(bench.velocity(0)[0] - bench.velocity(1)[0])
    before = bench.velocity(0), bench.velocity(1)
    assert bench.single((0, 0), (1, 0), n) == 0.0
    assert bench.single((0, 0), (1, 0), n, growth=1e-3) == 0.0
    np.testing.assert_array_equal([bench.velocity(0), bench.velocity(1)], before)


@pytest.mark.parametrize("restitution", [1.0, 0.0])
def test_a_graze_gives_back_what_was_lost_and_leaves_nothing_approaching(restitution):
    bench = Bench(random_chain(9, 6), random_chain(5, 7))
    n = unit(bench.velocity(0)[8] - bench.velocity(1)[1])
    rate = n @ (bench.velocity(0)[8] - bench.velocity(1)[1])
    energy, momentum = totals(bench)
    for growth in (0.0, rate):
        bench.load()
        assert bench.single((0, 8), (1, 1), n, growth, restitution, projection_loss=1e-3) > 0.0
        after = n @ (bench.velocity(0)[8] - bench.velocity(1)[1])
        assert after > rate
        if growth == 0.0:
            assert totals(bench)[0] == pytest.approx(energy + 1e-3, rel=1e-12)
        np.testing.assert_allclose(totals(bench)[1], momentum, atol=1e-12)


def test_which_is_first_does_not_matter():
    one, two = random_chain(9, 6), random_chain(5, 7)
    n = unit(two[2][1] - one[2][8])
    forward, back = Bench(one, two), Bench(one, two)
    assert forward.single((0, 8), (1, 1), n) == back.single((1, 1), (0, 8), -n)
    for k in range(2):
        np.testing.assert_array_equal(forward.velocity(k), back.velocity(k))


def facing(bench, contacts, normals, growths=None):
    """Return the normals, turned round where the contact would not be approaching."""
    turned = []
    for k, ((a, b), n) in enumerate(zip(contacts, normals, strict=True)):
        v = bench.molecules[a[0]][2][a[1]] - (0 if b is None else bench.molecules[b[0]][2][b[1]])
        turned.append(n if n @ v < (0.0 if growths is None else growths[k]) else -n)
    return np.array(turned)


def dense_law(bench, contacts, normals, growths, restitution):
    """Return the sizes p >= 0 of (N Y) p = -(1 + e) (N v - g) and the velocities after, by dense matrices."""
    counts = [len(m[1]) for m in bench.molecules]
    first = np.concatenate([[0], np.cumsum(counts)])
    x, v = (np.concatenate([m[k] for m in bench.molecules]) for k in (1, 2))
    mass = np.concatenate([m[3] for m in bench.molecules])
    bonds = np.concatenate([np.reshape(m[0], (-1, 2)) + first[k] for k, m in enumerate(bench.molecules)])
    rows = np.zeros((len(contacts), len(x), 3))
    for k, (a, b) in enumerate(contacts):
        rows[k, first[a[0]] + a[1]] += normals[k]
        if b is not None:
            rows[k, first[b[0]] + b[1]] -= normals[k]
    rows = rows.reshape(len(contacts), -1)
    inverse, g = 1 / np.repeat(mass, 3), twins.gradient(bonds, x)
    t = twins.tension_matrix(bonds, x, mass)
    y = (inverse * (rows - (np.linalg.solve(t, g @ (inverse * rows).T).T @ g if len(bonds) else 0))).T
    sizes = pushes(rows @ y, -(1 + restitution) * (rows @ v.ravel() - growths))
    after = (v.ravel() + y @ sizes).reshape(-1, 3)
    return sizes, [after[first[k] : first[k + 1]] for k in range(len(counts))]


CASES = {
    "two chains, three contacts": [((0, 0), (1, 0)), ((0, 4), (1, 5)), ((0, 8), (1, 9))],
    "one bead on two": [((0, 3), (1, 2)), ((0, 3), (1, 4))],
    "between and inside": [((0, 1), (1, 2)), ((0, 2), (0, 6))],
    "inside both": [((0, 1), (0, 4)), ((1, 0), (1, 8)), ((0, 8), (1, 9))],
    "with a wall": [((0, 1), (1, 2)), ((0, 7), None), ((1, 9), None)],
    "named the other way": [((1, 3), (0, 2)), ((0, 5), (1, 7))],
}


@pytest.mark.parametrize("restitution", [1.0, 0.5])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["chains", "webs"])
def test_several_contacts_at_once(case, restitution, kind):
    pair = random_chain(9, 8), random_chain(12, 9)
    if kind == "webs":
        pair = tuple(shuffled(m, 3) for m in pair)
    bench = Bench(*pair, stale=3)
    rng = np.random.default_rng(1)
    contacts = CASES[case]
    growths = rng.uniform(0, 0.2, len(contacts))
    normals = facing(bench, contacts, [unit(rng.normal(size=3)) for _ in contacts], growths)
    energy, momentum = totals(bench)
    expected, after = dense_law(bench, contacts, normals, growths, restitution)
    status, sizes = bench.tied(contacts, normals, growths, restitution)
    assert status == 0
    np.testing.assert_allclose(sizes, expected, atol=1e-10 * np.abs(expected).max())
    for k in range(2):
        np.testing.assert_allclose(bench.velocity(k), after[k], atol=1e-10)
    assert_bonds(bench)
    for (a, b), n, g, size in zip(contacts, normals, growths, sizes, strict=True):
        before = pair[a[0]][2][a[1]] - (0 if b is None else pair[b[0]][2][b[1]])
        now = bench.velocity(a[0])[a[1]] - (0 if b is None else bench.velocity(b[0])[b[1]])
        least = -restitution * (n @ before - g)
        assert n @ now - g == pytest.approx(least, abs=1e-11) if size > 0.0 else n @ now - g > least
    if "wall" not in case:
        np.testing.assert_allclose(totals(bench)[1], momentum, atol=1e-11)


@pytest.mark.parametrize(
    "contacts",
    [
        [((0, 3), (1, 2)), ((1, 6), (2, 0)), ((2, 0), (3, 1))],
        [((3, 0), (0, 8)), ((2, 0), (0, 0)), ((1, 4), None), ((1, 3), (0, 2))],
    ],
)
def test_contacts_of_several_molecules_at_once(contacts):
    """A row of molecules in touch, and one that is hit by three others."""
    molecules_here = random_chain(9, 8), web("ring8", 9), monomer(10), random_chain(2, 11)
    bench = Bench(*molecules_here, stale=4)
    normals = facing(bench, contacts, [unit(np.random.default_rng(k).normal(size=3)) for k in range(len(contacts))])
    energy, momentum = totals(bench)
    expected, after = dense_law(bench, contacts, normals, np.zeros(len(contacts)), 1.0)
    status, sizes = bench.tied(contacts, normals)
    assert status == 0
    np.testing.assert_allclose(sizes, expected, atol=1e-10 * np.abs(expected).max())
    for k in range(4):
        np.testing.assert_allclose(bench.velocity(k), after[k], atol=1e-10)
    assert_bonds(bench)
    assert totals(bench)[0] == pytest.approx(energy, rel=1e-11)
    if None not in [side for pair in contacts for side in pair]:
        np.testing.assert_allclose(totals(bench)[1], momentum, atol=1e-11)


def test_several_contacts_keep_the_energy():
    bench = Bench(random_chain(9, 8), random_chain(12, 9))
    energy, _ = totals(bench)
    contacts = CASES["inside both"]
    normals = facing(bench, contacts, [unit([1, 2, 3]), unit([-1, 0, 2]), unit([0, 1, -1])])
    assert bench.tied(contacts, normals)[0] == 0
    assert totals(bench)[0] == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("restitution", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("projection_loss", [1e-3, 0.1, -1e-3])
@pytest.mark.parametrize("case", CASES)
def test_several_contacts_give_back_what_was_lost(case, projection_loss, restitution):
    """All impulses grow by one factor; the energy is higher by the loss than without, momentum as before."""
    molecules_here, contacts = (random_chain(9, 8), random_chain(12, 9)), CASES[case]
    rng = np.random.default_rng(2)
    plain, other = Bench(*molecules_here), Bench(*molecules_here)
    normals = facing(plain, contacts, [unit(rng.normal(size=3)) for _ in contacts])
    _, before = totals(plain)
    (status, sizes), (status_other, sizes_other) = (
        plain.tied(contacts, normals, None, restitution),
        other.tied(contacts, normals, None, restitution, projection_loss),
    )
    assert status == status_other == 0
    np.testing.assert_array_equal(sizes_other == 0.0, sizes == 0.0)
    factor = sizes_other[sizes > 0.0] / sizes[sizes > 0.0]
    np.testing.assert_allclose(factor, factor[0], rtol=1e-12)
    assert (factor[0] > 1.0) == (projection_loss > 0.0)
    if restitution > 0.0 or projection_loss > 0.0:
        assert totals(other)[0] - totals(plain)[0] == pytest.approx(projection_loss, abs=1e-12)
    if "wall" not in case:
        np.testing.assert_allclose(totals(other)[1], before, atol=1e-11)
    assert_bonds(other)


@pytest.mark.parametrize("projection_loss", [0.0, 1e-2])
def test_one_contact_among_ties_is_the_single_one(projection_loss):
    one, two = random_chain(9, 10), random_chain(5, 11)
    n = unit(two[2][1] - one[2][8])
    single, tied = Bench(one, two), Bench(one, two)
    size = single.single((0, 8), (1, 1), n, projection_loss=projection_loss)
    status, sizes = tied.tied([((0, 8), (1, 1))], [n], projection_loss=projection_loss)
    assert status == 0 and sizes[0] == pytest.approx(size, rel=1e-13)
    for k in range(2):
        np.testing.assert_allclose(tied.velocity(k), single.velocity(k), atol=1e-13)


def test_unconnected_parts_exchange_no_momentum():
    """Two contacts that share no molecule part: each has the impulse it would have alone (the paper has one)."""
    bonds = np.empty((0, 2), dtype=np.int64)
    still, n = np.zeros((1, 3)), np.array([1.0, 0, 0])
    moving = (bonds, still, np.array([[-2.0, 0, 0]]), np.array([1.0]))
    target = (bonds, still, still, np.array([3.0]))
    alone = Bench(moving, target)
    size = alone.single((0, 0), (1, 0), n)
    assert size == pytest.approx(2 * 2 / (1 + 1 / 3), rel=1e-15)
    # beads at the two ends of a chain so heavy in the middle that they cannot feel each other
    long = molecules.chain(3)
    x = np.array([[0.0, 0, 0], [0, 1.0, 0], [0, 2.0, 0]])
    v = np.array([[-2.0, 0, 0], [0, 0, 0], [-1.0, 0, 0]])
    mass = np.array([1.0, 1e13, 1.0])
    bench = Bench((np.array(long), x, v, mass), target)
    status, sizes = bench.tied([((0, 0), None), ((0, 2), None)], [n, n])
    assert status == 0
    np.testing.assert_allclose(sizes, [4.0, 2.0], rtol=1e-11)


def test_symmetric_double_contact_is_shared():
    """A rod falling flat on a wall: equal impulses at its ends, none left for turning."""
    x = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]])
    v = np.tile([0.3, 0.0, -1.0], (3, 1))
    bench = Bench((np.array(molecules.chain(3)), x, v, np.ones(3)))
    up = np.array([0.0, 0, 1])
    status, sizes = bench.tied([((0, 0), None), ((0, 1), None), ((0, 2), None)], [up, up, up])
    assert status == 0
    np.testing.assert_allclose(sizes, 2.0, rtol=1e-14)
    np.testing.assert_allclose(bench.velocity(), np.tile([0.3, 0.0, 1.0], (3, 1)), atol=1e-15)


def straightness(x):
    """Return the (3 (n - 2), n, 3) rows that keep the inner beads of a rod on the line through its ends."""
    rows = []
    for k in range(1, len(x) - 1):
        share = np.linalg.norm(x[k] - x[0]) / np.linalg.norm(x[-1] - x[0])
        for c in range(3):
            row = np.zeros((len(x), 3))
            row[[k, 0, -1], c] = 1.0, share - 1.0, -share
            rows.append(row)
    return np.reshape(rows, (-1, len(x), 3))


def dense_outcome(bench, contacts, normals, restitution, rods=()):
    """Return the velocities after: nearest to those before, by mass, that part all contacts and keep all bonds.

    No impulse comes into it: min |v+ - v|_M with G v+ = 0 and N v+ >= -e N v, in a basis of what the bonds allow.
    """
    first = np.concatenate([[0], np.cumsum([len(m[1]) for m in bench.molecules])])
    x, v = (np.concatenate([m[k] for m in bench.molecules]) for k in (1, 2))
    root = np.sqrt(np.repeat(np.concatenate([m[3] for m in bench.molecules]), 3))
    bonds = np.concatenate([np.reshape(m[0], (-1, 2)) + first[k] for k, m in enumerate(bench.molecules)]).astype(int)
    rows = np.zeros((len(contacts), len(x), 3))
    for k, (a, b) in enumerate(contacts):
        rows[k, first[a[0]] + a[1]] += normals[k]
        if b is not None:
            rows[k, first[b[0]] + b[1]] -= normals[k]
    rows = rows.reshape(len(contacts), -1)
    held = [twins.gradient(bonds, x)] if len(bonds) else []
    for m in rods:
        row = straightness(x[first[m] : first[m + 1]])
        held.append(np.pad(row, ((0, 0), (first[m], len(x) - first[m + 1]), (0, 0))).reshape(len(row), -1))
    _, sizes, basis = np.linalg.svd(np.vstack([*held, np.zeros((1, len(root)))]) / root)
    basis = basis[np.count_nonzero(sizes > 1e-9) :].T
    change = least_distance(rows / root @ basis, -(1 + restitution) * rows @ v.ravel())
    after = (v.ravel() + basis @ change / root).reshape(-1, 3)
    return [after[first[k] : first[k + 1]] for k in range(len(bench.molecules))]


def rigid_body(rng, beads, flat=0):
    """Return a rigid molecule of 3 n - 6 bonds, its first `flat` beads at one height, with a motion of its own.

    The last bead is above all others, so that no four bonded beads lie in a plane; those far from rigid are left out.
    """
    apex, mass = beads - 1, rng.uniform(0.3, 3.0, beads)
    while True:
        x = rng.uniform(-2, 2, (beads, 3))
        x[:flat, 2] = 0.0
        x[flat:, 2] = rng.uniform(1, 3, beads - flat)
        bonds = [(0, 1), (0, 2), (1, 2), (0, apex), (1, apex), (2, apex)]
        for k in range(3, apex):
            bonds += [(int(a), k) for a in rng.choice(3, 2, replace=False)] + [(k, apex)]
        bonds = np.array(sorted(bonds))
        if np.linalg.cond(twins.tension_matrix(bonds, x, mass)) < 1e3:
            return bonds, x, rng.normal(size=3) + np.cross(rng.normal(size=3), x), mass


def check_outcome(bench, contacts, normals, restitution, rods=(), accuracy=1e-12):
    """Compare velocities after contacts at one instant with `dense_outcome`; return the sizes."""
    energy, _ = totals(bench)
    expected = dense_outcome(bench, contacts, normals, restitution, rods)
    status, sizes = bench.tied(contacts, normals, None, restitution)
    assert status == 0
    assert np.all(sizes >= 0.0)
    scale = max(np.abs(v).max() for v in expected)
    for k in range(len(bench.molecules)):
        np.testing.assert_allclose(bench.velocity(k), expected[k], atol=accuracy * scale)
    if restitution == 1.0:
        assert totals(bench)[0] == pytest.approx(energy, rel=1e-13)
    return sizes


@pytest.mark.parametrize("restitution", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("points", [4, 5, 6, 8])
def test_a_rigid_body_lands_on_many_points(points, restitution):
    """Only three of these contacts are independent; what they do is what the nearest allowed velocities say."""
    for seed in range(8):
        rng = np.random.default_rng([points, seed])
        bonds, x, v, mass = rigid_body(rng, points + 1, points)
        v[:, 2] -= v[:points, 2].max() + rng.uniform(0.01, 1.0)  # all approach
        bench = Bench((bonds, x, v, mass))
        check_outcome(bench, [((0, k), None) for k in range(points)], [np.array([0.0, 0, 1])] * points, restitution)
        assert_bonds(bench)


@pytest.mark.parametrize("restitution", [1.0, 0.3])
@pytest.mark.parametrize("count", [6, 8, 12])
def test_two_rigid_bodies_meet_in_many_points(count, restitution):
    """Two bodies have six relative motions, so that more than six contacts depend on one another."""
    for seed in range(6):
        rng = np.random.default_rng([count, seed])
        one, two = rigid_body(rng, 7), rigid_body(rng, 7)
        bench = Bench(one, two)
        contacts = [((0, int(a)), (1, int(b))) for a, b in rng.integers(0, 7, (count, 2))]
        normals = facing(bench, contacts, [unit(rng.normal(size=3)) for _ in contacts])
        _, momentum = totals(bench)
        check_outcome(bench, contacts, normals, restitution)
        np.testing.assert_allclose(totals(bench)[1], momentum, atol=1e-11)


def straight(n, spacing=1.0):
    """Return a rod of n equal beads along x, about the origin, at rest."""
    x = np.zeros((n, 3))
    x[:, 0] = spacing * (np.arange(n) - 0.5 * (n - 1))
    return molecules.chain(n), x, np.zeros((n, 3)), np.ones(n)


@pytest.mark.parametrize("projection_loss", [0.0, 1e-3])
@pytest.mark.parametrize("n", range(2, 10))
def test_rods_bounce_flat(n, projection_loss):
    """Each bead bears as much as any other, and nothing turns the rod."""
    bonds, x, v, mass = straight(n)
    bench = Bench((bonds, x, v + [0.3, 0.1, -1.0], mass), rods=(0,))
    energy, _ = totals(bench)
    status, sizes = bench.tied(
        [((0, k), None) for k in range(n)], [np.array([0.0, 0, 1])] * n, projection_loss=projection_loss
    )
    assert status == 0
    up = np.sqrt(1.0 + 2.0 * projection_loss / n)
    np.testing.assert_allclose(sizes, 1.0 + up, rtol=1e-11)
    np.testing.assert_allclose(bench.velocity(), np.tile([0.3, 0.1, up], (n, 1)), atol=1e-14)
    assert totals(bench)[0] == pytest.approx(energy + projection_loss, rel=1e-14)


@pytest.mark.parametrize("n", [3, 5, 9])
def test_mirror_images_have_mirrored_impulses(n):
    """Rods with unequal masses that land turning, so that some of their beads leave sooner than they bounce."""
    rng = np.random.default_rng(n)
    bonds, x, v, mass = straight(n)
    mass = rng.uniform(0.5, 2.0, n)
    v = v + [0.3, 0.1, -2.0]
    v[:, 2] += rng.uniform(-0.4, 0.4) * x[:, 0]
    contacts, up = [((0, k), None) for k in range(n)], [np.array([0.0, 0, 1])] * n
    bench, mirrored = Bench((bonds, x, v, mass), rods=(0,)), Bench((bonds, x, v[::-1], mass[::-1]), rods=(0,))
    sizes = check_outcome(bench, contacts, up, 1.0, rods=(0,))
    status, image = mirrored.tied(contacts, up)
    assert status == 0
    np.testing.assert_allclose(image[::-1], sizes, atol=1e-11 * sizes.max())
    np.testing.assert_allclose(mirrored.velocity()[::-1], bench.velocity(), atol=1e-13)


@pytest.mark.parametrize("n", [3, 4, 7, 9])
def test_unequal_rods_meet_side_to_side(n):
    """Two rods in a random direction, of unequal masses and turning: not all beads bounce; a plain programme."""
    for seed in range(6):
        rng = np.random.default_rng([n, seed])
        turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        normal, bodies = turned @ [0, 1.0, 0], []
        for sign in (1.0, -1.0):
            bonds, x, _, _ = straight(n)
            x = x @ turned.T
            v = -sign * normal + np.cross(rng.normal(size=3) * 0.2, x)
            bodies.append((bonds, x + 0.5 * sign * normal, v, rng.uniform(0.3, 3.0, n)))
        rates = (bodies[0][2] - bodies[1][2]) @ normal
        contacts = [((0, k), (1, k)) for k in range(n) if rates[k] < 0.0]
        bench = Bench(*bodies, rods=(0, 1))
        check_outcome(bench, contacts, [normal] * len(contacts), rng.choice([1.0, 0.5]), rods=(0, 1))


def test_one_contact_named_twice_is_one_contact():
    one, two = monomer(1), monomer(2)
    single, twice = Bench(one, two), Bench(one, two)
    n = unit(single.velocity(1)[0] - single.velocity(0)[0])
    size = single.single((0, 0), (1, 0), n)
    status, sizes = twice.tied([((0, 0), (1, 0))] * 2, [n, n])
    assert status == 0
    np.testing.assert_allclose(sizes, size / 2, rtol=1e-12)
    for k in range(2):
        np.testing.assert_allclose(twice.velocity(k), single.velocity(k), atol=1e-14)


def test_what_nothing_parts_is_reported_and_changes_nothing():
    """A growing bead that touches two walls that face each other cannot leave both."""
    bench = Bench(monomer(1))
    bench.put_state(np.zeros((1, 3)), np.array([[0.1, 0.0, 0.0]]))
    along, before = np.array([1.0, 0, 0]), bench.velocity()
    status, _ = bench.tied([((0, 0), None)] * 2, [along, -along], np.array([0.5, 0.5]))
    assert status == 1
    np.testing.assert_array_equal(bench.velocity(), before)


@pytest.mark.parametrize("scale", [1e-14, 1e14])
def test_the_unit_of_mass_does_not_matter(scale):
    def pair(unit_of_mass):
        return [(b, x, v, mass * unit_of_mass) for b, x, v, mass in (random_chain(9, 8), random_chain(12, 9))]

    contacts, normals = CASES["one bead on two"], [unit([1, 2, 3]), unit([-1, 0, 2])]
    plain, scaled = Bench(*pair(1.0)), Bench(*pair(scale))
    normals = facing(plain, contacts, normals)
    (status, sizes), (status_scaled, sizes_scaled) = (bench.tied(contacts, normals) for bench in (plain, scaled))
    assert status == status_scaled == 0
    np.testing.assert_allclose(sizes_scaled / scale, sizes, rtol=1e-9)


def three_spheres():
    """Return one at rest, one that hits it, and one that nears it so slowly that it is left behind."""
    none = np.empty((0, 2), dtype=np.int64)
    places, speeds = [[0, 0, 0], [1, 0, 0], [0.28, 0.96, 0]], [[0, 0, 0], [-1, 0, 0], [-0.0175, -0.06, 0]]
    return [(none, np.array([x], float), np.array([v], float), np.ones(1)) for x, v in zip(places, speeds, strict=True)]


@pytest.mark.parametrize("restitution", [1.0, 0.5, 0.0])
def test_no_contact_pulls(restitution):
    """What is hit by another moves away faster than it was being neared: nothing holds the third one to it."""
    bench = Bench(*three_spheres())
    energy, momentum = totals(bench)
    contacts = [((0, 0), (1, 0)), ((0, 0), (2, 0))]
    status, sizes = bench.tied(contacts, [np.array([-1.0, 0, 0]), np.array([-0.28, -0.96, 0])], None, restitution)
    assert status == 0
    assert sizes.tolist() == [pytest.approx(0.5 * (1 + restitution), rel=1e-15), 0.0]
    np.testing.assert_array_equal(bench.velocity(2), [[-0.0175, -0.06, 0]])
    np.testing.assert_allclose(totals(bench)[1], momentum, atol=1e-15)
    assert totals(bench)[0] - energy == pytest.approx(-0.25 * (1 - restitution**2), abs=1e-15)
