"""Meshes from Gmsh files (MSH 4.1, text or bytes), in a plane or in space; groups become bodies.

    mesh, remarks = inspect(read("bar.msh", data))

The cells are the elements of the highest dimension in the file, of one kind or several. A physical group of
any dimension is a body: the nodes of its elements; one of the cells' dimension is a set of cells as well, and
one of the dimension below a set of facets.
Groups of one name are one body. Source: Gmsh reference manual, "MSH file format" (version 4.1), "Node
ordering".

Decisions 0071.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..mesh import Mesh, first_few
from .gmsh_groups import Entity, names_of_entities
from .gmsh_numbers import numbers
from .gmsh_sections import Section, split_sections

HEX20 = (*range(8), 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15)
KINDS: dict[int, tuple[int, int, tuple[int, ...]]] = {
    15: (0, 1, ()), 1: (1, 2, ()), 8: (1, 3, ()),
    2: (2, 3, ()), 9: (2, 6, ()), 3: (2, 4, ()), 16: (2, 8, ()), 10: (2, 9, ()),
    4: (3, 4, ()), 11: (3, 10, (*range(8), 9, 8)), 7: (3, 5, ()), 6: (3, 6, ()),
    5: (3, 8, ()), 17: (3, 20, HEX20), 12: (3, 27, (*HEX20, 22, 23, 21, 24, 20, 25, 26)),
}  # fmt: skip
"""Elements that are read, by Gmsh's type: dimension, nodes, and their order where it is not ours."""
FOREIGN = {
    13: ("prisms of order 2", 18), 14: ("pyramids of order 2", 14), 18: ("prisms of order 2", 15),
    19: ("pyramids of order 2", 13), 20: ("triangles of order 3", 9), 21: ("triangles of order 3", 10),
    22: ("triangles of order 4", 12), 23: ("triangles of order 4", 15), 26: ("lines of order 3", 4),
    27: ("lines of order 4", 5), 29: ("tetrahedra of order 3", 20), 30: ("tetrahedra of order 4", 35),
    36: ("quadrangles of order 3", 16), 92: ("hexahedra of order 3", 64),
}  # fmt: skip
"""Refused elements: name and number of nodes, from which the rest of the file can be counted."""
CURE = "elements of order 1 and 2 are read (prisms and pyramids of order 1): mesh with -order 1 or -order 2"


@dataclass(frozen=True)
class Block:
    """Elements of one entity: tags (k,), nodes (k, nodes of one)."""

    entity: Entity
    dimension: int
    tags: np.ndarray
    nodes: np.ndarray


def read(file: str, data: bytes) -> Mesh:
    """The mesh in a file's bytes, unchanged; `inspection.inspect` validates it and orients its cells.

    Raises `UserError` with file, section and line (or byte) unless it is a complete MSH 4.1 file, and for
    elements that are not read.
    """
    sections = split_sections(file, data)
    tags, points = _node_section(sections["Nodes"])
    blocks = _number_blocks(_element_blocks(sections["Elements"]), tags, sections["Elements"])
    names = names_of_entities(sections)
    if lost := sorted({block.entity for block in blocks} - names.keys()) if names else []:
        sections["Elements"].fail(f"entities (dimension, tag) that $Entities does not know: {lost[:5]}")
    d = max((block.dimension for block in blocks if len(block.tags)), default=0)
    if d < 2:
        sections["Elements"].fail("there are no surfaces or volumes; mesh surfaces (-2) or volumes (-3)")
    top = [block for block in blocks if block.dimension == d and len(block.tags)]
    kinds = list(dict.fromkeys(block.nodes.shape[1] for block in top))
    top.sort(key=lambda block: kinds.index(block.nodes.shape[1]))  # cells are numbered kind by kind
    cells, *more = (np.concatenate([b.nodes for b in top if b.nodes.shape[1] == kind]) for kind in kinds)
    if d == 2:
        points = _flatten_points(
            points, np.concatenate([block.nodes.ravel() for block in top]), sections["Nodes"]
        )
    bodies, cell_bodies = _bodies_by_group(blocks, top, names)
    cell_tags = np.concatenate([block.tags for block in top])
    facets = _facet_bodies(blocks, d, names)
    return Mesh(points, cells, bodies, cell_bodies, f"'{file}'", tags, cell_tags, tuple(more), facets)


def _node_section(section: Section) -> tuple[np.ndarray, np.ndarray]:
    """Tags (n,) and points (n, 3), in the order of the file."""
    follow, tags, points = numbers(section), [], []
    blocks, announced, _, _ = follow.take("size", 4).tolist()
    for _ in range(blocks):
        dimension, _, parametric = follow.take("int", 3).tolist()
        count = follow.one("size")
        if dimension not in range(4) or parametric not in (0, 1):
            follow.fail(f"the block above has dimension {dimension} and 'parametric' {parametric}")
        tags.append(follow.take("size", count))
        columns = 3 + dimension * parametric
        points.append(follow.take("real", count * columns).reshape(count, columns)[:, :3])
    follow.done()
    _require_announced(section, sum(map(len, tags)), announced, "nodes")
    unique, counts = np.unique(np.concatenate(tags), return_counts=True)
    if (twice := unique[counts > 1]).size:
        section.fail(f"node tags are used twice: {first_few(twice)}")
    return np.concatenate(tags), np.concatenate(points)


def _element_blocks(section: Section) -> list[Block]:
    """All elements in the order of the file, nodes as tags."""
    follow, blocks = numbers(section), []
    foreign: Counter[str] = Counter()
    many, announced, _, _ = follow.take("size", 4).tolist()
    for _ in range(many):
        dimension, entity, kind = follow.take("int", 3).tolist()
        count = follow.one("size")
        if kind not in KINDS and kind not in FOREIGN:
            follow.fail(f"{count} elements of Gmsh's type {kind}; {CURE}")
        own, nodes, order = KINDS.get(kind) or (dimension, FOREIGN[kind][1], ())
        if own != dimension:
            follow.fail(f"the block above has elements of type {kind} in an entity of dimension {dimension}")
        rows = follow.take("size", count * (1 + nodes)).reshape(count, 1 + nodes)
        foreign[FOREIGN[kind][0] if kind in FOREIGN else ""] += count
        rows, tags = rows[:, 1:], rows[:, 0]
        blocks.append(Block((dimension, entity), dimension, tags, rows[:, order] if order else rows))
    follow.done()
    if refused := [f"{count} {name}" for name, count in foreign.items() if name and count]:
        section.fail(f"{', '.join(refused)}; {CURE}")
    _require_announced(section, sum(len(block.tags) for block in blocks), announced, "elements")
    return blocks


def _require_announced(section: Section, found: int, announced: int, what: str) -> None:
    if found != announced:
        section.fail(f"{found} {what} stand here, {announced} are announced")
    if not found:
        section.fail(f"there are no {what}")


def _number_blocks(blocks: Sequence[Block], tags: np.ndarray, section: Section) -> list[Block]:
    """The blocks with node numbers in the place of node tags."""
    order = np.argsort(tags)
    numbered = []
    for block in blocks:
        number = order[np.searchsorted(tags, block.nodes, sorter=order).clip(max=len(tags) - 1)]
        if (missing := tags[number] != block.nodes).any():
            strays = block.tags[missing.any(axis=1)]
            absent = first_few(np.unique(block.nodes[missing]))
            section.fail(
                f"elements with missing nodes ({len(strays)}): {first_few(strays)}; no nodes {absent}"
            )
        numbered.append(replace(block, nodes=number.astype(np.int32)))
    return numbered


def _flatten_points(points: np.ndarray, cells: np.ndarray, section: Section) -> np.ndarray:
    """x and y of points whose z is the same for all cells."""
    z = points[cells, 2]
    with np.errstate(invalid="ignore"):
        if not np.ptp(z) <= 1e-12 * np.ptp(points[:, :2], axis=0).max():
            cure = "triangles are meshed in a plane z = constant, bodies in space with -3"
            section.fail(f"the triangles lie in space (z from {z.min():g} to {z.max():g}); {cure}")
    return np.ascontiguousarray(points[:, :2])


def _bodies_by_group(
    blocks: Sequence[Block], top: Sequence[Block], names: dict[Entity, list[str]]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Node numbers by group, and cell numbers by group of the highest dimension; sorted, each once."""
    nodes, cells, start = defaultdict(list), defaultdict(list), 0
    for block in blocks:
        for name in names.get(block.entity, ()):
            nodes[name].append(block.nodes.ravel())
    for block in top:
        stop = start + len(block.tags)
        for name in names.get(block.entity, ()):
            cells[name].append(np.arange(start, stop, dtype=np.int32))
        start = stop
    return _merge_parts(nodes), _merge_parts(cells)


def _facet_bodies(
    blocks: Sequence[Block], d: int, names: dict[Entity, list[str]]
) -> dict[str, list[np.ndarray]]:
    """The facets of each group, of every kind."""
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    for block in blocks:
        for name in names.get(block.entity, ()) if block.dimension == d - 1 and len(block.tags) else ():
            found[name].append(block.nodes)
    return dict(found)


def _merge_parts(parts: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.unique(np.concatenate(arrays)) for name, arrays in parts.items()}
