"""The event loop and what an event does: contacts, also several at one instant."""
