"""Damaged files for every reader: `python -m tests.fuzz READER --seconds N`.

`targets` has the readers and the sound files that are damaged, `mutations` the ways to damage them, `judge`
the processes that read them within limits. `corpus/READER` has what ever failed; it is read first.
"""
