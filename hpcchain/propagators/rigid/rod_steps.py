"""A rigid rod in velocity-Verlet steps (Tapia-McClung and Grønbech-Jensen 2005), in closed form.

The fit to the unconstrained step (`hpcchain.papers.line_verlet`) weighs bead j by 2 m_j / dt^2, so that its
centre is that of mass and its slope across the axis is dt u'. For a step tau from the axis u and its rate u',
w = |u'|,

    C1 = C + tau C',   u1 = cos(a) u + tau u',   u1' = cos(a) u' - w^2 tau u,   sin(a) = w tau:

the axis turns by arcsin(w tau) at an unchanged rate. So energy, momentum and angular momentum are kept to round-off and
a step backwards leads back, whatever tau is: only the phase of the turning is of order 2. A segment is one step, to the
next point of the grid k * step, as for chains under rattle (`step_molecule`), and a state inside it is the step
truncated there. Here that is a curve in closed form, its series the even one of (1 - (w t)^2)^1/2.

There is no step beyond w tau = 1, and the curve has no bounded curvature up to there. From WIDEST on a step is halved
until it is shorter; the node is then off the grid, and the next step goes to the grid again.
"""

import math

from hpcchain.jit.decorators import kernel
from hpcchain.layout import workspace as W
from hpcchain.layout.vectors import ZERO, minus, plus, times
from hpcchain.propagators.rigid.rod import SITE, rod_turning
from hpcchain.propagators.rigid.rotor import bound_turning

WIDEST = 0.8  # sine of the widest turn in a step
MOST_HALVINGS = 1100  # down to the smallest number


@kernel
def rod_step(work, offset, n, tau):
    """Move the rod in the tiles by one step of length tau [time]; by none, not a bit changes."""
    axis, rate, omega2 = rod_turning(work, offset, n)
    back = omega2 * tau
    cosine = math.sqrt(1.0 - back * tau)
    short = -back * tau / (1.0 + cosine)  # cosine - 1, without a difference
    slower = minus(times(short, rate), times(back, axis))
    for b in range(n):
        p = W.bead_offset(offset, b)
        s = work[p + SITE]
        place, velocity = W.vector(work, p + W.COEF), W.vector(work, p + W.COEF + W.ROW)
        W.put_vector(work, p + W.COEF, plus(place, plus(times(tau, velocity), times(s * short, axis))))
        W.put_vector(work, p + W.COEF + W.ROW, plus(velocity, times(s, slower)))


@kernel
def _left_out(order, term, omega2, h):
    """Return a bound of what the series of (1 - (w t)^2)^1/2 leaves out within h behind `term` t^order."""
    sine2 = omega2 * h * h
    return abs(term) * h**order * sine2 * (order - 1) / (order + 2) / (1.0 - sine2)


@kernel
def rod_steps_series(work, offset, n, h, tolerance):
    """Fill the position coefficients with those of the truncated steps within h; return order and length.

    Until what is left out is below `tolerance` of a bead's distance from the centre of mass, or no coefficient is left.
    The length is what was asked [time], halved until the rod turns less than WIDEST.
    """
    axis, _, omega2 = rod_turning(work, offset, n)
    for _ in range(MOST_HALVINGS):
        if not h * h * omega2 >= WIDEST * WIDEST:
            break
        h *= 0.5
    term = 1.0
    order = 0
    for k in range(2, W.KMAX, 2):
        term *= omega2 * (k - 3) / k
        for b in range(n):
            p = W.bead_offset(offset, b)
            row = p + W.COEF + W.ROW * k
            W.put_vector(work, row, times(work[p + SITE] * term, axis))
            if k > 2:
                W.put_vector(work, row - W.ROW, ZERO)
        order = k
        if _left_out(k, term, omega2, h) <= tolerance:
            break
    cosine2 = 1.0 - omega2 * h * h
    acceleration = omega2 / (cosine2 * math.sqrt(cosine2))
    bound_turning(work, offset, n, SITE, acceleration)
    return order, h


@kernel
def rod_steps_error(work, offset, n, order, h):
    """Return how far the series in the tiles may be from the truncated steps within h [length]."""
    _, _, omega2 = rod_turning(work, offset, n)
    term = 1.0
    for k in range(2, order + 1, 2):
        term *= omega2 * (k - 3) / k
    farthest = max(abs(work[offset + SITE]), abs(work[W.bead_offset(offset, n - 1) + SITE]))
    return farthest * _left_out(order, term, omega2, h)
