"""Loops over lists of neighbours in lanes: energies of pairs within a cutoff, and maps over them."""
