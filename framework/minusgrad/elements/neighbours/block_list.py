"""Verlet lists of blocks of targets, for kernels with a target in each lane of a vector.

A block is 8 or 16 targets that are near each other, and has one list: the sources within reach of any of
them. Each source is read once for all of its targets; those beyond the cutoff of a target add zero.

    rows      (node, image), as a source: those of targets and of periodic copies, sorted by place
    order     2 i of target i; less or more by one for a periodic copy, so that a pair is counted where
              the order of the target is above that of its source

Where pairs are excluded, the rows of a block that have one, and its own, are apart from the others and have a
bit for each lane that leaves them out (`block_masks`).

Decisions 0271.
"""

import re
from typing import Any

import numpy as np

from ...engine import lane_blocks, memory
from ...engine.kernels import BoundKernel, Code
from ...errors import EnergyError
from ..excluded_pairs import Excluded
from ..list_reference import ListReference
from .block_masks import masks_text
from .block_search import WIDE, lists_text, rows_text

SPARE = 1.25
"""Size of the arrays, relative to the need when they were made."""
FINE = 4
"""Cells of a column in a cube of its side."""
MARGIN = 1e-5
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
"""Parts of the reach that lists reach further: in any case, and for the rounding of places in f32."""


class BlockList:
    """Blocks of `wide` targets and their sources within reach, for the positions of a reference.

    nodes: of the targets, int32 (n,). what: the name of the term,
    for messages. excluded: pairs that are left out. `build` overwrites the arrays.
    """

    def __init__(
        self,
        nodes: np.ndarray,
        reach: float,
        reference: ListReference,
        wide: int,
        what: str = "pairs",
        excluded: Excluded | None = None,
    ):
        self.excluded = excluded if excluded is not None and len(excluded.pairs) else None
        self.nodes, self.reach, self.reference = nodes, reach, reference
        self.periodic, self.wide, self.what = reference.periodic, wide, what
        self.d = reference.positions.shape[1]
        room = {"rows": 2 * len(nodes) + 64, "cells": 64, "sources": 16 * WIDE}
        self._allocate_arrays(**room)
        while lacking := self._missing_room():
            room |= {name: int(SPARE * need) for name, need in lacking.items()}
            self._allocate_arrays(**room)
        longest = int(self._arrays["block_lengths"].max())
        self._allocate_arrays(**room | {"sources": int(SPARE * longest) + 2 * WIDE})
        self.build()

    def arrays(self) -> dict[str, Any]:
        """The arrays that loops over blocks name."""
        names = ("row_nodes", "row_images", "row_order", "lane_of")
        blocks = ("block_nodes", "block_order", "block_rows", "block_lengths", "block_sources")
        masks = ("masked_rows", "masked_bits", "masked_lengths") if self.excluded else ()
        return {"row_counts": self._arrays["counts"]} | {
            n: self._arrays[n] for n in (*names, *blocks, *masks)
        }

    def of_target(self, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes and images of the listed pairs of a target, (n, 2) and (n, 2, d), and which it counts.

        Some may be beyond reach.
        """
        a, wide, lane = self._arrays, self.wide, int(self._arrays["lane_of"][target])
        own, block = int(a["block_rows"][lane]), lane // wide
        begin = block * (len(a["block_sources"]) // len(a["block_lengths"]))
        listed = a["block_sources"][begin : begin + a["block_lengths"][block]]
        rows = np.concatenate([listed, self._unlisted_rows(block, lane % wide)])
        both = np.stack([np.full_like(rows, own), rows], axis=1)
        images = (
            a["row_images"][both][..., 3 - len(self.periodic) :]
            if self.periodic
            else np.zeros((*both.shape, 0))
        )
        return a["row_nodes"][both], images, a["row_order"][rows] < a["row_order"][own]

    def _unlisted_rows(self, block: int, lane: int) -> np.ndarray:
        """The rows of a block beside its listed sources, without those that a lane leaves out."""
        a, wide = self._arrays, self.wide
        if self.excluded is None:
            lanes = a["block_rows"][block * wide : min((block + 1) * wide, len(self.nodes))]
            return np.delete(lanes, lane)
        begin = block * (len(a["masked_rows"]) // len(a["masked_lengths"]))
        masked = slice(begin, begin + a["masked_lengths"][block])
        return a["masked_rows"][masked][a["masked_bits"][masked] >> lane & 1 == 0]

    # Building

    def build(self) -> bool:
        """List the sources for the reference; False if the arrays have no room for them."""
        if self._missing_room():
            return False
        if self.excluded is not None and self._excluded_version != self.excluded.version:
            self._renew_excluded(self.excluded)
        if self.excluded is not None:
            self._mask()
        return True

    def _missing_room(self) -> dict[str, int]:
        """Overwrite the arrays; returns the array that is too small, and how much it needs."""
        a = self._arrays
        if (cells := self._place_cells()) >= len(a["cells"]):
            return {"cells": cells + 1}
        self._sort()
        if (rows := int(a["counts"][0])) > len(a["found"]):
            return {"rows": rows}
        self._search()
        room = len(a["block_sources"]) // len(a["block_lengths"])
        return {"sources": 2 * room} if a["block_lengths"].max() == room else {}

    def _place_cells(self) -> int:
        """Put the cells around the targets, a whole number of columns to them; returns how many cells."""
        d, a = self.d, self._arrays
        box = self.reference.geometry
        periodic = np.array([False] * (3 - d) + list(self.periodic or (False,) * d))
        vectors, low, high = np.eye(3), np.zeros(3), np.ones(3)
        if box is not None:
            vectors[3 - d :, 3 - d :] = box.vectors
        inverse = np.linalg.inv(vectors)
        if not periodic[3 - d :].all():
            x = np.zeros((len(self.nodes), 3))
            x[:, 3 - d :] = np.asarray(self.reference.positions.at, np.float64)[self.nodes]
            s = x @ inverse
            low, high = np.where(periodic, 0.0, s.min(axis=0)), np.where(periodic, 1.0, s.max(axis=0))
        unit = self.reach * (1.0 + MARGIN)
        inner = _bounding_corners(low, high, vectors) / unit
        unit *= 1.0 + ROUNDING * float((inner[1] - inner[0]).max() + 2.0)
        inner = _bounding_corners(low, high, vectors) / unit
        margins = np.where(periodic, unit * np.linalg.norm(inverse, axis=0), 0.0)
        outer = _bounding_corners(low - margins, high + margins, vectors) / unit
        span = np.maximum(inner[1] - inner[0], 1e-3)
        side = (self.wide * np.prod(span[3 - d :]) / len(self.nodes)) ** (1.0 / d)
        sides = span / np.maximum(np.round(span / [side, side, side / FINE]), 1.0)
        corner = inner[0] - np.ceil((inner[0] - outer[0]) / sides + 1e-6) * sides
        dims = np.ceil((outer[1] - corner) / sides).astype(np.int64) + 1
        dims[: 3 - d] = 1
        a["geometry"][0], a["geometry"][1] = vectors / unit, inverse
        a["geometry"][2, 0], a["geometry"][2, 1] = margins, corner
        a["sides"][0], a["sides"][1], a["counts"][1:4] = sides, 1.0 / sides, dims
        return int(np.prod(dims))

    def _allocate_arrays(self, rows: int, cells: int, sources: int) -> None:
        """Arrays with room for so many rows, cells, and sources of a block; and kernels that fill them."""
        rows, blocks = -(-rows // WIDE) * WIDE, -(-len(self.nodes) // self.wide)
        masks = {} if self.excluded is None else self._room_for_masks(self.excluded, rows, blocks, sources)
        count = 4 * (rows * 23 + 2 * cells + blocks * (sources + 6 * self.wide))
        count += sum(array.nbytes for array in masks.values())
        memory.require(
            count, f"{self.what}: its list of neighbours", "use a smaller cutoff or skin", EnergyError
        )
        places = lane_blocks.zeros(rows, 4, WIDE, np.dtype(np.float32))
        whole = {"block_nodes": self.wide, "block_order": self.wide, "block_rows": self.wide}
        whole |= {"block_lengths": 1, "block_sources": sources}
        made: dict[str, Any] = {
            **{name: np.zeros(blocks * many, np.int32) for name, many in whole.items()},
            "positions": self.reference.positions,
            "nodes": self.nodes,
            "lane_of": np.zeros(len(self.nodes), np.int32),
            "geometry": np.zeros((3, 3, 3)),
            "sides": np.zeros((2, 3), np.float32),
            "counts": np.zeros(4, np.int32),
            "cells": np.zeros(cells, np.int32),
            "next_in": np.zeros(cells, np.int32),
            "found": np.zeros((rows, 6), np.int32),
            "found_places": np.zeros((rows, 3), np.float32),
            "row_nodes": np.zeros(rows, np.int32),
            "row_images": np.zeros((rows, 3), np.int32),
            "row_order": np.zeros(rows, np.int32),
            "own_places": np.zeros(blocks * self.wide * 3, np.float32),
            "places": lane_blocks.flat(places),
            "place_blocks": places,
            **masks,
        }
        self._arrays = made
        self._sort, self._search = (
            self._bind_kernel(rows_text(self.d)),
            self._bind_kernel(lists_text(self.wide)),
        )
        if masks:
            self._mask = self._bind_kernel(masks_text(self.wide))

    def _room_for_masks(
        self, excluded: Excluded, rows: int, blocks: int, sources: int
    ) -> dict[str, np.ndarray]:
        """The excluded pairs by node, and arrays for the rows of each block that have one."""
        begin, others, images = excluded.by_node(count := self.reference.positions.shape[0])
        self._excluded_version = excluded.version
        masked = self.wide + min(self.wide * int(np.diff(begin).max()), sources)
        in_space = np.zeros((len(others), 3), np.int32)
        in_space[:, 3 - images.shape[1] :] = images
        return {
            "excluded_begin": begin.astype(np.int32),
            "excluded_nodes": others.astype(np.int32),
            "excluded_images": in_space,
            "excluded_rows": np.zeros(len(others), np.int32),
            "row_of_node": np.zeros(count, np.int32),
            "row_before": np.zeros(rows, np.int32),
            "masked_rows": np.zeros(blocks * masked, np.int32),
            "masked_bits": np.zeros(blocks * masked, np.int32),
            "masked_lengths": np.zeros(blocks, np.int32),
        }

    def _renew_excluded(self, excluded: Excluded) -> None:
        """Overwrite the excluded pairs by node: their images have changed."""
        _, others, images = excluded.by_node(self.reference.positions.shape[0])
        self._arrays["excluded_nodes"][:] = others
        self._arrays["excluded_images"][:, 3 - images.shape[1] :] = images
        self._excluded_version = excluded.version

    def _bind_kernel(self, text: str) -> BoundKernel:
        words = set(re.findall(r"\w+", text))
        return BoundKernel(Code(text, {name: a for name, a in self._arrays.items() if name in words}))


def _bounding_corners(low: np.ndarray, high: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The lowest and the highest corner of the cuboid around all positions s . vectors, low <= s <= high."""
    ends = np.stack([low[:, None] * vectors, high[:, None] * vectors])
    return np.stack([ends.min(axis=0).sum(axis=0), ends.max(axis=0).sum(axis=0)])
