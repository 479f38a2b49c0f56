"""Surfaces of triangles in space: thin shells that move, and obstacles that bodies meet."""
