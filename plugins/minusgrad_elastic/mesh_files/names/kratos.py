"""Parts of a Kratos model (MDPA), and its nodes by their numbers, which meshlane does not look at.

    Begin Nodes                Begin Elements Element3D4N      Begin SubModelPart wall
    7 0.0 0.0 0.0 ...          1 0  7 8 9 10 ...               Begin SubModelPartNodes
                                                               7 ...

meshlane takes the first node for number 1, the second for 2, and so on, leaves hexahedra of order 2 in the
order of Kratos (vertical edges before the upper ones), and reads no parts. The second number of an element is
its property: `property_0`.

Source: Kratos, "Input data" and the figures of Hexahedra3D20 and Hexahedra3D27.
"""

import re
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

HEXAHEDRON20 = (*range(12), 16, 17, 18, 19, 12, 13, 14, 15)
HEXAHEDRON27 = (*HEXAHEDRON20, 24, 22, 21, 23, 20, 25, 26)
ORDERS = {"hexahedron20": HEXAHEDRON20, "hexahedron27": HEXAHEDRON27}
_BLOCK = re.compile(r"(?m)^\s*Begin[ \t]+(Nodes|Elements|Conditions)\b.*$")
_PART = re.compile(r"(?m)^\s*(Begin|End)[ \t]+(SubModelPart\w*)[ \t]*(\S*).*$")


def add_parts(file: str, data: bytes, found: Any) -> None:
    """Put the nodes of the file's numbers into the cells, in VTK's order, and add a set for each part."""
    text = re.sub(r"//.*", "", data.decode("utf-8", "replace"))
    nodes = _first_numbers(text, "Nodes")
    place = {number: k for k, number in enumerate(nodes)}
    if len(place) != len(nodes) or len(nodes) != len(found.points):
        raise UserError(f"'{file}', Nodes: must have different numbers, got {len(nodes)} rows; save it again")
    for k, block in enumerate(found.cells):
        rows = [[place.get(number) for number in row] for row in (np.asarray(block.data) + 1).tolist()]
        if lost := [row for row in rows if None in row]:
            raise UserError(f"'{file}', {block.type}: {len(lost)} cells have nodes that Nodes does not list")
        order = list(ORDERS.get(block.type, range(len(rows[0]))))
        found.cells[k] = type(block)(block.type, np.array(rows)[:, order])
    if "gmsh:physical" in found.cell_data:
        found.cell_data["kratos:property"] = found.cell_data.pop("gmsh:physical")
    _add_sets(file, text, found, place)


def _first_numbers(text: str, block: str) -> list[int]:
    """The first number of each row of all blocks of a kind, in their order."""
    found = []
    for one in _BLOCK.finditer(text):
        if one[1] == block:
            body = text[one.end() : text.find("End", one.end())]
            found += [int(line.split()[0]) for line in body.splitlines() if line.strip()]
    return found


def _add_sets(file: str, text: str, found: Any, place: dict[int, int]) -> None:
    cells = _cells_by_number(text, found)
    parts: list[str] = []
    for one in _PART.finditer(text):
        if one[2] == "SubModelPart":
            parts = [*parts, one[3]] if one[1] == "Begin" else parts[:-1]
        elif one[1] == "Begin" and one[2] != "SubModelPartData" and one[2] != "SubModelPartTables":
            numbers = [int(word) for word in text[one.end() : text.find("End", one.end())].split()]
            known = (
                place if one[2] == "SubModelPartNodes" else cells.get(one[2].removeprefix("SubModelPart"), {})
            )
            if lost := [number for number in numbers if number not in known]:
                raise UserError(f"'{file}', {one[2]} of '{parts[-1]}': there is no number {lost[0]}")
            chosen = np.array([known[number] for number in numbers], int)
            for name in parts if len(chosen) else ():
                _add_set(found, name, one[2] == "SubModelPartNodes", chosen)


def _cells_by_number(text: str, found: Any) -> dict[str, dict[int, int]]:
    """For elements and conditions: the row of each number among all cells in the order of the file."""
    known: dict[str, dict[int, int]] = {"Elements": {}, "Conditions": {}}
    row = 0
    for one in _BLOCK.finditer(text):
        if one[1] != "Nodes":
            for line in text[one.end() : text.find("End", one.end())].splitlines():
                if line.strip():
                    known[one[1]][int(line.split()[0])] = row
                    row += 1
    return known


def _add_set(found: Any, name: str, is_of_nodes: bool, chosen: np.ndarray) -> None:
    if is_of_nodes:
        before = found.point_sets.get(name, np.zeros(0, int))
        found.point_sets[name] = np.union1d(before, chosen)
        return
    starts = np.cumsum([0, *(len(block.data) for block in found.cells)])
    before = found.cell_sets.get(name, [np.zeros(0, int) for _ in found.cells])
    found.cell_sets[name] = [
        np.union1d(own, chosen[(chosen >= start) & (chosen < stop)] - start)
        for own, start, stop in zip(before, starts, starts[1:], strict=False)
    ]
