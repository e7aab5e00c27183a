"""The papers' experiments: each returns a table's or figure's data, theirs next to ours.

`experiments` finds them, `pages` prints them; what several share stands here.
"""
