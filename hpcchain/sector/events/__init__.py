"""The event loop and what an event does: contacts, also several at one instant.

`loop` takes the next event; `contact_event` and `simultaneous` change the molecules that take part.
"""
