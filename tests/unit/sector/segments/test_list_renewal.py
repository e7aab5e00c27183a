"""Lists that are made anew on the straight line: the bead stays within the shell for as long as the list says."""

import numpy as np
import pytest

from hpcchain.contact.pair import curve
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import series_order, set_order
from hpcchain.sector.search.earliest_event import list_expiry
from hpcchain.sector.search.list_place import AHEAD, turned
from hpcchain.sector.segments.list_renewal import renew_list
from hpcchain.sector.segments.new_segment import make_own_series
from hpcchain.sector.serial import Engine
from tests.support.gases import gas


@kernel
def renewed(s, i, dt):
    """Renew bead i's list a time dt after its segment's start, without a series; return the status and its expiry."""
    set_order(s.segment, s.mol[s.segment[i, L.MOLECULE], L.MOL_FIRST], L.UNMADE)
    return renew_list(s, i, dt), list_expiry(s, i)


@kernel
def made(s, i):
    """Whether bead i's molecule has its series; it has from now on."""
    m = s.segment[i, L.MOLECULE]
    order = series_order(s.segment, s.mol[m, L.MOL_FIRST])
    make_own_series(s, m)
    return order != L.UNMADE


@kernel
def place(s, i, dt):
    """Return where bead i is a time after its segment's start."""
    x, y, z, _, _, _ = curve(s, i, dt)
    return x, y, z


def off_origin(s, i, dt):
    """Return how far bead i is a time after its segment's start from where its list was made, in the lists' frame."""
    origin = (s.origin_fractions[i, : L.AXES] + 2.0**31) / 2.0**32
    u = (np.array(place(s, i, dt)) - s.par[L.ORIGIN : L.ORIGIN + L.AXES]) / s.par[L.PERIOD : L.PERIOD + L.AXES] - origin
    u -= [turned(s.par, k, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM] + dt) for k in range(L.AXES)]
    return np.linalg.norm((u - np.rint(u)) * s.par[L.PERIOD : L.PERIOD + L.AXES])


@pytest.mark.parametrize("seed", range(3))
def test_beads_stay_in_the_shell_until_the_list_expires(seed):
    engine = Engine(gas(["chain10", "ring", "chain5"] * 4, seed=seed, pitch=3.6, cells=(3, 2, 2)))
    engine.advance(0.4)
    s = engine.core.sector
    lengths, shell = s.timing[s.segment[:, L.MOLECULE], L.LENGTH], s.par[L.SHELL]
    straight = 0
    for i in range(seed, s.scalars[L.SCALAR_BEADS], 4):
        for part in (0.02, 0.3, 0.7, 1.0):
            dt = part * lengths[i]
            status, expiry = renewed(s, i, dt)
            assert status == 0
            with_series = made(s, i)
            straight += not with_series
            assert off_origin(s, i, dt) <= (shell - s.par[L.SAFE_SHELL] if with_series else 0.25 * shell)
            assert with_series or s.origin_time[i] < dt or s.bounds[i, L.ACCELERATION] == 0.0
            for t in np.linspace(dt, min(expiry, lengths[i]), 5):
                assert off_origin(s, i, t) <= shell
    assert straight > 0


@kernel
def renewed_as_it_is(s, i, dt):
    """Renew bead i's list a time dt after its segment's start; return the status and its expiry."""
    return renew_list(s, i, dt), list_expiry(s, i)


@pytest.mark.parametrize("seed", range(2))
def test_single_beads_lists_are_made_before_them(seed):
    """From a place on the way to come; beads are in the shell from then on, to its end, and leave it then."""
    engine = Engine(gas(["monomer"] * 27, seed=seed, pitch=2.2))
    engine.advance(0.3)
    s = engine.core.sector
    shell, drift = s.par[L.SHELL], s.par[L.DRIFT : L.DRIFT + L.AXES]
    speeds = np.linalg.norm(s.starts[:, L.VX : L.START_TICKS] - drift, axis=1)
    for i in range(s.scalars[L.SCALAR_BEADS]):
        for dt in (0.0, 0.1, 0.7 / speeds[i]):
            status, expiry = renewed_as_it_is(s, i, dt)
            assert status == 0
            assert off_origin(s, i, dt) == pytest.approx(AHEAD * shell, abs=1e-8)
            assert expiry == pytest.approx(dt + (1.0 + AHEAD) * shell / speeds[i], rel=1e-6)
            for t in np.linspace(dt, expiry, 7):
                assert off_origin(s, i, t) <= shell
            s.origin_time[i] = -1.0  # as in the next segment: the same from the places alone
            if speeds[i] * dt < shell:
                assert renewed_expiry(s, i) == pytest.approx(expiry, rel=1e-6)


@kernel
def renewed_expiry(s, i):
    """Return how long after its segment's start bead i's list expires."""
    return list_expiry(s, i)
