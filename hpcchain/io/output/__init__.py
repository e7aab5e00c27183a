"""A run's results: parts while it runs, then trajectory, observables and events."""
