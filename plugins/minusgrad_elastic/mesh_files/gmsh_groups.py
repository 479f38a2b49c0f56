"""Physical groups of a Gmsh file: the names of its entities.

$PhysicalNames   count, then on each line: dimension  tag  "name"       (text in every file)
$Entities        counts of points, curves, surfaces, volumes; each: tag, x y z or the two corners of its box,
                 physical tags (a sign is an orientation), and but for points the entities that bound it
"""

import re
from collections import Counter

from .gmsh_numbers import numbers
from .gmsh_sections import Section

Entity = tuple[int, int]
"""Dimension and tag."""

KINDS = ("point", "curve", "surface", "volume")
_NAME = re.compile(rb'\s*([0-3])\s+(-?\d{1,10})\s+"(.*)"\s*')


def names_of_entities(sections: dict[str, Section]) -> dict[Entity, list[str]]:
    """The groups that each entity belongs to; a group without a name is `group_TAG`.

    Where groups of several dimensions lack a name and share a tag, they are `group_TAG_curve` and the like.
    """
    tags = _physical_tags(sections["Entities"]) if "Entities" in sections else {}
    names = _group_names(sections["PhysicalNames"]) if "PhysicalNames" in sections else {}
    groups = {(dimension, tag) for (dimension, _), found in tags.items() for tag in found}
    nameless = Counter(tag for _, tag in groups - names.keys())
    for dimension, tag in groups - names.keys():
        kind = f"_{KINDS[dimension]}" if nameless[tag] > 1 else ""
        names[dimension, tag] = f"group_{tag}{kind}"
    return {(d, entity): [names[d, tag] for tag in found] for (d, entity), found in tags.items()}


def _physical_tags(section: Section) -> dict[Entity, list[int]]:
    """Physical tags of each entity, each once."""
    entities, follow = {}, numbers(section)
    for dimension, count in enumerate(follow.take("size", 4).tolist()):
        for _ in range(count):
            tag = follow.one("int")
            follow.take("real", 6 if dimension else 3)
            physical = follow.take("int", follow.one("size"))
            if dimension:
                follow.take("int", follow.one("size"))
            entities[dimension, tag] = sorted({abs(t) for t in physical.tolist()})
    follow.done()
    return entities


def _group_names(section: Section) -> dict[Entity, str]:
    """Names by dimension and physical tag; empty ones are left out."""
    names, place, announced = {}, section.start, None
    for line in section.data[section.start : section.stop].split(b"\n"):
        if announced is None and line.strip():
            announced = line.strip()
        elif entry := _NAME.fullmatch(line):
            names[int(entry[1]), abs(int(entry[2]))] = entry[3].decode("utf-8", "replace")
        elif line.strip():
            section.fail('here should stand: dimension, tag, "name"', place)
        place += len(line) + 1
    if announced != str(len(names)).encode():
        section.fail(f"{len(names)} names stand here, another number is announced; it is cut off or damaged")
    return {group: name for group, name in names.items() if name}
