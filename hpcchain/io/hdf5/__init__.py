"""What all files rest on: parallel HDF5, slabs, checksums, seals, atomic replacement."""
