"""Dose of a moving laser spot: spots in closed form or of samples, and the maps that sum their dose."""
