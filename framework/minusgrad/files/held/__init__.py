"""Folders that may come from a stranger: held by descriptors, without links; and text from their files.

May import: `errors`, `engine`.
"""
