"""Derivatives of the energies of single elements: by matrices Linear in a field, by the places of nodes."""
