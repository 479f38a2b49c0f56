"""Who interacts with whom: single nodes, lists of node tuples, all pairs.

Enters: node numbers. Leaves: `Elements`, which know their number, their nodes, and how sums over them are
gathered without atomics. May import: `errors`.
"""
