"""Tuples of nodes that change during a run: set by their owner, or found from positions."""
