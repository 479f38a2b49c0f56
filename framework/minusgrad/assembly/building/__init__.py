"""Building: the parts of a scene's simulation, made one after another.

    errors with their place -> start (state, fields) -> terms -> system -> recording

Each module makes one of them; `simulation` joins them.

Decisions 0002.
"""
