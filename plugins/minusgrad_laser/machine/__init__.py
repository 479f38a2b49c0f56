"""Laser machines: their limits, and the motion that a planner makes of a path within them."""
