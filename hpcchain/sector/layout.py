"""The arrays of one rank's sector: what their rows and columns mean (`build` makes them).

Rows of the two-dimensional arrays (beads in local order, a molecule's beads contiguous). `line`, `span`, `seg`, `mol`
and `pace` have further rows behind those of the present segments: the window's closed segments (`history`), each kept
like a molecule that moves no more.

========  ==========  ======================================================================================
array     columns     meaning
========  ==========  ======================================================================================
line      8 float64   start position, start velocity, start ticks, start remainder of the bead's segment
span      4 float64   bound of acceleration, bound of speed, radius, segment length; beside `line` in memory
seg       4 int64     segment serial number, depth of its start event and what that did to the bead, molecule,
                      place of the bead's coefficients in `series` and order of the polynomial (`contact.segment`);
                      beside `span` in memory
when      2 float64   ticks and remainder of the bead's earliest event
what      5 int64     that event's partner bead or code (below), partner's serial, depth, global id of the bead,
                      whether another event of the bead follows within TIE_TIME (0, 1)
centre    4 float64   position about which the bead's neighbour list was made, and how long after the segment's
                      start that was; -1 if before it
swept     4 int32     where the bead may be during its segment: see `swept`
flight    8 float32   where a single bead's segment began, its velocity, the time in two parts: see `swept`
beside    int8        of a ghost's bead: whether one of an owned molecule may be on its list (0, 1)
row       4 int32     first entry, length and capacity of the bead's list in `neighbour`; OWNED, GHOST, FULL_GHOST,
                      VACANT: a row that a ghost may be put in, or IDLE: see `idle`
place     4 int32     centre as fractions of the box (`lists`), cell; `room`, `fill`, `where`: the cells' entries
mol       32 int64    per molecule: columns MOL_… below
pace      8 float64   per molecule: running segment length; ticks and remainder of the segment's end; its length;
                      how far the series may be from the motion at most [length]; its fastest bead's bound of speed;
                      how far beads may have gone in this window's segments before it [length]; discrete energy of a
                      step (`steppers`)
first     2 float64   per molecule: ticks and remainder of its earliest event
tag       4 int64     per molecule: depth, lower id, higher id of that event; the bead that holds it (AT_END,
                      BY_SCRIPT)
book      16 int64    counts and heads of lists: BOOK_… below
spare     2 int64     per size of molecule: head of the chain of free rows for closed segments, their number
event     15 int64    per event of the window: number of molecules, which, first row in `log`, rows there
log       7 float64   per contact: time, kind (0 pair, 1 wall), lower id, higher id, impulse, in quanta the virial or,
                      of a wall, the impulse, stands
script    flat        owners' records of ghosts' segments (`message`); `script_at`: where, by ghost and segment
inside    8 float64   per molecule, columns IN_… below: whether it stays in its room (`window.strayed`)
touched   int64       molecules that a withdrawal has set back; `opened` (2 float64): ticks and remainder of when
apart     2 int64     pairs listed in this window whose centres have been far apart (`lists`); `stale`: cells that hold
                      centres that beads had before
ahead     int64       whose memory was asked for (`prefetch`)
stepper               None, or True where molecules are moved by a method that solves for its steps
========  ==========  ======================================================================================
"""

import numpy as np

from hpcchain.sector.handle import handed

NO_EVENT, RELIST, SEGMENT_END = -9, -8, -7

# The first eight, a cache line, are all that single beads need.
(MOL_FIRST, MOL_BEADS, MOL_SOLVER, MOL_BONDS, MOL_SERIES, MOL_TILES, MOL_TABLE, MOL_GHOST, MOL_ORDER, MOL_SELF,
 MOL_IMAGE, MOL_ROOM) = (*range(11), 13)
# Where a segment stands in the window: the closed one before it (-1: none), its number in the window, the event that
# began it and that event's ids, whether it is the one its ghost's script has, and how often a tie reopened it.
MOL_PREVIOUS, MOL_NUMBER, MOL_EVENT, MOL_LOWER, MOL_HIGHER, MOL_MATCH, MOL_REOPENED = range(14, 21)
MOL_GRAPH = 21
# What belongs to the molecule and not to its segment: size class, global number, length of its script, number up to
# which others know its segments, whether they changed since, where a withdrawal sets it back to, and how many of its
# beads are idle.
MOL_CLASS, MOL_ID, MOL_SCRIPT, MOL_SENT, MOL_CHANGED, MOL_TARGET, MOL_IDLE = range(22, 29)
MOL_COLUMNS = 32
MOL_OF_SEGMENT = 22  # what is a segment's, and goes with it when it is closed: the columns before this one
BALLISTIC, ROTOR, ROD, CHAIN, GRAPH, COLLOCATION, STEPPER, ROD_STEPPER = range(8)
OWNED, GHOST, FULL_GHOST, VACANT, IDLE = range(5)
AT_END, BY_SCRIPT = -1, -2
UNMADE = -1  # order of a closed or a ghost's segment whose series nobody has needed yet
(BOOK_MOLECULES, BOOK_BEADS, BOOK_WINDOWED, BOOK_SERIAL, BOOK_EVENT, BOOK_LOW, BOOK_TOUCHED, BOOK_SCRIPT, BOOK_APART,
 BOOK_STALE, BOOK_VIRIAL, BOOK_WITHDRAWN, BOOK_BACKS, BOOK_PUSH) = range(14)  # BOOK_PUSH: of walls, one for each axis
BOOKS = 16
LOG_COLUMNS = 7

(TICK, SIZE, INVERSE, LOWER_WALL, UPPER_WALL, GROWTH, GROWTH_RATE, SHELL, CAP, RESTITUTION,
 TIE_TIME, TIE_GAP, FIRST_STEP, ORIGIN, PERIOD, INVERSE_PERIOD, SMALL_BOX, WIDEST, WALLS, UNEQUAL,
 NOW, QUANTUM, LATEST, REACH_UNIT, REACH_MARGIN, LAW, FASTEST, ASTRAY, CONTACT_RATE,
 IMPULSE_QUANTUM) = (
    0, 1, 4, 7, 10, 13, 14, 15, 16, 18, 20, 21, 22, 23, 26, 29, 32, 33, 34, 36, 37, 39, 40, 42, 43, 44, 45, 46, 47, 48)
PARAMETERS = 49
# A molecule's segment surely keeps it in its room until a time, -inf where that is not known; how far its beads may be
# from their homes at most when the segment began that was open at the window's start, or at IN_SINCE if that is later,
# and when its present one did [length].
IN_UNTIL, IN_SINCE, IN_FAR, IN_NOW = 0, 2, 4, 5
# In front of a kind's static table: longest segment, tolerance, whether its contacts follow paper 000's law and their
# times are found by bisection alone.
STEP_AT, TOLERANCE_AT, LAW_AT, BISECTS_AT = -8, -7, -6, -5
LIMITS = 8

# Contacts and molecules that are resolved together at one instant; sets of contacts are bits of an int64.
MOST_TIES, MOST_MEMBERS = 60, 12
RIGHT_ROW = 2 * MOST_TIES  # of `matrix` (`impulse.solve_pushes`); behind it are three more
PUSH_ROWS = RIGHT_ROW + 4
ROUGHNESS = 1e-6  # of places in single precision, at least ten times what their rounding amounts to (`on_course`)
UNBOUNDED = 2**31 - 1  # reach of a bead that may be anywhere (`swept`)
EVENT_MEMBERS, EVENT_LOG, EVENT_LOGS = 1, 1 + MOST_MEMBERS, 2 + MOST_MEMBERS
EVENT_COLUMNS = 3 + MOST_MEMBERS

FIELDS = {
    "par": "f8", "line": "f8 8/16", "span": "f8 4/16", "seg": "i8 4/16", "when": "f8 2", "what": "i8 5",
    "centre": "f8 4", "swept": "i4 4", "flight": "f4 8", "row": "i4 4", "neighbour": "i4", "cells": "i8",
    "place": "i4 4", "room": "i4 4", "fill": "i4", "where": "i4", "mark": "i1", "beside": "i1", "found": "i8",
    "mol": f"i8 {MOL_COLUMNS}",
    "pace": "f8 8", "first": "f8 2", "tag": "i8 4", "key": "f8", "winner": "i8", "series": "f8", "table": "f8",
    "graph": "i8", "bonded": "i8", "bond_row": "i8", "work": "f8", "kicks": "f8", "count": "i8",
    "log": f"f8 {LOG_COLUMNS}", "group": "i8", "offset": "i8", "contacts": "i8 4", "tied": "i8 2", "normals": "f8 3",
    "growths": "f8", "matrix": f"f8 {MOST_TIES}", "sizes": "f8", "book": "i8", "spare": "i8 2",
    "event": f"i8 {EVENT_COLUMNS}", "script": "f8", "script_at": "i8 :", "inside": "f8 8", "touched": "i8",
    "opened": "f8 2", "apart": "i8 2", "stale": "i8", "ahead": "i8",
}  # fmt: skip
Sector = handed("Sector", FIELDS, ("stepper",))

COUNTERS = ("contacts", "wall_contacts", "segment_ends", "rescans", "relists", "roots", "searches", "grazes", "ties",
            "orders", "segments", "failed_bead", "logged", "bead_segments", "withdrawn", "no_roots",
            "halved", "steps", "iterations", "most_iterations", "nodes", "node_iterations", "most_node_iterations")
C = {name: i for i, name in enumerate(COUNTERS)}
SUMMED = np.array([not name.startswith("most_") for name in COUNTERS])  # the others are greatest values
