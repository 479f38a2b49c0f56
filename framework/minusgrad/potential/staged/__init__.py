"""Staged energies and maps: hand-written kernels bound to fields, with their reverse and probes."""
