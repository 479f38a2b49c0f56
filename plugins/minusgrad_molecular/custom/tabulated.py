"""Tabulated functions of OpenMM: splines of one, two or three variables, and tables of whole numbers.

    Continuous1D, 2D, 3D    values at equal steps from min to max; natural cubic splines along each variable,
                            or periodic ones; 0 outside of [min, max]
    Discrete1D, 2D, 3D      the value at the nearest whole numbers

A cell of a spline is the Hermite polynomial of its corners' values and slopes,

    f(s) = h(s) f_0 + d(s) f'_0 + h(1 - s) f_1 - d(1 - s) f'_1,    h = (1 + 2 s)(1 - s)^2,  d = s (1 - s)^2

along each variable, 0 <= s <= 1, slopes times the step; those of the spline give the spline. A table has the
2^d values, slopes and mixed slopes of each point; it is computed once, and derivatives follow from its text.
OpenMM's Reference platform ends with an error where a Discrete function is outside of its table; here its
value is not a number there, and the run ends with the name of the term.
"""

from dataclasses import dataclass
from itertools import product
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import UserError, choices, printable

from .emission import Writer
from .trees import Call

AXES = ("x", "y", "z")
KINDS = {f"{kind}{d}DFunction": (kind, d) for kind in ("Continuous", "Discrete") for d in (1, 2, 3)}
"""Kind and number of variables by the type in a file."""
MOST = 10_000_000
"""Numbers of one table."""


@dataclass(frozen=True)
class Tabulated:
    """A function of a table. ranges: min and max of each variable of a spline; () of a Discrete function."""

    table: np.ndarray
    ranges: tuple[tuple[float, float], ...] = ()
    periodic: bool = False

    @property
    def arity(self) -> int:
        """How many variables it has."""
        return len(self.ranges) or self.table.ndim

    def call_text(self, argument: str, writer: Writer, call: Call) -> str:
        """The text of its value; `argument`: the name of the table in the source."""
        values = [writer.hold(writer.text_of(one)) for one in call.arguments]
        if not self.ranges:
            return self._lookup_text(argument, writer, values)
        return self._spline_text(argument, writer, values)

    def _lookup_text(self, table: str, writer: Writer, values: list[str]) -> str:
        wholes = [writer.hold(f"ti.floor({value} + 0.5)") for value in values]
        places = ", ".join(f"ti.cast({whole}, ti.i32)" for whole in wholes)
        inside = " & ".join(
            f"({whole} >= 0.0) & ({whole} < {float(size)})"
            for whole, size in zip(wholes, self.table.shape, strict=True)
        )
        known = writer.hold(f"ti.select({inside}, 1.0, 0.0)")
        return writer.hold(f"{table}[{places}] / {known}")

    def _spline_text(self, table: str, writer: Writer, values: list[str]) -> str:
        cells, bases, insides = [], [], []
        for value, (low, high), points in zip(values, self.ranges, self.table.shape, strict=False):
            step = (high - low) / (points - 1)
            if self.periodic:
                length = high - low
                value = writer.hold(f"{value} - {length!r} * ti.floor(({value} - {low!r}) / {length!r})")
            else:
                insides.append(f"({value} >= {low!r}) & ({value} <= {high!r})")
            along = writer.hold(f"({value} - {low!r}) * {1.0 / step!r}")
            cell = writer.hold(f"ti.min(ti.max(ti.floor({along}), 0.0), {points - 2.0!r})")
            s = writer.hold(f"{along} - {cell}")
            u = writer.hold(f"1.0 - {s}")
            cells.append(writer.hold(f"ti.cast({cell}, ti.i32)"))
            ends = ((s, u, ""), (u, s, "-"))
            bases.append(
                [
                    [
                        writer.hold(f"(1.0 + 2.0 * {near}) * {far} * {far}"),
                        writer.hold(f"{sign}{near} * {far} * {far}"),
                    ]
                    for near, far, sign in ends
                ]
            )
        value = "0.0"
        for corner in product(range(2), repeat=len(cells)):
            places = ", ".join(
                f"{cell} + {end}" if end else cell for cell, end in zip(cells, corner, strict=True)
            )
            for number, slopes in enumerate(product(range(2), repeat=len(cells))):
                factors = [basis[end][slope] for basis, end, slope in zip(bases, corner, slopes, strict=True)]
                value = writer.hold(f"{value} + {' * '.join(factors)} * {table}[{places}, {number}]")
        return writer.hold(f"ti.select({' & '.join(insides)}, {value}, 0.0)") if insides else value


def read_tabulated(what: str, one: Element) -> Tabulated:
    """The function in an element of a file. Raises `UserError` for sizes and ranges that cannot be."""
    what = f"{what}: function '{printable(one.get('name', '?'))}'"
    kind = one.get("type", "?")
    if kind not in KINDS:
        raise UserError(f"{what}: no type named '{printable(kind)}'{choices(kind, KINDS)}")
    kind, d = KINDS[kind]
    try:
        values = np.array([float(v.attrib["v"]) for v in one.iterfind("Values/Value")])
        names = AXES[:d] if d > 1 else ("",)
        sizes = [int(one.attrib[f"{axis}size"]) for axis in names] if d > 1 else [len(values)]
        spline = kind == "Continuous"
        ranges = [(float(one.attrib[f"{a}min"]), float(one.attrib[f"{a}max"])) for a in names if spline]
        periodic = one.get("periodic", "0") not in ("0", "false")
    except (KeyError, ValueError):
        raise UserError(
            f"{what}: needs its values, sizes and ranges as numbers, got others; write the file again"
        ) from None
    least = 2 if spline else 1
    if min(sizes) < least or len(values) != np.prod(sizes, dtype=float) or not np.isfinite(values).all():
        raise UserError(
            f"{what}: needs {' x '.join(map(str, sizes))} finite values, {least} at least along each"
            f" variable, got {len(values)}; write the file again"
        )
    if any(not low < high or not np.isfinite(high - low) for low, high in ranges):
        raise UserError(f"{what}: min must be below max, got {ranges}; correct them")
    if len(values) << (d if spline else 0) > MOST:
        raise UserError(f"{what}: has at most {MOST >> d:,} values, got {len(values):,}; take fewer")
    table = values.reshape(sizes, order="F")
    if not spline:
        return Tabulated(table)
    if periodic:
        table = _with_equal_ends(what, table)
    return Tabulated(slopes_of(table, periodic), tuple(ranges), periodic)


def _with_equal_ends(what: str, table: np.ndarray) -> np.ndarray:
    """The values of a periodic function. Raises `UserError` where the last ones are not the first ones."""
    if min(table.shape) < 3:
        raise UserError(
            f"{what}: a periodic function needs 3 values along each variable, got {min(table.shape)};"
            " add some"
        )
    for axis in range(table.ndim):
        first, last = np.take(table, 0, axis), np.take(table, -1, axis)
        if not np.array_equal(first, last):
            raise UserError(
                f"{what}: a periodic function needs equal values at min and max, got"
                f" {np.abs(first - last).max():g} between them; correct them"
            )
    return table


def slopes_of(values: np.ndarray, periodic: bool) -> np.ndarray:
    """Values (n, ...) with their slopes times the step, (n, ..., 2^d): f, f_z, f_y, f_yz, f_x, ...

    The slopes are those of cubic splines along each variable, natural or periodic.
    """
    from scipy.interpolate import CubicSpline

    found = values[..., None]
    for axis, size in enumerate(values.shape):
        spline = CubicSpline(np.arange(size), found, axis, "periodic" if periodic else "natural")
        slope = spline(np.arange(size), 1)
        found = np.stack([found, np.moveaxis(slope, 0, 0)], axis=-1).reshape(*values.shape, -1)
    return found
