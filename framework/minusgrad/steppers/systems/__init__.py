"""Systems: all that moves and acts in one record, and who understands which part of it.

Decisions 0001.
"""
