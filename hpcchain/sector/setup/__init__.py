"""From a system to a sector's arrays: classes of molecules, room, order in memory, first events."""
