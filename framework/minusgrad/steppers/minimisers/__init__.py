"""Minimisers: searches for the minimum of an objective, with named outcomes."""
