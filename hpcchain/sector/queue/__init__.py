"""Which event is next: the tournament of molecules' earliest events and the order of events at one time."""
