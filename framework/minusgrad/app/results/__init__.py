"""Results: run folders as Python objects, read without an engine.

Enters: a run folder. Leaves: arrays, tables, pictures. `run`, `fit` and `resume` return the same objects,
which then have their simulation, too. May import: what `app` may; the engine and Matplotlib only in
functions that need them.
"""
