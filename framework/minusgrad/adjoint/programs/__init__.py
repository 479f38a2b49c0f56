"""Derivatives of programs: adjoint and tangents of steps by maps and slopes, and their check."""
