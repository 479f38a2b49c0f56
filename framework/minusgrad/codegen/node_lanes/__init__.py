"""Loops over nodes in SIMD lanes: single nodes, sums of a set into one node, cells and their neighbours."""
