"""New segments of free motion after an event, and the schedule of what follows from them."""
