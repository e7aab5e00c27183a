"""What a run watches over while it goes: memory, disk, lock, wall clock, energy, and whether it moves at all.

Each module is one watch; `run.controller` calls them.
"""
