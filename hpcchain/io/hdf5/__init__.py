"""What all files rest on: parallel HDF5, slabs, checksums, seals, atomic replacement.

Each module is one promise: that a file is whole, is what was written, and comes into being at once.
"""
