"""Thin shells by the first and second fundamental forms, with a director on each edge of a triangle."""
