"""Kernels of many equal small systems, the members of an ensemble: each lane of a vector is one.

Decisions 0389.
"""
