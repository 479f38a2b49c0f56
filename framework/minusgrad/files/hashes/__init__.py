"""Hashes of files: SHA-256 by blocks, and which files were compared with their names.

Enters: bytes, files. Leaves: digests. May import: `errors`, `files.durable`, `files.held`.
"""
