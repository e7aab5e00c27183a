"""A slow, simple, independent event-driven engine that the program's results are compared with."""
