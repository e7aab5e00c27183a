"""A run from start to finish: what is due when, and the engine, observables and files that it calls."""
