"""Who interacts with whom: single nodes, lists of tuples, all pairs, cells, pairs within a cutoff in a box.

Enters: node numbers. Leaves: `Elements`, which know their number, their nodes, the loop that kernels run over
them, how sums over them are gathered without atomics, and when they have to be rebuilt. May import: `errors`,
`engine`.
"""
