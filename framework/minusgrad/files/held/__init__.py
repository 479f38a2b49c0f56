"""Folders that may come from a stranger, held by descriptors, without links; their journals and JSON.

May import: `errors`, `engine`.
"""
