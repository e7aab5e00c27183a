"""The event-driven engine of one rank: set-up, queue, search, segments, speculation, events.

`interface` says what every engine does; `serial` runs alone; `ghosted` runs windows with others' molecules.
"""
