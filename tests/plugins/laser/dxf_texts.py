"""DXF files as text: sections, tables and entities from pairs of group code and value."""

from collections.abc import Sequence
from typing import Any

Pairs = Sequence[tuple[int, Any]]


def text_of(pairs: Pairs) -> str:
    return "".join(f"{code:3}\n{value}\n" for code, value in pairs)


def section(name: str, *parts: Pairs) -> str:
    inner = "".join(map(text_of, parts))
    return text_of([(0, "SECTION"), (2, name)]) + inner + text_of([(0, "ENDSEC")])


def layer(name: str, colour: int = 7, flags: int = 0, linetype: str = "CONTINUOUS") -> Pairs:
    return [(0, "LAYER"), (2, name), (70, flags), (62, colour), (6, linetype)]


def drawing(
    *entities: Pairs,
    unit: int | None = 4,
    layers: Sequence[Pairs] = (),
    blocks: Sequence[Pairs] = (),
    linetypes: Sequence[Pairs] = (),
) -> bytes:
    """The bytes of a DXF of R12, in millimetres."""
    header: list[tuple[int, Any]] = [(9, "$ACADVER"), (1, "AC1009")]
    if unit is not None:
        header += [(9, "$INSUNITS"), (70, unit)]
    tables: list[Pairs] = [[(0, "TABLE"), (2, "LTYPE"), (70, len(linetypes))], *linetypes, [(0, "ENDTAB")]]
    tables += [[(0, "TABLE"), (2, "LAYER"), (70, len(layers))], *layers, [(0, "ENDTAB")]]
    text = section("HEADER", header) + section("TABLES", *tables)
    if blocks:
        text += section("BLOCKS", *blocks)
    return (text + section("ENTITIES", *entities) + text_of([(0, "EOF")])).encode()


def block(name: str, *entities: Pairs, base: tuple[float, float] = (0.0, 0.0)) -> Pairs:
    inner = [pair for one in entities for pair in one]
    begin = [(0, "BLOCK"), (8, "0"), (2, name), (70, 0), (10, base[0]), (20, base[1]), (30, 0.0), (3, name)]
    return [*begin, *inner, (0, "ENDBLK"), (8, "0")]


def line(x0: float, y0: float, x1: float, y1: float, on: str = "0", *more: tuple[int, Any]) -> Pairs:
    return [(0, "LINE"), (8, on), (10, x0), (20, y0), (30, 0.0), (11, x1), (21, y1), (31, 0.0), *more]


def circle(x: float, y: float, radius: float, on: str = "0", *more: tuple[int, Any]) -> Pairs:
    return [(0, "CIRCLE"), (8, on), (10, x), (20, y), (30, 0.0), (40, radius), *more]


def arc(x: float, y: float, radius: float, begin: float, end: float, on: str = "0") -> Pairs:
    return [(0, "ARC"), (8, on), (10, x), (20, y), (30, 0.0), (40, radius), (50, begin), (51, end)]


def polyline(
    vertices: Sequence[tuple[float, float, float]], closed: bool, on: str = "0", *more: tuple[int, Any]
) -> Pairs:
    """x, y, bulge of each vertex."""
    pairs: list[tuple[int, Any]] = [(0, "POLYLINE"), (8, on), (66, 1), (70, int(closed)), *more]
    for x, y, bulge in vertices:
        pairs += [(0, "VERTEX"), (8, on), (10, x), (20, y), (30, 0.0), (42, bulge)]
    return [*pairs, (0, "SEQEND"), (8, on)]


def insert(name: str, x: float, y: float, on: str = "0", *more: tuple[int, Any]) -> Pairs:
    return [(0, "INSERT"), (8, on), (2, name), (10, x), (20, y), (30, 0.0), *more]
