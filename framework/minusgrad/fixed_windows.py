"""The loops of maps whose windows have the same size at every state: loops of constant length, no clipping.

An element belongs to one tile, that of its lowest cell, and each tile has a canvas of its own, wide enough
for the windows of its elements. The canvases are summed in their order. The lowest cells lie between 1 - size
and the grid's end, so the tiles begin there.
"""

import numpy as np

from .emit import indented, leaf_name
from .fields import Field
from .kernels import Code
from .terms import Term
from .trace import Trace
from .whole import form
from .window_loops import WindowLoops, ravelled, unravelled

UNROLLED = 32
"""Windows of up to this many cells along the last axis are written out."""


class FixedWindowLoops(WindowLoops):
    """The loops of a map to windows of `sizes` cells."""

    def __init__(self, term: Term, adjoint: Field):
        super().__init__(term, adjoint)
        self._own("canvas", np.zeros((int(np.prod(self.tiles)), int(np.prod(self.extent))), term.dtype))

    def _cover(self) -> list[int]:
        self.sizes = sizes_of(self._trace())
        self.extent = [self.side + size - 1 for size in self.sizes]
        return [-(-(n + size - 1) // self.side) for n, size in zip(self.shape, self.sizes, strict=True)]

    def _over_tiles(self, body: list[str]) -> list[str]:
        """For every element e, in order, the tile that its window begins in, if it reaches the grid."""
        sizes, side = list(enumerate(self.sizes)), self.side
        on = " & ".join(f"(b{a} > {-size}) & (b{a} < {self.shape[a]})" for a, size in sizes)
        tile = ravelled([f"((b{a} + {size - 1}) // {side})" for a, size in sizes], self.tiles)
        lines = [*self._windows(), f"if {on}:", *indented([f"tile = {tile}", *body])]
        return [f"for e in range({self.prefix}nodes.shape[0]):", *indented(lines)]

    def forward(self) -> Code:
        """Loops that add what the elements give: tile by tile, then the tiles."""
        traced, canvas = self._trace(), f"{self.prefix}canvas"
        early, late, text = self._given(traced)
        clear = [f"for k in range({int(np.prod(self.extent))}):", f"    {canvas}[tile, k] = {self.type}(0.0)"]
        add = f"{canvas}[tile, spot] = {canvas}[tile, spot] + {text}"
        spot = f"spot = {ravelled([f'i{a} - o{a}' for a in range(len(self.shape))], self.extent)}"
        cells = self._over_whole_window(traced, [spot, *late, add])
        origin = [f"o{a} = {t}" for a, t in enumerate(self._origin(unravelled("tile", self.tiles)))]
        return self._code([*self._over_entries([*origin, *clear], [*early, *cells]), *self._summed(canvas)])

    def _origin(self, tile: list[str]) -> list[str]:
        """The first cell of a tile along each axis."""
        return [f"{t} * {self.side} - {size - 1}" for t, size in zip(tile, self.sizes, strict=True)]

    def _summed(self, canvas: str) -> list[str]:
        """For every row of cells the canvases that cover it, one after another."""
        last = len(self.shape) - 1
        rows = self.shape[:-1] or (1,)
        out, side = f"f_{self.given.name}", self.side
        tiles = [f"t{a}" for a in range(last + 1)]
        spot = ravelled([f"i{a} - o{a}" for a in range(last + 1)], self.extent)
        row = f"ti.max(o{last}, 0), ti.min(o{last} + {self.extent[last]}, {self.shape[last]})"
        lines = [
            *(f"o{a} = {text}" for a, text in enumerate(self._origin(tiles))),
            f"tile = {ravelled(tiles, self.tiles)}",
            f"for i{last} in range({row}):",
            f"    cell = row * {self.shape[last]} + i{last}",
            f"    {out}[cell] = {out}[cell] + {canvas}[tile, {spot}]",
        ]
        lines = [f"for t{last} in range({self.tiles[last]}):", *indented(lines)]
        for a in reversed(range(last)):
            ends = f"i{a} // {side}, (i{a} + {self.sizes[a] - 1}) // {side} + 1"
            lines = [f"for t{a} in range({ends}):", *indented(lines)]
        places = [f"i{a} = {text}" for a, text in enumerate(unravelled("row", rows)[:last])]
        return [f"for row in range({int(np.prod(rows))}):", *indented([*places, *lines])]

    def _over_window(self, traced: Trace, body: list[str]) -> list[str]:
        on = " & ".join(f"(b{a} >= 0) & (c{a} < {n})" for a, n in enumerate(self.shape))
        whole = self._over_whole_window(traced, [self._cell(), *body], unrolled=False)
        return [f"if {on}:", *indented(whole), "else:", *indented(super()._over_window(traced, body))]

    def _over_whole_window(self, traced: Trace, body: list[str], unrolled: bool = True) -> list[str]:
        """For every cell of element e's window, on the grid or not."""
        named = [f"{leaf_name(leaf)} = i{a}" for a, leaf in enumerate(self._places(traced))]
        lines = [*named, *body]
        for a in reversed(range(len(self.shape))):
            last = a == len(self.shape) - 1
            count = (
                f"ti.static(range({self.sizes[a]}))"
                if last and unrolled and self.sizes[a] <= UNROLLED
                else f"range({self.sizes[a]})"
            )
            lines = [f"for k{a} in {count}:", *indented([f"i{a} = b{a} + k{a}", *lines])]
        return lines


def sizes_of(traced: Trace) -> list[int]:
    """The cells of the window along each axis; none if they depend on the state."""
    sizes = [form(high).minus(form(low)).known for low, high in traced.window]
    return [] if None in sizes else [size + 1 for size in sizes if size is not None]
