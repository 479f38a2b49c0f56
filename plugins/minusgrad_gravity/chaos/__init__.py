"""Indicators of chaos: whether nearby orbits part exponentially."""
