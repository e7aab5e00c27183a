"""Time Warp inside a window: saved segments, rollback, and what owners tell of their molecules."""
