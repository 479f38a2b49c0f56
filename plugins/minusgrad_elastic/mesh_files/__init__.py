"""Meshes from files: Gmsh's by a reader of ours, others in a child process; inspection of both."""
