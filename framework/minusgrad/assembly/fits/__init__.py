"""Fits: the parameters of a scene that reduce its losses, their search and their standard errors."""
