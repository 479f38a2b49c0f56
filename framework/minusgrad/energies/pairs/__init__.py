"""Pairs within a cutoff: which image of a node an element reads, jumps of sharp cutoffs, scaled pairs."""
