"""Sums over windows on devices: a thread for each tile of cells, over the elements that reach its band.

    reaching   how many elements of each chunk reach each band of rows, then the sum of chunks up to each
    listed     the elements that reach each band, in their order
    tiles      each tile of a band adds the elements of its band's list that reach it, one after another

A cell's sum has the order of the elements, as on the CPU: without atomics, with the same bits in every run.
The elements that a thread looks at are those near its tile, not all of them.

Decisions 0266.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..statements import indented

CHUNK = 256
"""Elements that one thread looks at for the lists."""
BANDS = 256
"""Most bands: each has room for a list of all elements."""
ROWS, COLUMNS = {1: 64, 2: 8, 3: 1}, {1: 1, 2: 16, 3: 4}
"""Rows of a band, at least, and columns of a tile, by the number of axes."""


@dataclass(frozen=True)
class DeviceTiles:
    """The tiles of a grid, and the texts of loops over them.

    prefix: begins the names of arrays. shape: of the grid. count: elements. whole: tiles have all columns,
    because windows beyond the rim come back at the other side.
    """

    prefix: str
    shape: tuple[int, ...]
    count: int
    whole: bool

    @property
    def band(self) -> int:
        """The rows of a band."""
        return max(ROWS[len(self.shape)], -(-self.shape[0] // BANDS))

    @property
    def bands(self) -> int:
        """The number of bands."""
        return -(-self.shape[0] // self.band)

    @property
    def chunks(self) -> int:
        """The number of chunks of elements."""
        return max(-(-self.count // CHUNK), 1)

    @property
    def tiles(self) -> int:
        """The tiles of a band."""
        return 1 if self.whole or len(self.shape) == 1 else -(-self.shape[1] // self.columns)

    @property
    def columns(self) -> int:
        """The columns of a tile."""
        return COLUMNS[len(self.shape)]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the lists, to be allocated."""
        shapes = {"reaching": (self.bands, self.chunks), "listed": (self.bands, max(self.count, 1))}
        return {name: np.zeros(shape, np.int32) for name, shape in shapes.items()}

    def restrict_to_tile(self, low: list[str], high: list[str]) -> None:
        """Restrict the ranges of an element's cells along the second axis to a tile."""
        if self.tiles > 1:
            low[1], high[1] = f"ti.max(b1, tile * {self.columns})", f"ti.min(c1 + 1, {self._tile_end})"

    @property
    def _tile_end(self) -> str:
        return f"ti.min((tile + 1) * {self.columns}, {self.shape[1]})"

    def loops(self, reaches: str, cleared: Sequence[str], element: list[str], lost: list[str]) -> list[str]:
        """Zeros, the lists, and for each tile the statements for each element e that reaches it.

        reaches: whether rows b0 to c0 reach the band. cleared: statements for a `cell`. lost: statements for
        each element after all sums.
        """
        p, every = self.prefix, f"{self.prefix}nodes.shape[0]"
        chunk = [
            f"band = job // {self.chunks}",
            f"chunk = job - band * {self.chunks}",
            "k = 0",
        ]
        of_chunk = f"for e in range(chunk * {CHUNK}, ti.min((chunk + 1) * {CHUNK}, {every})):"
        rows = f"b0, c0 = {p}window[e, 0], {p}window[e, 1]"
        counted = [of_chunk, f"    {rows}", f"    if {reaches}:", "        k += 1"]
        listed = [
            of_chunk,
            f"    {rows}",
            f"    if {reaches}:",
            f"        {p}listed[band, k] = e",
            "        k += 1",
        ]
        jobs = f"for job in range({self.bands * self.chunks}):"
        last = self.chunks - 1
        columns = (
            f"({p}window[e, 2] < {self._tile_end}) & ({p}window[e, 3] >= tile * {self.columns})"
            if self.tiles > 1
            else ""
        )
        each = [f"if {columns}:", *indented(element)] if columns else element
        clear = [f"for cell in range({prod(self.shape)}):", *indented([*cleared])] if cleared else []
        return [
            *clear,
            jobs,
            *indented([*chunk, *counted, f"{p}reaching[band, chunk] = k"]),
            f"for band in range({self.bands}):",
            *indented(
                [
                    "k = 0",
                    f"for chunk in range({self.chunks}):",
                    f"    k += {p}reaching[band, chunk]",
                    f"    {p}reaching[band, chunk] = k",
                ]
            ),
            jobs,
            *indented([*chunk, "if chunk > 0:", f"    k = {p}reaching[band, chunk - 1]", *listed]),
            f"for job in range({self.bands * self.tiles}):",
            *indented(
                [
                    f"band = job // {self.tiles}",
                    f"tile = job - band * {self.tiles}",
                    f"for q in range({p}reaching[band, {last}]):",
                    *indented([f"e = {p}listed[band, q]", f"{rows}", *each]),
                ]
            ),
            *([f"for e in range({every}):", *indented([rows, *lost])] if lost else []),
        ]
