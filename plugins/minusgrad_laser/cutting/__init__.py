"""Cutting to size: paths whose line of threshold dose is the outline of a part."""
