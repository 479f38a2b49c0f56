"""Paths that a search begins with: hatch, spiral, contours, a random curve, or a file."""
