"""Sweeps: one scene at many points, each a run in a folder of its own, by workers of Dask or as an array job.

Enters: a scene, and the keys that vary. Leaves: run folders, their table, sensitivity indices. May import:
`errors`, `engine`, `scene`, `files`, `plot`, `assembly`, `app`.
"""
