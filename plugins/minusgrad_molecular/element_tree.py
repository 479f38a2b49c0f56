"""Trees of XML elements on their way out of the child of `bounded_read`, in runs of equal elements.

A System of 50,000 atoms has some 200,000 elements of a dozen forms: a run is its depth, tag, names of
attributes, number of elements, and the bytes of all values, one after another behind NUL.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

from minusgrad.plugin import UserError

DEEPEST = 20
"""Elements within one another: a System has 5."""


def elements(file: str, data: bytes) -> dict[str, list]:
    """In the child: the elements of an XML file in its order, as runs.

    Raises `UserError` for a file that is no XML, and for elements too deep within one another.
    """
    runs: list[tuple[int, str, list[str]]] = []
    values: list[list[str]] = []
    counts: list[int] = []
    depth = 0

    def begin(tag: str, attributes: list[str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise UserError(
                f"'{file}': elements nest more than {DEEPEST} deep; write it with openmm.XmlSerializer"
            )
        form = (depth, tag, attributes[::2])
        if not runs or runs[-1] != form:
            runs.append(form)
            values.append([])
            counts.append(0)
        counts[-1] += 1
        values[-1] += attributes[1::2]

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    reader = expat.ParserCreate()
    reader.ordered_attributes = True
    reader.StartElementHandler, reader.EndElementHandler = begin, end
    try:
        reader.Parse(data, True)
    except expat.ExpatError as error:
        raise UserError(f"'{file}': is no XML ({error}); write it with openmm.XmlSerializer") from None
    return {"runs": runs, "counts": counts, "values": ["\0".join(one).encode() for one in values]}


def element_tree(found: Mapping[str, Sequence[Any]]) -> Element:
    """The elements as a tree again."""
    open_ones: list[Element] = []
    for (depth, tag, names), count, values in zip(*found.values(), strict=True):
        texts = iter(values.decode().split("\0"))
        del open_ones[depth - 1 :]
        made = [Element(tag, dict(zip(names, texts, strict=False))) for _ in range(count)]
        if open_ones:
            open_ones[-1].extend(made)
        open_ones.append(made[-1])
    return open_ones[0]
