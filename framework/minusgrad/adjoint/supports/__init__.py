"""Derivatives by numbers of holds: the path of supports as a scalar, its pulls and tangents along a run."""
