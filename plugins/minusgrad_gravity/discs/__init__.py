"""Disc galaxies and their encounters: exponential discs in the potential of all parts, orbits of two."""
