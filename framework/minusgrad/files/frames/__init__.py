"""Frames and series: their names in files, and rotated copies for other programs."""
