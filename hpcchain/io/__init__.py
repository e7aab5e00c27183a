"""Files: checkpoints, parts, trajectory, observables, event log, export; the only importer of h5py.

`hdf5` is what all rest on, `checkpoint` and `output` a run's files, `tools` what commands do with them.
"""
