"""Events of long chains in parts, as the sector loop has them carried out; all that they change is renewed."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.sector.events.refresh import refresh_rows, set_back
from hpcchain.sector.events.signs import sign_end, sign_redraw, sign_stretches
from hpcchain.sector.events.stretch_event import NOWHERE, TIED, end_stretch, stretch_contact
from hpcchain.sector.events.stretch_redraw import redraw_chain
from hpcchain.sector.speculation.ghost_messages import replay
from hpcchain.sector.speculation.rollback import request_back_beside


@kernel
def carry_on_stretch(s, m, holder, ticks, remainder, base, log_rows):
    """Start the next segments of a part of a long chain that nothing here has hit; return 0 or an error."""
    if holder == L.BY_HISTORY:
        replay(s, m)
        request_back_beside(s, m)
        if s.scalars[L.SCALAR_ROLLED_BACK] != 0 and set_back(s, base):
            return 1
        return refresh_rows(s, m, m, base)
    logged, low, high = s.count[L.N_LOGGED], m, NOWHERE
    drawn = False
    if s.extended is not None:
        drawn = holder == L.BY_THERMOSTAT
        if drawn:
            high = redraw_chain(s, m, ticks, remainder, log_rows)
    if not drawn:
        low, high = end_stretch(s, m, ticks, remainder)
    if high < 0:
        return set_back(s, base)
    s.count[L.N_SEGMENT_ENDS] += 0 if drawn else 1
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        if drawn:
            sign_redraw(s, m, high, logged)
        else:
            sign_end(s, m, low, high)
    return refresh_rows(s, low, high, base)


@kernel
def meet_stretch(s, holder, partner, ticks, remainder, depth, base, log_rows, crowded, is_straggler):
    """Carry out a contact in which a long chain takes part, and renew all that it changes.

    Returns 0, an error, or TIED where others touch at this instant and nothing was done; they are looked for if the
    contact is `crowded`.
    """
    logged = s.count[L.N_LOGGED]
    low, high, first, last = stretch_contact(
        s, log_rows, holder, partner, crowded, is_straggler, ticks, remainder, depth
    )
    if low == TIED:
        return np.int64(TIED)
    if high < 0:
        return np.int64(set_back(s, base))
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        sign_stretches(s, holder, partner, low, high, first, last, logged)
    status = refresh_rows(s, low, high, base)
    if status == 0 and first >= 0:
        status = refresh_rows(s, first, last, base)
    return np.int64(status)
