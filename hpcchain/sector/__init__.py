"""The event-driven engine of one rank: set-up, queue, search, segments, speculation, events."""
