"""Checkpoints: layout, writing, reading, keeping the last ones.

`layout` says what is in one; `store` finds the newest that is whole.
"""
