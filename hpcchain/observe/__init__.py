"""What is measured while a run goes on: observables, averages, timers and the run log."""
