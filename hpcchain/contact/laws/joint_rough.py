"""What several contacts at one instant do to the spins of rough beads, and to their slip.

The impulses along the normals come first, those of smooth beads (`joint`). Then the contacts that push get
tangential impulses t, with normal ones that keep what the normals have done (docs/theory/impulses.md). With w the slips
that do not depend on the normals' rates, and S the response of w to t,

    (S + D) t = -2 w,    D_k = (1 + e_k) / (1 - e_k) S_k,

S_k being S of contact k alone. So each contact resists the mean of its slips before and after as it would alone, where
w becomes e_t w (`rough`). The energy changes by -t D t / 2, whatever the coefficients. At e_t = 1 a contact has
no t; where all have e_t = -1 every w is reversed. Where the t would make a contact pull, or would with all slips turned
round, it and those of its molecules have no t.
"""

from hpcchain.contact.coefficients import tied_tangential
from hpcchain.contact.laws.joint import gap_rate, kick_in_tie, offset_in_tie
from hpcchain.contact.laws.rough import spin_response, spin_up, surface_velocity
from hpcchain.contact.walls import sliding_of
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.vectors import dot, tangents
from hpcchain.propagators.interface import push

DEPENDS = 1e-10  # of a diagonal entry: what is left of it where a row depends on those before
# Scratch in `impulse_response`: equations of three directions a contact, and rows of numbers behind them.
WIDTH = 3 * L.MOST_TIES
DIAGONAL_ROW, RATE_ROW, RIGHT_ROW, RESULT_ROW, RESIST_ROW = range(WIDTH, WIDTH + 5)
CROSS_ROW, CONTACT_ROW, DIRECTION_ROW, SMOOTH_ROW = range(WIDTH + 5, WIDTH + 9)
ROWS = WIDTH + 9
SCRATCH = ROWS * WIDTH
"""Floats of scratch."""


@kernel
def _direction(s, k, d):
    """Return the d-th of contact k's three directions: its normal, and two at right angles."""
    n = s.normals[k]
    if d == 0:
        return n[0], n[1], n[2]
    first, second = tangents(n)
    return first if d == 1 else second


@kernel
def _list_equations(s, found):
    """List contact and direction of each equation: normals of all that push, then slips of those that are rough."""
    # Those that are to be smooth have no slips. Returns the numbers of normals and of equations.
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    n = 0
    for k in range(found):
        if s.impulses[k] > 0.0:
            a[CONTACT_ROW, n] = k
            a[DIRECTION_ROW, n] = 0.0
            n += 1
    normals = n
    for p in range(normals):
        k = int(a[CONTACT_ROW, p])
        if a[SMOOTH_ROW, k] != 0.0:
            continue
        if tied_tangential(s, k) != 1.0:
            for d in range(1, 3):
                a[CONTACT_ROW, n] = k
                a[DIRECTION_ROW, n] = d
                n += 1
    return normals, n


@kernel
def _rate(s, k, d):
    """Return how fast the surfaces at contact k move past each other along its d-th direction; 0: how it opens."""
    if d == 0:
        return gap_rate(s, k)
    i, j, n = s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD], s.normals[k]
    p, q = offset_in_tie(s, k, 0), offset_in_tie(s, k, 1)
    rate = 0.0
    for c in range(3):
        u = s.work[p + W.COEF + W.ROW + W.LANES * c] + surface_velocity(s, i, n, c)
        if q >= 0:
            u += surface_velocity(s, j, n, c) - s.work[q + W.COEF + W.ROW + W.LANES * c]
        else:
            u -= sliding_of(s, j, c)
        rate += _direction(s, k, d)[c] * u
    return rate


@kernel
def _kicked(s, g, row):
    """Return the part of equation `row` that is due to the velocities in member g's KICK rows."""
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    k = int(a[CONTACT_ROW, row])
    direction = _direction(s, k, int(a[DIRECTION_ROW, row]))
    total = 0.0
    for side in range(2):
        if s.contacts[k, L.MEMBER + L.SIDE * side] == g:
            rate = dot(direction, W.vector(s.work, offset_in_tie(s, k, side) + W.KICK))
            total += rate if side == 0 else -rate
    return total


@kernel
def _turned(s, k, d, other, f):
    """Return the slip at contact k, along its d-th direction, by the spins that a unit impulse at another gives."""
    total = 0.0
    n, m = s.normals[k], s.normals[other]
    x, y = _direction(s, k, d), _direction(s, other, f)
    for side in range(2):
        i = s.tied[k, L.FIRST_BEAD if side == 0 else L.SECOND_BEAD]
        if i >= 0 and (i == s.tied[other, L.FIRST_BEAD] or i == s.tied[other, L.SECOND_BEAD]):
            total += spin_response(s, i) * (dot(n, m) * dot(x, y) - dot(x, m) * dot(y, n))
    return total


@kernel
def _write_equations(s, n):
    """Write the responses of all rates to unit impulses in all directions, and their diagonal once more."""
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    for column in range(n):
        k = int(a[CONTACT_ROW, column])
        f = int(a[DIRECTION_ROW, column])
        x, y, z = _direction(s, k, f)
        for row in range(n):
            d = int(a[DIRECTION_ROW, row])
            a[row, column] = 0.0
            if d != 0 and f != 0:
                a[row, column] = _turned(s, int(a[CONTACT_ROW, row]), d, k, f)
        for side in range(2):
            g = s.contacts[k, L.MEMBER + L.SIDE * side]
            if g >= 0:
                kick_in_tie(s, k, side, x, y, z)
                for row in range(n):
                    change = _kicked(s, g, row)
                    a[row, column] += change if side == 0 else -change
    for row in range(n):
        a[DIAGONAL_ROW, row] = a[row, row]


@kernel
def _write_resistance(s, normals, n):
    """Write D: three numbers for the two slips of each rough contact."""
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    for row in range(normals, n, 2):
        k = int(a[CONTACT_ROW, row])
        p = 0
        while int(a[CONTACT_ROW, p]) != k:
            p += 1
        et = tied_tangential(s, k)
        share = (1.0 + et) / (1.0 - et)
        normal, one, two = a[p, p], a[p, row], a[p, row + 1]
        a[RESIST_ROW, row] = share * (a[row, row] - one * one / normal)
        a[RESIST_ROW, row + 1] = share * (a[row + 1, row + 1] - two * two / normal)
        a[CROSS_ROW, row] = share * (a[row, row + 1] - one * two / normal)
        a[CROSS_ROW, row + 1] = 0.0


@kernel
def _eliminate(a, first, last, n):
    """Eliminate rows first, first + 1, ... before `last` from those behind them, above the diagonal alone."""
    # Rows that depend on those before are left out: their pivots become 0.
    for k in range(first, last):
        pivot = a[k, k]
        if not pivot > DEPENDS * a[DIAGONAL_ROW, k]:
            a[k, k] = 0.0
            continue
        for r in range(k + 1, n):
            factor = a[k, r] / pivot
            for c in range(r, n):
                a[r, c] -= factor * a[k, c]
            a[RIGHT_ROW, r] -= factor * a[RIGHT_ROW, k]


@kernel
def _solve(a, normals, n):
    """Write the impulses of all equations to RESULT_ROW, those along normals being what keeps the normals' rates."""
    for k in range(n):
        a[RIGHT_ROW, k] = a[RATE_ROW, k]
    _eliminate(a, 0, normals, n)
    for k in range(n):
        a[RIGHT_ROW, k] = 0.0 if k < normals else -2.0 * a[RIGHT_ROW, k]
    for k in range(normals, n):
        a[k, k] += a[RESIST_ROW, k]
        a[DIAGONAL_ROW, k] += a[RESIST_ROW, k]
        if (k - normals) % 2 == 0:
            a[k, k + 1] += a[CROSS_ROW, k]
    _eliminate(a, normals, n, n)
    for k in range(n - 1, -1, -1):
        rest = a[RIGHT_ROW, k]
        for c in range(k + 1, n):
            rest -= a[k, c] * a[RESULT_ROW, c]
        a[RESULT_ROW, k] = rest / a[k, k] if a[k, k] > 0.0 else 0.0
    for k in range(normals, n):  # the diagonal without D, for `_energy_factor`
        a[DIAGONAL_ROW, k] -= a[RESIST_ROW, k]


@kernel
def _energy_factor(a, normals, n):
    """Return the factor of the impulses with which the energy changes by -t D t / 2 in spite of round-off."""
    # Below the diagonal the equations are as they were.
    gained = 0.0
    spent = 0.0
    for k in range(n):
        x = a[RESULT_ROW, k]
        gained += x * a[RATE_ROW, k]
        spent += x * x * a[DIAGONAL_ROW, k]
        for c in range(k):
            spent += 2.0 * x * a[k, c] * a[RESULT_ROW, c]
        if k >= normals:
            spent += x * x * a[RESIST_ROW, k]
            if (k - normals) % 2 == 0:
                spent += 2.0 * x * a[RESULT_ROW, k + 1] * a[CROSS_ROW, k]
    return min(max(-2.0 * gained / spent, 0.0), 2.0) if spent > 0.0 else 0.0


@kernel
def _share(s, k, other):
    """Whether two contacts are of the same molecule, or are the same."""
    for side in range(2):
        g = s.contacts[k, L.MEMBER + L.SIDE * side]
        if g >= 0 and (s.contacts[other, L.MEMBER] == g or s.contacts[other, L.OTHER_MEMBER] == g):
            return True
    return False


@kernel
def _make_smooth(s, found, normals, factor):
    """Make contacts smooth that would pull, or would with all slips turned round; return whether there are any."""
    # So are all contacts of their molecules, and if that does not help all there are.
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    pulls = False
    more = False
    for row in range(normals):
        k = int(a[CONTACT_ROW, row])
        if not abs(factor * a[RESULT_ROW, row]) < s.impulses[k]:
            pulls = True
            for other in range(found):
                if a[SMOOTH_ROW, other] == 0.0 and _share(s, k, other):
                    a[SMOOTH_ROW, other] = 1.0
                    more = True
    if pulls and not more:
        for k in range(found):
            a[SMOOTH_ROW, k] = 1.0
    return pulls


@outlined
def rub_together(s, found):
    """Apply the tangential impulses of contacts at one instant, once they have got those along the normals.

    The segments of all that take part are closed. To `impulses` is added what the impulses have along the normals; the
    tangential ones stand in `impulse_response`, three numbers a contact (`tangential_impulse`).

    Parameters
    ----------
    s : Sector
        As `gather_ties` and `tied_impulses` leave it.
    found : int
        Contacts.
    """
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    for k in range(found):
        a[SMOOTH_ROW, k] = 0.0
    n = 0
    factor = 0.0
    pulls = True
    while pulls:  # each time around makes one contact or more smooth
        normals, n = _list_equations(s, found)
        for row in range(n):
            k = int(a[CONTACT_ROW, row])
            a[RATE_ROW, row] = _rate(s, k, int(a[DIRECTION_ROW, row]))
        _write_equations(s, n)
        _write_resistance(s, normals, n)
        _solve(a, normals, n)
        factor = _energy_factor(a, normals, n)
        pulls = _make_smooth(s, found, normals, factor)
    for k in range(3 * found):
        s.impulse_response[k] = 0.0  # no equations any more, but the tangential impulses
    for row in range(n):
        _apply(s, row, factor)


@kernel
def _apply(s, row, factor):
    """Apply the impulse of one equation to the velocities in the workspace, and to spins."""
    a = s.impulse_response[:SCRATCH].reshape(ROWS, WIDTH)
    k = int(a[CONTACT_ROW, row])
    d = int(a[DIRECTION_ROW, row])
    impulse = factor * a[RESULT_ROW, row]
    x, y, z = _direction(s, k, d)
    for side in range(2):
        g = s.contacts[k, L.MEMBER + L.SIDE * side]
        if g >= 0:
            kick_in_tie(s, k, side, x, y, z)
            offset, tiles = s.member[g, L.MEMBER_OFFSET], s.member[g, L.MEMBER_TILES]
            push(s.work, offset, tiles, impulse if side == 0 else -impulse)
    if d == 0:
        s.impulses[k] += impulse
        return
    s.impulse_response[3 * k] += impulse * x
    s.impulse_response[3 * k + 1] += impulse * y
    s.impulse_response[3 * k + 2] += impulse * z
    spin_up(s, s.tied[k, L.FIRST_BEAD], s.normals[k], impulse * x, impulse * y, impulse * z)
    if s.tied[k, L.SECOND_BEAD] >= 0:
        spin_up(s, s.tied[k, L.SECOND_BEAD], s.normals[k], impulse * x, impulse * y, impulse * z)


@kernel
def tangential_impulse(s, k):
    """Return the tangential impulse of contact k, three numbers."""
    return s.impulse_response[3 * k], s.impulse_response[3 * k + 1], s.impulse_response[3 * k + 2]
