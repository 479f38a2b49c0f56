"""Targets of a deposition, as a number for each cell of the canvas."""
