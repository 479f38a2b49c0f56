"""Decks of other programs: nodes, cells, groups and coordinate systems in files of Abaqus and Nastran."""

from .abaqus import read_deck
from .nastran import read_bulk

READERS = {"abaqus": read_deck, "nastran": read_bulk}
"""By meshlane's name of the format: functions of a file, its bytes, and a list to which remarks are added."""
