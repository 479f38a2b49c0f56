"""States given as arrays: an HDF5 file beside the scene, and the tables that say what its arrays are.

Enters: arrays by name, or the bytes of such a file. Leaves: a `State`, with all checks that name the array.
"""
