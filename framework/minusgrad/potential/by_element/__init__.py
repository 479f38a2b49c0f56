"""Derivatives of energies of elements: by matrices Linear in a field, by places of nodes, as functions."""
