"""Losses of a deposition: how far dose or developed map are from the target, and the cost of the path."""
