"""Lists of neighbours within a cutoff: pairs by target and in blocks of targets, triples and directed pairs.

They are listed for a reference of positions and of the box (`elements.list_reference`), and rebuilt in place.
"""
