"""What is measured while a run goes on: observables, averages, timers and the run log.

`averages`, `correlation` and `molecules` are small tools that `analysis` has in common with it.
"""
