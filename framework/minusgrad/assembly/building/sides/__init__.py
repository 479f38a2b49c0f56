"""Sides of a state by their place: rules about nodes and facets, and the bodies that follow from them.

Decisions 0159.
"""
