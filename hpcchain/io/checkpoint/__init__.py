"""Checkpoints: layout, writing, reading, keeping the last ones.

`layout` and `counters` say what is in one; `store` finds the newest that is whole.
"""
