"""What a run starts from: an input, a file, arrays, copies of a small box, or growth.

`starting` chooses; `preconditions` says what must be so before any of it.
"""
