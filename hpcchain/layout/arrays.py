"""The arrays of one rank's sector: what their rows and columns mean (`build` makes them).

Rows of the two-dimensional arrays (beads in local order, a molecule's beads contiguous). `starts`, `bounds`, `segment`,
`mol_own`, `window_molecule` and `timing` have further rows behind those of the present segments: the window's closed
segments (`rollback`), each kept like a molecule that moves no more.

Every column and every counter has a name below; nothing reads one by its number. A name stands for one column of one
thing. `X`, `Y`, `Z` are the components of any place (and of what `par` has per axis), `VX`, `VY`, `VZ` those of a
velocity behind it. `EVENT_TICKS` and `EVENT_REM` are the time of a bead's earliest event.

================  ==========  ======================================================================================
array             columns     meaning
================  ==========  ======================================================================================
starts            8 float64   X ... VZ, START_TICKS, START_REM: position, velocity and time (ticks and remainder)
                              at the start of the bead's segment
bounds            2 float64   ACCELERATION, SPEED: bounds over the segment; next to `starts` in memory
segment           2 int64     START_MARKS: depth of the segment's start event, what that did to the bead, and the order
                              of its polynomial (`layout.segment_bits`); MOLECULE; next to `bounds` in memory
radius            float64     of each bead [length]; a single entry where all beads of the system are equal
event_time        2 float64   EVENT_TICKS, EVENT_REM: time of the bead's earliest event
next_event        2 int64     that event, next to `event_time` in memory: PARTNER_SERIAL; EVENT_BITS: partner, a bead or
                              a code (below), depth, and whether another of its events follows within SIMULTANEOUS, or
                              AWAITED while the bead waits for its search (`layout.event_bits`), with CANDIDATES_AT
                              and, as depth, their number: where in `found` those are that it may meet
bead_id           int64       global id of the bead
origin_time       float32     how long after its segment's start the bead is where its neighbour list was made about
                              (`list_place`) or, by rounding, a little less; below 0 if the list was made before the
                              segment, LISTED where the bead surely stays in its list's shell throughout
swept             4 int32     FRACTION_X, FRACTION_Y, FRACTION_Z, SWEPT_RADIUS: where the bead may be during its segment
                              (`broad_phase`); no rows where all are single, smooth and hard
flight            8 float32   X ... VZ: where a single bead's segment began, its velocity; FLIGHT_HIGH, FLIGHT_LOW:
                              the time in two parts (`flights`); no rows where none is single, all smooth and hard
lists             4 int32     LIST_FIRST, LIST_LENGTH, LIST_CAPACITY: of the bead's list in `neighbour`; OWNERSHIP:
                              OWNED, FULL_GHOST, GHOST, DISTANT: a ghost's, far from all that is owned
                              (`initialise.set_aside`), or VACANT: a row that a ghost may be put in; next to
                              `flight` in memory
origin_fractions  4 int32     FRACTION_X, FRACTION_Y, FRACTION_Z: list origin as fractions of the box, in the lists'
                              frame (`list_place`); CELL; next to `lists` in memory
cell_entries      4 int32     the cells' lines, each of four rows: of its CELL_LINE entries the fractions as in
                              `origin_fractions`, and OCCUPANT: the bead, -1 where there is none (`cells`);
                              `next_line`: the cell's line behind each, -1 if there is none; `where`: each bead's entry
cells             7 int64     CELLS_X, CELLS_Y, CELLS_Z along the axes, CELL_COUNT of them all, GRID_X, GRID_Y, GRID_Z
                              per edge of the box (`allocate.folded`)
slabs             2 float64   scratch, of three layers of cells along each axis: SLAB_SQUARE, SLAB_AHEAD (`cells`)
mol               16 int64    per molecule: columns MOL_… below; the first, `mol_own` (8 int32), are its own, the
                              others, `mol_class` (8 int64), those of its class (`jit.shared_rows`)
window_molecule   16 int32    per molecule, in windows: columns WINDOW_… below; without windows there are no rows
timing            2 float64   per molecule: LENGTH of its segment [time], whose end follows from that
                              (`event_order.segment_end`); SERIAL number of the segment
running_length    float64     per molecule: running mean of its segments' lengths [time]
series_error      float64     per molecule where there are steps: how far the series may be from the motion at most
                              [length]
top_speed         float64     per molecule, in windows: bound of its fastest bead's speed, in the lists' frame; of a
                              closed segment, of that in the window up to its end
away              float64     per molecule, in windows: how far a bead may be at most from its reference position as
                              the window begins, inf where that is not known (`window.skin_violation`) [length]
step_energy       float64     discrete energy of a step (`step_molecule`), per molecule where there are steps
free_lists        int64       first of the free blocks of `neighbour` of so many steps, -1 if there is none
                              (`neighbour_lists`)
holder            int32       per molecule: the bead that holds its earliest event, or AT_END, BY_HISTORY,
                              BY_THERMOSTAT; what that event is follows from it (`event_order.next_key_of`)
key               4 float64   per match of the queue (`tournament`): keys, times relative to BASE; next to it
                              `winner` (4 int32): the molecules that have them, -1: none
scalars           32 int64    whole numbers of the sector that kernels change: SCALAR_… below
free_rows         3 int64     per size of molecule: SPARE_HEAD of the chain of free rows for closed segments,
                              SPARE_ROWS: their number; SPARE_LEAST: how many one event may take
window_event      15 int64    per event of the window: EVENT_SIZE: number of molecules; EVENT_MEMBERS: which;
                              EVENT_LOG, EVENT_LOGS: first row in `log`, rows there
log               21 float64  per contact: LOG_TIME, LOG_KIND (0 pair, 1 wall, 6 thermostat), LOG_LOWER, LOG_HIGHER
                              id, LOG_IMPULSE, LOG_QUANTA: the virial or, of a wall, the impulse; LOG_STATUS;
                              LOG_MOLECULE: row of the lower bead's molecule; LOG_WORK, LOG_HEAT: energy that
                              came in through a wall or a thermostat, in quanta; from LOG_TANGENTIAL on, the
                              tangential part of the impulse on the lower bead, in extended runs; from
                              LOG_TENSOR on, of pairs, what `virial_tensor` has, in quanta
contacts          4 int64     of an event, per contact: MEMBER, MEMBER_BEAD, OTHER_MEMBER, OTHER_BEAD: member of the
                              event and bead of it on either SIDE; an OTHER_MEMBER below 0 is a wall
member            5 int64     per member of an event (`members`): MEMBER_ROW in `mol`, of a long chain that of its first
                              part, -1 where it took no part; FIRST_ROW and LAST_ROW of those that get new segments;
                              MEMBER_OFFSET, MEMBER_TILES: where in the workspace it is, or the stretch of it that
                              takes part
tied              2 int64     the same contact's FIRST_BEAD and SECOND_BEAD (rows, or the wall's code), as
                              `drifted_pairs` has
owner_history     flat        owners' entries of ghosts' segments (`ghost_messages`); `owner_history_at`: where, by
                              ghost and segment
altered           int64       molecules that have begun a segment in this window, or received one
rolled_back       int64       molecules that a rollback has set back; `rolled_back_to` (2 float64): OPENED_TICKS,
                              OPENED_REM of when
drifted_pairs     2 int64     pairs listed in this window whose list origins have been far apart (`neighbour_lists`)
stale_cells       int64       cells that hold list origins that beads had before
prefetch_state    int64       whose memory has been prefetched (`prefetch`)
coefficients      4 float64   per pair of types, and of a type and a wall: row of the first times PAIR_COLUMNS plus that
                              of the second; of a wall -1 - code behind the types: PAIR_NORMAL, PAIR_TANGENTIAL: e_n,
                              e_t; PAIR_LEFT: what may be left of a contact while this pair's takes energy
                              (`contact.coefficients`); PAIR_FRICTION: Coulomb's, in steps alone. Runs that are not
                              `extended` have one row
virial_tensor     float64     (TENSOR_COMPONENTS,): parts of the tensor of that contact's virial, and its flow of energy
                              (`contact.virial`)
extra             flat rows   in runs that are `extended`, for each row of `starts`: what else the bead has had from
                              its segment's start on, columns SPIN … INSIDE below (`model.physics.extended`)
walls            16 float64   sides of the box and walls with shapes: columns WALL_… below
potential         flat        potentials with steps, by types of beads (`model.physics.step_potentials`)
chain_part       3 int32     per molecule, where long chains have segments of stretches: columns PART_… below
centre            9 float64   per such chain: its centre of mass, like a bead's start, and CENTRE_MASS
centre_change     8 float64   per molecule row, closed ones too, in windows of such runs: what the event that began its
                              segment is to do to its chain's centre: CHANGE_SORT (UNCHANGED, PUSHED, PLACED), and
                              from CHANGE on the impulse on the chain, or place and velocity of its centre
arms              16 float64  per row of the log of such runs: what its virial is made of (`chain_centre`), columns
                              ARM_… below
limited           int64       beads whose distance from a bead has limits; `limited_row`: where each bead's begin, and
                              the end; `limits` (3 float64): LEAST, MOST distance [length]; ACTS: whether the
                              two act on one another otherwise (0, 1)
ahead             int64       of the loop, AHEAD_SECTOR: where the small sector is that has outcomes made ahead of time
                              (`ahead.look`), 0: nowhere; AHEAD_TAKEN, AHEAD_MISSED: events taken from there, and not
                              found; AHEAD_LIKELY: slot whose event most likely comes next; AHEAD_SERIES: where
                              slots' blocks of `series` begin. Of the small sector, AHEAD_STOP: whether the second
                              thread is to rest; AHEAD_MADE, AHEAD_TORN: outcomes made, and copies that the loop
                              changed meanwhile; AHEAD_NEXT: slot to be used next; from AHEAD_TAGS on, what each
                              slot's event is found by
slots             48 float64  of the small sector, per slot: columns SLOT_… below: the event, the serial numbers of the
                              segments that it is of, the event's key in the queue, -inf once it has been taken, and
                              what it counts
stepper                       None, or True where molecules are rigid bodies, or moved by a method that solves for
                              its steps
extended                      None, or True where the run has more than smooth hard beads (`model.physics.extended`)
stretched                     None, or True where long chains are in parts (`chain_part`)
================  ==========  ======================================================================================
"""

import numpy as np

from hpcchain.jit.shared_rows import OWN_COLUMNS
from hpcchain.jit.struct import kernel_struct

# Codes in place of a partner's row: below those of walls, which are -1 - axis (lower), -4 - axis (upper) and, of those
# with shapes, -7, -8, ... (`contact.walls`).
NO_EVENT, RELIST, REDRAW, SEGMENT_END = -(2**30) - 3, -(2**30) - 2, -(2**30) - 1, -(2**30)
SIDE_NAMES = ("x-", "y-", "z-", "x+", "y+", "z+")  # of the box: walls of rows 0 ... 5, of codes -1 ... -6
SIDES = len(SIDE_NAMES)

X, Y, Z, VX, VY, VZ, START_TICKS, START_REM = range(8)
AXES = 3
START_COLUMNS = 8
ACCELERATION, SPEED = range(2)
BOUNDS_COLUMNS = 2
# Of `extra`; behind INSIDE, where there are potentials, a table of the beads within a step of them
# (`model.physics.extended`). What few runs have lies in a cache line of its own, behind that of all.
SPIN, DRAWS, NEXT_DRAW, NEXT_DRAW_REM, CONTACTS, BEAD_TYPE = 0, 3, 4, 5, 6, 7
ORIENTATION, ORIENTATION_X, TURNED, TURNED_REM, INSIDE = 8, 9, 12, 13, 16  # scalar part, vector of a quaternion
START_MARKS, MOLECULE = range(2)
SEGMENT_COLUMNS = 2
BEAD_COLUMNS = START_COLUMNS + BOUNDS_COLUMNS + SEGMENT_COLUMNS
EVENT_TICKS, EVENT_REM = range(2)
PARTNER_SERIAL, EVENT_BITS = range(2)
NEXT_EVENT_COLUMNS = 2
AWAITED = 2  # value of `event_bits.tied_with`
REOPENS = -2  # a depth: the event has a closed segment opened again, before all else at its instant
CANDIDATES_AT = PARTNER_SERIAL
FRACTION_X, FRACTION_Y, FRACTION_Z, SWEPT_RADIUS = range(4)
CELL = OCCUPANT = 3
FLIGHT_HIGH, FLIGHT_LOW = 6, 7
LIST_FIRST, LIST_LENGTH, LIST_CAPACITY, OWNERSHIP = range(4)
CELLS_X, CELLS_Y, CELLS_Z, CELL_COUNT, GRID_X, GRID_Y, GRID_Z = range(7)
CELL_LINE = 4  # entries of a line of `cell_entries`, a cache line
SLAB_SQUARE, SLAB_AHEAD = range(2)
SLABS = 3 * AXES
LENGTH, SERIAL = range(2)
TIMING_COLUMNS = 2
SPARE_HEAD, SPARE_ROWS, SPARE_LEAST = range(3)
EVENT_SIZE = 0
(
    LOG_TIME,
    LOG_KIND,
    LOG_LOWER,
    LOG_HIGHER,
    LOG_IMPULSE,
    LOG_QUANTA,
    LOG_STATUS,
    LOG_MOLECULE,
    LOG_TANGENTIAL,
    LOG_TANGENTIAL_Y,
    LOG_TANGENTIAL_Z,
    LOG_WORK,
    LOG_HEAT,
    LOG_TENSOR,
) = range(14)
CANCELLED, VALID, EXACT_FALLBACK = 0.0, 1.0, 2.0  # values of LOG_STATUS; the last: no root, so the exact impulse
WALL_KIND, DRAW_KIND = 1.0, 6.0  # values of LOG_KIND besides 0 of pairs; those between are `contact.laws.step`'s
# What is summed besides the virial's trace: yy, zz, xy, xz, yz of its tensor, and from FLOW on the flow of energy. Its
# quantum is FLOW_SCALE times that of the virial, over that of impulses, times that of energy.
FLOW, FLOW_SCALE = 5, 2.0**6
TENSOR_COMPONENTS = FLOW + AXES
KEPT_COLUMNS = LOG_TENSOR  # of rows of the log that are final
LOG_COLUMNS = LOG_TENSOR + TENSOR_COMPONENTS
MEMBER, MEMBER_BEAD, OTHER_MEMBER, OTHER_BEAD = range(4)
SIDE = OTHER_MEMBER - MEMBER
FIRST_BEAD, SECOND_BEAD = range(2)
MEMBER_ROW, FIRST_ROW, LAST_ROW, MEMBER_OFFSET, MEMBER_TILES, MEMBER_COLUMNS = range(6)
LEAST, MOST, ACTS = range(3)
OPENED_TICKS, OPENED_REM = range(2)
TOP, ROOT = 0, 3  # row and column of `key` and `winner` that have the earliest of all (`tournament`)
MATCH = 4  # columns of both

# Of `mol`. The first are the molecule's own; MOL_CLASS says where in `mol_class` the others are (`jit.shared_rows`).
MOL_FIRST, MOL_CLASS, MOL_SERIES, MOL_ORDER, MOL_OWNERSHIP, MOL_IMAGE = range(6)
(
    MOL_BEADS,
    MOL_SOLVER,
    MOL_BONDS,
    MOL_TILES,
    MOL_TABLE,
    MOL_SELF,
    MOL_WORKSPACE,
    MOL_GRAPH,
) = range(OWN_COLUMNS, OWN_COLUMNS + 8)
MOL_COLUMNS = MOL_GRAPH + 1
# Of `window_molecule`. Where a segment stands in the window: the closed one before it (-1: none), its number in the
# window, the event that began it and that event's ids, whether it is the one its owner's history has, and how often a
# simultaneous contact reopened it.
(
    WINDOW_PREVIOUS,
    WINDOW_NUMBER,
    WINDOW_EVENT,
    WINDOW_LOWER,
    WINDOW_HIGHER,
    WINDOW_MATCH,
    WINDOW_REOPENED,
) = range(7)
WINDOW_OF_SEGMENT = 7  # what is a segment's, and goes with it when it is closed: the columns before this one
# What belongs to the molecule: size class, length of its owner's history, number up to which others know its segments,
# whether they changed since, where a rollback sets it back to, whether it stands in `altered`, and its global number.
(
    WINDOW_CLASS,
    WINDOW_HISTORY,
    WINDOW_SENT,
    WINDOW_CHANGED,
    WINDOW_TARGET,
    WINDOW_ALTERED,
    WINDOW_ID,
) = range(7, 14)
WINDOW_COLUMNS = 16  # a cache line
BALLISTIC, ROTOR, ROD, CHAIN, GRAPH, BODY, COLLOCATION, STEPPER, ROD_STEPPER = range(9)
OWNED, FULL_GHOST, GHOST, DISTANT, VACANT = range(5)
AT_END, BY_HISTORY, BY_THERMOSTAT = -1, -2, -3
UNMADE = -1  # order of a closed or a ghost's segment whose series has not been needed yet
FALLING = 0  # order of a single bead's segment on a parabola
(
    SCALAR_MOLECULES,
    SCALAR_BEADS,
    SCALAR_WINDOWED,
    SCALAR_SERIAL,
    SCALAR_EVENT,
    SCALAR_OUT_OF_ROWS,
    SCALAR_ROLLED_BACK,
    SCALAR_HISTORY,
    SCALAR_DRIFTED_PAIRS,
    SCALAR_STALE,
    SCALAR_REOPENED,
    SCALAR_ALTERED,
    SCALAR_SEED,
    SCALAR_LISTS_END,
    SCALAR_FREE_LINE,
    SCALAR_DEPTH,
    SCALAR_LOWER,
    SCALAR_HIGHER,
    SCALAR_SUMS,
) = range(19)
# SCALAR_SEED: of all random numbers, 64 bits; SCALAR_LISTS_END: where what no list has had begins in `neighbour`;
# SCALAR_FREE_LINE: the first of `cell_entries` that no cell has, -1: none. SCALAR_DEPTH, SCALAR_LOWER and SCALAR_HIGHER
# are, with NOW and NOW_REM of `par`, the key of the event at hand (`queue.event_order`). From SCALAR_SUMS on sums over
# contacts, in quanta: virial, what `virial_tensor` has, impulses on walls of each axis, energy that has come in.
SUM_VIRIAL, SUM_TENSOR = range(2)
SUM_WALL_IMPULSE = SUM_TENSOR + TENSOR_COMPONENTS
SUM_WORK, SUM_HEAT, SUMS = range(SUM_WALL_IMPULSE + AXES, SUM_WALL_IMPULSE + AXES + 3)
SCALAR_VIRIAL, SCALAR_TENSOR = SCALAR_SUMS + SUM_VIRIAL, SCALAR_SUMS + SUM_TENSOR
SCALAR_WALL_IMPULSE = SCALAR_SUMS + SUM_WALL_IMPULSE
SCALAR_WORK, SCALAR_HEAT = SCALAR_SUMS + SUM_WORK, SCALAR_SUMS + SUM_HEAT
SCALARS = 32

# Of `par`: the tick, what there is of each axis, times of two numbers, and the rest. DRIFT: velocity of the lists'
# frame (`list_place`), DRIFT_TURNS: its periods in a tick; SWEPT_SCALE: SWEPT_UNITs in a unit of the fractions in
# `swept`.
TICK = 0
SIZE, INVERSE, ORIGIN, PERIOD, INVERSE_PERIOD = range(1, 5 * AXES, AXES)
GRAVITY, SWEPT_SCALE, DRIFT, DRIFT_TURNS = range(5 * AXES + 1, 9 * AXES, AXES)
NOW, NOW_REM, LATEST, LATEST_REM = range(9 * AXES + 1, 9 * AXES + 5)
(
    GROWTH,
    GROWTH_RATE,
    SHELL,
    CAP,
    SIMULTANEOUS,
    SMALL_BOX,
    WIDEST,
    WALLS,
    UNEQUAL,
    QUANTUM,
    SWEPT_UNIT,
    SWEPT_MARGIN,
    LAW,
    FASTEST,
    ASTRAY,
    CONTACT_RATE,
    IMPULSE_QUANTUM,
    FALL,
    ENERGY_QUANTUM,
    REDRAW_RATE,
    REDRAW_TEMPERATURE,
    PAIR_COLUMNS,
    BEYOND,
    STEP_POTENTIALS,
    INSTANT_RULE,
    HORIZON,
    TURNS,
    SAFE_SHELL,
    DRIFTS,
    BASE,
    PARAMETERS,
) = range(LATEST_REM + 1, LATEST_REM + 32)
# FALL: size of GRAVITY; BEYOND: how much farther than contact beads act on one another, STEP_POTENTIALS: whether there
# are any that do so; INSTANT_RULE: which contacts of one instant are resolved together, in runs that are extended, one
# of the next; HORIZON: how long after its segment's start a bead most likely meets a distance
# (`candidates_within`); TURNS: whether beads that spin have orientations; SAFE_SHELL: half width of the shell without
# what list origins are rounded by (`neighbour_lists`) [length]; DRIFTS: whether the lists' frame moves; BASE: ticks
# that the queue's keys are relative to.
JOINT, GENERALISED, MOREAU = range(3)
SIMULTANEOUS_GAP = 1e-10  # of beads that are in contact, in contact distances
LISTED = -2.0  # in `origin_time`
# Of `walls`: whether there is one (a side, a sphere, a cylinder) and its axis; place of a side, or centre and radius of
# the surface, at time 0; velocity towards the inside; temperature, 0: it reflects; velocity along itself; of one that
# oscillates amplitudes along itself and towards the inside, and the period, 0 of others.
WALL_SORT, WALL_AXIS, WALL_CENTRE, WALL_PLACE, WALL_VELOCITY, WALL_TEMPERATURE = 0, 1, 2, 5, 6, 7
WALL_SLIDING, WALL_SHAKING, WALL_AMPLITUDE, WALL_PERIOD = 8, 11, 14, 15
WALL_COLUMNS = 16
NO_WALL, PLANE, SPHERE, CYLINDER = range(4)
# In front of a kind's static table: longest segment, tolerance, whether its contacts follow Leyendecker et al. 2012's
# law and their times are found by bisection alone, whether gravity is in a motion from the first (`falling.falls`).
STEP_AT, TOLERANCE_AT, LAW_AT, BISECTS_AT, FALLS_AT = -8, -7, -6, -5, -4
LIMITS = 8
# Before them, in runs that are extended, TRAITS numbers of bead b of the kind's molecules: its type, and 1 / moment of
# inertia, from index -LIMITS - TRAITS (b + 1) on.
TRAIT_TYPE, TRAIT_INVERSE_MOMENT = range(2)
TRAITS = 2
PAIR_NORMAL, PAIR_TANGENTIAL, PAIR_LEFT, PAIR_FRICTION, PAIR_COEFFICIENTS = range(5)

# Contacts and molecules that are resolved together at one instant; sets of contacts are bits of an int64.
MOST_TIES, MOST_MEMBERS = 60, 12
COPY_ROWS, RIGHT_ROW = MOST_TIES, 2 * MOST_TIES  # of `matrix` (`pushes.solve_pushes`): all equations, right sides
RESTITUTION_ROW = RIGHT_ROW + 4  # behind the right sides and three more: e_n of each contact
BEFORE_ROW = RESTITUTION_ROW + 1  # `separation.common_speed` of each contact before the impulses
PUSH_ROWS = BEFORE_ROW + 1
CONTACT_NORMAL, SPARE_NORMAL = range(2)  # rows of `normals` where one contact is resolved: its normal; scratch
ROUGHNESS = 1e-6  # of places in single precision, ten times their rounding or more (`candidates_straight`)
UNBOUNDED = 2**31 - 1  # swept radius of a bead that may be anywhere (`broad_phase`)
EVENT_MEMBERS, EVENT_LOG, EVENT_LOGS = 1, 1 + MOST_MEMBERS, 2 + MOST_MEMBERS
EVENT_COLUMNS = 3 + MOST_MEMBERS

# Of `chain_part`: of a row that is a part of a long chain, whose rows follow one another, the row of its chain in
# `centre` (-1: it is none), and how many parts are before and behind it. `centre`: mass of the chain, and its
# START_COLUMNS.
PART_CHAIN, PART_PLACE, PART_REST = range(3)
CENTRE_MASS = START_COLUMNS
CHANGE_SORT, CHANGE, CHANGE_COLUMNS = 0, 1, 8
UNCHANGED, PUSHED, PLACED = 0.0, 1.0, 2.0
# Of `arms`: the row in `centre` of either side's chain, or -1; of a chain the place of its bead, else the way from the
# bead to its molecule's centre; the way from bead to bead across their contact; the impulse on the first, and what
# energy it gains.
ARM_CHAIN, ARM_PLACE, ARM_WAY, ARM_IMPULSE, ARM_ENERGY = 0, 2, 2 + 2 * AXES, 2 + 3 * AXES, 2 + 4 * AXES
ARM_COLUMNS = 16

# Of a molecule's part of a message (`ghost_messages`), then as many entries of segments as are new.
HEAD_ID, HEAD_KEPT, HEAD_TOTAL, HEAD_FLOATS, HEAD = range(5)
# Of the entry of one segment, in messages and owners' histories; ENTRY_LOWER and ENTRY_HIGHER are the ids of the event
# that began it, of depth ENTRY_DEPTH.
ENTRY_TICKS, ENTRY_REM, ENTRY_DEPTH, ENTRY_LOWER, ENTRY_HIGHER, ENTRY_RUNNING_LENGTH, ENTRY_IMAGE = range(7)
ENTRY_LENGTH, ENTRY_WRONG, ENTRY_MEMBERS, ENTRY_MEMBER_IDS = range(ENTRY_IMAGE + AXES, ENTRY_IMAGE + AXES + 4)
ENTRY_ALONE = ENTRY_MEMBER_IDS + MOST_MEMBERS  # the receiver's: 1 where none that it owns takes part in the event
ENTRY_BEADS = ENTRY_ALONE + 1
# Of each of its beads, behind position and velocity.
ENTRY_MARKS, ENTRY_ACCELERATION, ENTRY_SPEED, ENTRY_PER_BEAD = range(2 * AXES, 2 * AXES + 4)
# Behind the beads of a part of a long chain: what its event does to the chain's centre, its order, its coefficients.
ENTRY_ORDER, ENTRY_OF_CHAIN_PART = CHANGE_COLUMNS, CHANGE_COLUMNS + 1

# Of `ahead` and `slots`. What the loop writes, and what the second thread does, are on lines of the cache of their own.
SLOTS, NO_TAG = 32, -1
AHEAD_SECTOR, AHEAD_TAKEN, AHEAD_MISSED, AHEAD_LIKELY, AHEAD_SERIES, AHEAD_STOP = range(6)
AHEAD_MADE, AHEAD_TORN, AHEAD_NEXT, AHEAD_TAGS = 16, 17, 18, 32
AHEAD_WORDS = AHEAD_TAGS + SLOTS
(
    SLOT_BEAD,
    SLOT_PARTNER,
    SLOT_TICKS,
    SLOT_REM,
    SLOT_DEPTH,
    SLOT_SERIAL,
    SLOT_OTHER_SERIAL,
    SLOT_LOGGED,
    SLOT_KEY,
    SLOT_SUMS,
) = range(10)
SLOT_COUNTS = SLOT_SUMS + SUMS
COUNTS = 23  # of `count`
SLOT_COLUMNS = SLOT_COUNTS + COUNTS + 2  # whole cache lines

FIELDS = {
    "par": "f8",
    "starts": f"f8 {START_COLUMNS}/{BEAD_COLUMNS}",
    "bounds": f"f8 {BOUNDS_COLUMNS}/{BEAD_COLUMNS}",
    "segment": f"i8 {SEGMENT_COLUMNS}/{BEAD_COLUMNS}",
    "radius": "f8",
    "event_time": "f8 2/4",
    "next_event": f"i8 {NEXT_EVENT_COLUMNS}/4",
    "bead_id": "i8",
    "origin_time": "f4",
    "swept": "i4 4",
    "flight": "f4 8/16",
    "lists": "i4 4/16",
    "neighbour": "i4",
    "free_lists": "i8",
    "cells": "i8",
    "origin_fractions": "i4 4/16",
    "cell_entries": "i4 4",
    "next_line": "i4",
    "slabs": "f8 2",
    "where": "i4",
    "found": "i8",
    "mol_own": f"i4 {OWN_COLUMNS}",
    "mol_class": f"i8 {MOL_COLUMNS - OWN_COLUMNS}",
    "window_molecule": f"i4 {WINDOW_COLUMNS}",
    "timing": f"f8 {TIMING_COLUMNS}",
    "top_speed": "f8",
    "away": "f8",
    "running_length": "f8",
    "series_error": "f8",
    "step_energy": "f8",
    "holder": "i4",
    "key": f"f8 {MATCH}/8",
    "winner": f"i4 {MATCH}/16",
    "series": "f8",
    "table": "f8",
    "graph": "i8",
    "bonded": "i8",
    "bond_row": "i8",
    "work": "f8",
    "impulse_response": "f8",
    "count": "i8",
    "log": f"f8 {LOG_COLUMNS}",
    "member": f"i8 {MEMBER_COLUMNS}",
    "contacts": "i8 4",
    "tied": "i8 2",
    "normals": "f8 3",
    "growths": "f8",
    "matrix": f"f8 {MOST_TIES}",
    "impulses": "f8",
    "scalars": "i8",
    "free_rows": "i8 3",
    "window_event": f"i8 {EVENT_COLUMNS}",
    "owner_history": "f8",
    "owner_history_at": "i8 :",
    "altered": "i8",
    "rolled_back": "i8",
    "rolled_back_to": "f8 2",
    "drifted_pairs": "i8 2",
    "stale_cells": "i8",
    "prefetch_state": "i8",
    "extra": "f8 :",
    "coefficients": "f8 4",
    "virial_tensor": "f8",
    "walls": f"f8 {WALL_COLUMNS}",
    "potential": "f8",
    "limited": "i8",
    "limited_row": "i8",
    "limits": "f8 3",
    "chain_part": "i4 3",
    "centre": f"f8 {CENTRE_MASS + 1}",
    "centre_change": f"f8 {CHANGE_COLUMNS}",
    "arms": f"f8 {ARM_COLUMNS}",
    "ahead": "i8",
    "slots": f"f8 {SLOT_COLUMNS}",
}
JOINED = {"mol": ("mol_own", "mol_class")}
Sector = kernel_struct("Sector", FIELDS, ("stepper", "extended", "stretched"), JOINED)

(
    N_CONTACTS,
    N_WALL_CONTACTS,
    N_SEGMENT_ENDS,
    N_RESCANS,
    N_RELISTS,
    N_ROOTS,
    N_SEARCHES,
    N_GRAZES,
    N_TIES,
    N_ORDERS,
    N_SEGMENTS,
    N_FAILED_BEAD,
    N_LOGGED,
    N_BEAD_SEGMENTS,
    N_RESTORED,
    N_NO_ROOTS,
    N_HALVED,
    N_STEPS,
    N_ITERATIONS,
    N_MOST_ITERATIONS,
    N_NODES,
    N_NODE_ITERATIONS,
    N_MOST_NODE_ITERATIONS,
) = range(COUNTS)
# Names in reports: those of the numbers above, in their order, so that neither can be without the other.
COUNTERS = tuple(name[2:].lower() for name in [*globals()] if name.startswith("N_"))
SUMMED = np.array([not name.startswith("most_") for name in COUNTERS])  # the others are greatest values
OF_SUM, OF_MOST = N_ITERATIONS - N_STEPS, N_MOST_ITERATIONS - N_STEPS  # behind a number of solves: their iterations


MOST_DEPTH = 100_000
"""Events chained at one instant, beyond which a run ends (`sector.events.loop`)."""
WHOLE_CONTACT = 1 << 24
"""What is left of a contact when it begins (`contact.coefficients`)."""
LONGEST_TICKS = 2.0**20
"""Ticks that a segment lasts at most where its propagator sets no limit (`sector.segments`)."""
