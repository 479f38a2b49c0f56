"""Drifts along Kepler orbits about a dominant mass, and symplectic correctors.

Decisions 0341.
"""
