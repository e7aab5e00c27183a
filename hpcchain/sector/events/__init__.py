"""The event loop and what an event does: contacts, also several at one instant.

`loop` takes the next event; `meet` and `carry_on` change the molecules that take part.
"""
