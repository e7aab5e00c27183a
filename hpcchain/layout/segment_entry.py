"""Where in the entry of one segment what is, in messages and owners' histories (`ghost_messages`)."""

from hpcchain.layout.arrays import AXES, CHANGE_COLUMNS, MOST_MEMBERS

# Of a molecule's part of a message, then as many segments as are new.
HEAD_ID, HEAD_KEPT, HEAD_TOTAL, HEAD = range(4)
# Of a segment; LOWER and HIGHER are the ids of the event that began it, of depth DEPTH.
TICKS, REM, DEPTH, LOWER, HIGHER, RUNNING_LENGTH, IMAGE = range(7)
LENGTH, WRONG, MEMBERS, MEMBER_IDS = range(IMAGE + AXES, IMAGE + AXES + 4)
ALONE = MEMBER_IDS + MOST_MEMBERS  # the receiver's: 1 where no molecule that it owns takes part in the event, else 0
BEADS = ALONE + 1
# Of each of its beads, behind position and velocity.
BEAD_MARKS, BEAD_ACCELERATION, BEAD_SPEED, PER_BEAD = range(2 * AXES, 2 * AXES + 4)
# Behind the beads of a part of a long chain: what its event does to the chain's centre, its order, its coefficients.
OF_CENTRE, ORDER, OF_PART = 0, CHANGE_COLUMNS, CHANGE_COLUMNS + 1
