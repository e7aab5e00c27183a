"""Time Warp inside a window: saved segments, rollback, and what owners send of their molecules.

`rollback` undoes events; `ghost_messages` compares with owners; `window` ends a window.
"""
