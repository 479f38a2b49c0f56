"""Pairs within a cutoff: the switch, images of nodes, jumps of sharp cutoffs, scaled pairs."""
