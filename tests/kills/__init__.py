"""Kills: every kind of job, killed at random times and at requests to the disk, ends as if it never was.

    python -m tests.kills [KIND ...] [--kills N] [--seed S] [--seconds S]

A library that the loader puts before the C library's (`kill.c`, built by gcc) counts fsync, rename, unlink
and write below the folder of a job, those of HDF5 and of other libraries too, and kills the process before
the n-th. Then the job goes on, and each file but the journal is compared with that of a run that was never
killed; what the journal called saved before the kill must be where it went on, or behind.
"""
