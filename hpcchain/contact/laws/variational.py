"""The contact law of Leyendecker et al. 2012: the steps before a contact have the discrete energy of those after it.

(14), with the multipliers of several contacts in the ratio of the exact impulses: v' = v + kappa (v+ - v), where v and
v+ are the velocities on the bonds before and after the exact impulses. Any kappa conserves momentum, angular momentum
and bonds; kappa is the root near 1 of

    sum_molecules |V(v + kappa (v+ - v))|_M^2 / 2 = energy that the steps before had, less what restitution takes,

V being the discrete velocity of each molecule's next step, over tau to its own grid. Where molecules of several
propagators collide, the law is that of the contact as soon as one of them takes it. V is then v itself for those that
do not. So the energy kept is the discrete one of the former and the kinetic one of the latter.

Newton starts at kappa = 1, the reflected velocity (from kappa = 0 it would find the root that goes through the
contact), on the branch where the energy rises with kappa. Below LEAST the beads would not part. Where there is no such
root, as near grazing with a step after the contact that is longer than the one before (docs/theory/impulses.md, The
variational law), the exact impulse is taken.
"""

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.steps.step_molecule import steps_energy, steps_excess, to_grid

LEAST = 0.5 + 2.0**-10
LONGEST_CHANGE = 0.5
MOST_NEWTON = 40
ROUND_OFF = 32 * 2.0**-52


@kernel
def keep_velocities(s, members):
    """Keep the velocities of the first members of an event before it, in KEPT, in runs with this law."""
    if s.par[L.LAW] != 0.0:
        for g in range(members):
            for t in range(s.member[g, L.MEMBER_TILES]):
                w = s.member[g, L.MEMBER_OFFSET] + t * W.TILE
                for k in range(W.ROW):
                    s.work[w + W.KEPT + k] = s.work[w + W.COEF + W.ROW + k]


@kernel
def takes_law(s, m):
    """Whether molecule m's contacts follow Leyendecker et al. 2012's law."""
    return s.table[s.mol[m, L.MOL_TABLE] + L.LAW_AT] != 0.0


@kernel
def any_takes_law(s, members):
    """Whether one of the molecules that take part in an event does."""
    for g in range(members):
        m = s.member[g, L.MEMBER_ROW]
        if m >= 0 and takes_law(s, m):
            return True
    return False


@kernel
def _straight_energy(work, offset, tiles, kappa):
    """Return energy, and its derivative by kappa, of beads that move on straight with v + kappa (v+ - v)."""
    energy = 0.0
    slope = 0.0
    for t in range(tiles):
        w = offset + t * W.TILE
        for k in range(W.ROW):
            im = work[w + W.INVM + k % W.LANES]
            if im > 0.0:
                before = work[w + W.KEPT + k]
                change = work[w + W.COEF + W.ROW + k] - before
                v = before + kappa * change
                energy += 0.5 * v * v / im
                slope += v * change / im
    return energy, slope


@outlined
def discrete_share(s, members):
    """Turn the velocities after exact impulses into those of the law; return kappa, 0 where it has no root.

    Parameters
    ----------
    s : Sector
        With the `members` of an event, whose velocities before are in KEPT. Of a long chain it may be a stretch: the
        velocities of the others are the same before and after.
    members : int
        From the contact on each steps on to the next point of its own grid.
    """
    work = s.work
    wanted = 0.0
    for g in range(members):
        m, offset, tiles = s.member[g, L.MEMBER_ROW], s.member[g, L.MEMBER_OFFSET], s.member[g, L.MEMBER_TILES]
        if m >= 0:
            energy, slope = _straight_energy(work, offset, tiles, 1.0)
            wanted += energy
            if takes_law(s, m):
                wanted += work[steps_excess(s, offset, m)]
    kappa = 1.0
    last = 1.0
    for iteration in range(MOST_NEWTON):
        excess = -wanted
        slope = 0.0
        for g in range(members):
            m, offset, tiles = s.member[g, L.MEMBER_ROW], s.member[g, L.MEMBER_OFFSET], s.member[g, L.MEMBER_TILES]
            if m >= 0 and takes_law(s, m):
                tau = to_grid(s.par[L.NOW], s.par[L.NOW_REM], s.par[L.TICK], s.table[s.mol[m, L.MOL_TABLE] + L.STEP_AT])
                status, e, d = steps_energy(s, offset, m, tau, kappa)
                if status != 0:
                    return 0.0
                excess += e
                slope += d
            elif m >= 0:
                e, d = _straight_energy(work, offset, tiles, kappa)
                excess += e
                slope += d
        if not slope > 0.0:
            return 0.0
        change = excess / slope
        if abs(excess) <= ROUND_OFF * wanted or (iteration > 3 and abs(change) < 1e-12 and abs(change) >= last):
            break
        last = abs(change)
        kappa -= min(max(change, -LONGEST_CHANGE), LONGEST_CHANGE)
        if kappa < LEAST or iteration == MOST_NEWTON - 1:
            return 0.0
    for g in range(members):
        if s.member[g, L.MEMBER_ROW] >= 0:
            _share(work, s.member[g, L.MEMBER_OFFSET], s.member[g, L.MEMBER_TILES], kappa)
    return kappa


@kernel
def _share(work, offset, tiles, kappa):
    for t in range(tiles):
        w = offset + t * W.TILE
        for k in range(W.ROW):
            before = work[w + W.KEPT + k]
            work[w + W.COEF + W.ROW + k] = before + kappa * (work[w + W.COEF + W.ROW + k] - before)
