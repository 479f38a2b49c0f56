"""Surfaces of triangles in space: their files, distances to them, and obstacles that bodies meet."""
