"""Chaos: a tangent that is carried along a run in progress, and its growth."""
