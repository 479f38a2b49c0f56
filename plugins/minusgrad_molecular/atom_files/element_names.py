"""Elements of atoms whose file has their names alone, such as `CA`, `HW1` or `Na+`.

A name gives its element where there is one reading: its first letter, if its first two letters are no
element; its first two, if its first is none; what the residue is called, for ions that are one by themselves;
in an amino acid always the first letter. All other names (CD1 of a ligand may be carbon or cadmium) are asked
for. Names of amino acids: wwPDB Chemical Component Dictionary, with those of protonation states.
"""

import re
from collections.abc import Container

AMINO_ACIDS = frozenset([
    "ALA", "ARG", "ASN", "ASP", "ASH", "CYS", "CYX", "CYM", "GLN", "GLU", "GLH", "GLY", "HIS", "HID",
    "HIE", "HIP", "HSD", "HSE", "HSP", "ILE", "LEU", "LYS", "LYN", "MET", "PHE", "PRO", "SER", "THR",
    "TRP", "TYR", "VAL", "ACE", "NME", "NMA",
])  # fmt: skip
"""Residues of proteins, in which every name begins with the letter of its element: H, C, N, O or S."""


def letters_of(name: str) -> str:
    """The letters with which a name begins, after digits: `HW` of `1HW2`."""
    found = re.match(r"[\d*'\"]*([A-Za-z]*)", name)
    return found[1] if found else ""


def element_of_name(name: str, residue: str, elements: Container[str]) -> str | None:
    """The element of an atom's name in a residue; None where it has none, or several readings."""
    word = letters_of(name)
    one, two = word[:1].upper(), word[:2].capitalize()
    if residue.strip().upper() in AMINO_ACIDS:
        return one if one and one in "HCNOS" else None
    if len(word) == 2 and word[1].islower() and two in elements:  # as elements are written
        return two
    if letters_of(residue).upper() == word.upper():  # an ion
        return word.capitalize() if word.capitalize() in elements else None
    found = [element for element in dict.fromkeys((two, one)) if element in elements]
    return found[0] if len(found) == 1 else None
