"""Files: checkpoints, parts, trajectory, observables, event log, export; the only importer of h5py."""
