"""What is measured while a run goes on: observables, timers and the run log.

`condition_numbers` are those of the matrices of a checkpoint's molecules.
"""
