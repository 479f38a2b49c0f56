"""Survey of a job file: its dose and over-burn tile by tile, however large the bed is.

Maps of a whole bed would take gigabytes, so that no map is kept: tiles where there is a dose are computed
band by band, and of each the largest numbers, the over-burn along the path, and a picture of at most
`PICTURE` cells along a side remain. Numbers are those of `replay` and `overburn`, summed in another order:
equal to 1e-13 of the peak.

    pass 1      the largest programmed dose, below a part of which nothing is meant
    pass 2      dose, over-burn, pictures; cells that may be hot
    pass 3      only if there are too many of these: the hot cells again, when the median is known

Decisions 0097.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from minusgrad.plugin import UserError

from ..machine.profile import Profile
from .canvas import spot_cells
from .dose import STEP, Deposition, groups, lines
from .limits import refuse_far, violations
from .motion import Motion, motion
from .overburn import line_peaks, meant_lines, over_meant
from .planner import Plan, plan
from .program import Program
from .replays import canvas_around, remarks
from .tiles import SIDE, TiledCanvas

PICTURE = 2048
"""Cells along a side of a picture, at most."""
BAND_BYTES = 600_000_000
"""Memory of the tiles of a band, if all of them have a dose."""
LIKELY, MOST_LIKELY = 1.8, 20_000_000
"""Over-burn from which a cell is kept in pass 2, for a median of 0.9 at least; how many are kept."""
MOST_SAMPLES = 500_000_000
"""Samples of a job: a path of 6 km for a spot of 25 um."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of a replayed job file.

    dose, developed, overburn: pictures (rows, columns) with `factor` x `factor` cells in each of theirs: the
    largest dose and over-burn, and the mean of the developed part. The over-burn is over its median along the
    lit path, NaN where nothing is meant. peak and worst: the largest dose and over-burn of all cells. hot: of
    each region with more than `limit` times the dose that is meant its largest over-burn, row and column of
    that cell, and the number of its cells. cells: how many were computed; took [s].
    """

    program: Program
    plan: Plan
    motion: Motion
    shape: tuple[int, int]
    origin: tuple[float, float]
    pixel: float
    waists: tuple[float, float]
    full: float
    factor: int
    dose: np.ndarray
    developed: np.ndarray
    overburn: np.ndarray
    peak: float
    worst: float
    hot: list[tuple[float, int, int, int]]
    cells: int
    took: float
    violations: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The time of the job [s]."""
        return self.plan.seconds


def survey(
    program: Program,
    profile: Profile,
    pixel: float,
    waists: tuple[float, float],
    full: float,
    develop: Callable[[np.ndarray], np.ndarray],
    limit: float,
    name: str = "job",
    picture: int = PICTURE,
) -> Survey:
    """The survey of a parsed job file. waists: along x and y [m]. develop: the developed part of a dose.

    Raises `UserError` where the laser is never on, for lit moves that reach over many fields of the machine,
    and for a lit path that is longer than any job.
    """
    refuse_far(program, profile, name)
    shape, origin = canvas_around(program, pixel, waists, name)
    length = np.hypot(np.diff(program.x), np.diff(program.y))[program.power > 0.0].sum()
    if 2.0 * length / (STEP * min(waists)) > MOST_SAMPLES:
        most = MOST_SAMPLES * STEP * min(waists) / 2.0
        raise UserError(
            f"{name}: a lit path is {most / 1e3:.3g} km long at most, got {length / 1e3:.3g} km; split the"
            " job"
        )
    planned = plan(program, profile)
    moves = motion(program, planned, profile)
    begun = perf_counter()
    found = _Reductions(
        _Job(program, planned, moves, shape, origin, pixel, waists, full), develop, limit, picture
    )
    return Survey(
        program, planned, moves, shape, origin, pixel, waists, full, found.factor, found.dose,
        found.developed, found.overburn, found.peak, found.worst, found.hot, found.cells,
        perf_counter() - begun, violations(program, planned, profile, name), remarks(program, planned, name),
    )  # fmt: skip


class _Job:
    """The maps of a job, tile by tile."""

    def __init__(
        self,
        program: Program,
        planned: Plan,
        moves: Motion,
        shape: tuple[int, int],
        origin: tuple[float, float],
        pixel: float,
        waists: tuple[float, float],
        full: float,
    ):
        self.shape, self.origin, self.pixel, self.waists, self.full = shape, origin, pixel, waists, full
        self.deposition = Deposition(moves, waists)
        self.places, self.density = meant_lines(program, planned, moves.profile)
        self.peaks = line_peaks(self.density, planned.direction, waists)
        self.lit = np.flatnonzero(self.density > 0.0)
        self.counts = np.hypot(*np.diff(self.places, axis=0)[self.lit].T) / (STEP * min(waists)) + 1.0
        y = self.places[:, 1]
        self.bottom, self.top = (f(y[self.lit], y[self.lit + 1]) for f in (np.minimum, np.maximum))
        self.most_meant = max(
            (float(v.max()) for band in self.bands(1) for _, _, v in self._meant_dose(band).values()),
            default=0.0,
        )

    def bands(self, maps: int) -> Iterator[tuple[int, int]]:
        """Rows of tiles (from, to) of which so many maps fit into the memory of a band."""
        rows, columns = (-(-cells // SIDE) for cells in self.shape)
        up, across = spot_cells(self.waists, self.pixel)
        each = 8 * maps * columns * (SIDE + 4 * up) * (SIDE + 4 * across)
        step = max(1, BAND_BYTES // each)
        yield from ((row, min(row + step, rows)) for row in range(0, rows, step))

    def tiles(self, band: tuple[int, int]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """First row and column, dose and over-burn, of the tiles of a band."""
        dose = self._band_canvas(band)
        self.deposition.put(dose, *self._band_reach(band))
        meant, peaks = self._meant_dose(band), self._meant_dose(band, peaks=True)
        for i, j in sorted({*dose.tiles, *meant.tiles}):
            values = [canvas.tile(i, j).values() for canvas in (dose, meant, peaks)]
            d = values[0] / self.full
            yield (
                i * SIDE, j * SIDE, d,
                over_meant(d, values[1], values[2], self.full, self.most_meant),
            )  # fmt: skip

    def path_cells(self, band: tuple[int, int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows and columns of cells along the lit path, half a smaller waist apart, in tiles of a band."""
        low, high = self._band_reach(band)
        near = (self.bottom <= high) & (self.top >= low)
        first, last = band[0] * SIDE, band[1] * SIDE
        for some in groups(self.lit[near], self.counts[near]):
            length = np.hypot(*(self.places[some + 1] - self.places[some]).T)
            count = np.ceil(length / (STEP * min(self.waists))).astype(int)
            move = np.repeat(np.arange(len(some)), count)
            part = (np.arange(len(move)) - np.repeat(np.cumsum(count) - count, count) + 0.5) / count[move]
            begin = self.places[some][move] - self.origin
            at = begin + part[:, None] * (self.places[some + 1][move] - self.origin - begin)
            column, row = np.rint(at / self.pixel).astype(int).T
            row, column = row.clip(0, self.shape[0] - 1), column.clip(0, self.shape[1] - 1)
            inside = (row >= first) & (row < last)
            yield row[inside], column[inside]

    def _meant_dose(self, band: tuple[int, int], peaks: bool = False) -> TiledCanvas:
        canvas, (low, high) = self._band_canvas(band), self._band_reach(band)
        near = (self.bottom <= high) & (self.top >= low)
        for some in groups(self.lit[near], self.counts[near]):
            density = self.density[some] * (self.peaks[some] if peaks else 1.0)
            lines(canvas, self.places[some], self.places[some + 1], density)
        return canvas

    def _band_canvas(self, band: tuple[int, int]) -> TiledCanvas:
        return TiledCanvas(self.shape, self.pixel, self.waists, self.origin, band)

    def _band_reach(self, band: tuple[int, int]) -> tuple[float, float]:
        """From where to where along y [m] the path gives cells of a band a dose."""
        margin = 5.0 * self.waists[1] + 2.0 * self.pixel + max(self.deposition.motion.profile.backlash)
        low, high = (self.origin[1] + row * SIDE * self.pixel for row in band)
        return low - margin, high + margin


class _Reductions:
    """What remains of the tiles."""

    def __init__(self, job: _Job, develop: Callable[[np.ndarray], np.ndarray], limit: float, picture: int):
        self.job, self.develop = job, develop
        self.factor = max(1, -(-max(job.shape) // picture))
        size = tuple(-(-cells // self.factor) for cells in job.shape)
        self.dose = np.zeros(size)
        self.developed = np.full(size, float(develop(np.zeros(1))[0]))
        self.overburn = np.full(size, np.nan)
        self.peak, self.worst, self.cells = 0.0, 0.0, 0
        along, likely = self._reduce_tiles()
        median = float(np.nanmedian(along)) if len(along) and np.isfinite(along).any() else 1.0
        self.overburn /= median
        self.worst /= median
        if likely is None or limit * median < LIKELY:
            likely = self._cells_above(limit * median)
        self.hot = _hot_regions(*likely, limit, median, job.shape[1])

    def _reduce_tiles(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
        """The over-burn along the path, and flat numbers and values of cells that may be hot."""
        along: list[np.ndarray] = []
        cells: list[np.ndarray] | None = []
        values: list[np.ndarray] = []
        for band in self.job.bands(3):
            wanted = [np.stack(found) for found in self.job.path_cells(band)]
            rows, columns = np.concatenate(wanted, axis=1) if wanted else np.zeros((2, 0), int)
            tile = (rows // SIDE) * (-(-self.job.shape[1] // SIDE)) + columns // SIDE
            order = np.argsort(tile, kind="stable")
            rows, columns, tile = rows[order], columns[order], tile[order]
            for row, column, dose, over in self.job.tiles(band):
                number = (row // SIDE) * (-(-self.job.shape[1] // SIDE)) + column // SIDE
                own = slice(*np.searchsorted(tile, [number, number + 1]))
                along.append(over[rows[own] - row, columns[own] - column])
                self._take_tile(row, column, dose, over)
                if cells is not None:
                    hot = np.flatnonzero(over > LIKELY)
                    cells.append(self._flat_numbers(row, column, hot, over.shape[1]))
                    values.append(over.ravel()[hot])
                    if sum(map(len, cells)) > MOST_LIKELY:
                        cells, values = None, []
        joined = np.concatenate(along) if along else np.zeros(0)
        return joined, None if cells is None else _join_cells(cells, values)

    def _cells_above(self, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """Flat numbers and values of cells above a limit."""
        cells, values = [], []
        for band in self.job.bands(3):
            for row, column, _, over in self.job.tiles(band):
                hot = np.flatnonzero(over > limit)
                cells.append(self._flat_numbers(row, column, hot, over.shape[1]))
                values.append(over.ravel()[hot])
        return _join_cells(cells, values)

    def _flat_numbers(self, row: int, column: int, inside: np.ndarray, width: int) -> np.ndarray:
        return (row + inside // width) * self.job.shape[1] + column + inside % width

    def _take_tile(self, row: int, column: int, dose: np.ndarray, over: np.ndarray) -> None:
        """A tile into the pictures, of which a cell may have parts in two tiles."""
        f = self.factor
        self.peak = max(self.peak, float(dose.max()))
        self.worst = max(self.worst, float(np.nan_to_num(over).max()))
        self.cells += dose.size
        rows, columns = (np.arange(k, k + n) // f for k, n in ((row, dose.shape[0]), (column, dose.shape[1])))
        starts = [np.flatnonzero(np.append(True, np.diff(one) != 0)) for one in (rows, columns)]
        where = np.ix_(rows[starts[0]], columns[starts[1]])

        def reduced(values: np.ndarray, by: np.ufunc) -> np.ndarray:
            return by.reduceat(by.reduceat(values, starts[0], axis=0), starts[1], axis=1)

        self.dose[where] = np.maximum(self.dose[where], reduced(dose, np.maximum))
        self.overburn[where] = np.fmax(self.overburn[where], reduced(over, np.fmax))
        idle = float(self.develop(np.zeros(1))[0])
        if f == 1:
            self.developed[where] = self.develop(dose)
        else:
            self.developed[where] += reduced(self.develop(dose) - idle, np.add) / f**2


def _join_cells(cells: list[np.ndarray], values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    if not cells:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate(cells), np.concatenate(values)


def _hot_regions(
    cells: np.ndarray, values: np.ndarray, limit: float, median: float, width: int
) -> list[tuple[float, int, int, int]]:
    """Connected regions of cells above the limit: largest value, its row and column, number of cells."""
    values = values / median
    hot = values > limit
    order = np.argsort(cells[hot])
    cells, values = cells[hot][order], values[hot][order]
    if not len(cells):
        return []
    pairs = []
    for step in (1, width):
        other = np.searchsorted(cells, cells + step)
        there = other < len(cells)
        there[there] = cells[other[there]] == cells[there] + step
        if step == 1:
            there &= (cells + 1) % width != 0
        pairs.append((np.flatnonzero(there), other[there]))
    ends = np.concatenate([np.stack(pair) for pair in pairs], axis=1)
    graph = coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), shape=(len(cells),) * 2)
    count, label = connected_components(graph, directed=False)
    sizes = np.bincount(label, minlength=count)
    first = np.lexsort((cells, -values, label))
    first = first[np.flatnonzero(np.append(True, np.diff(label[first]) != 0))]
    found = [
        (float(values[k]), int(cells[k] // width), int(cells[k] % width), int(sizes[label[k]])) for k in first
    ]
    return sorted(found, key=lambda one: -one[0])
