"""Where in the record of one segment what is, in messages and ghosts' scripts (`message`)."""

from hpcchain.sector.layout import MOST_MEMBERS

# Before STEP: ticks, remainder, depth, lower and higher id of the event that began the segment.
STEP, IMAGE, LENGTH, WRONG, MEMBERS = 5, 6, 9, 10, 11
ALONE = MEMBERS + 1 + MOST_MEMBERS  # the receiver's: 1 where no molecule that it owns takes part in the event, else 0
BEADS = ALONE + 1
PER_BEAD = 9
