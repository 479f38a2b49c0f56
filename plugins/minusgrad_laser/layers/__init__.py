"""Layers of a drawing: what is engraved, scored and cut, with which settings, and in which order."""
