"""Tables of convergence: published numbers of solids by three meshes of cells of order 2.

    python -m benchmarks.solid_convergence [TABLE ...] [--json FILE]

Each mesh halves the cells of the one before. `order` is that of the three values, log2 of the ratio of their
differences. Stresses are continued from the quadrature points of the cells at the node, and averaged. A
second table has them as the observer `stress` recovers them, and its estimate of the error in the energy
norm.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.observed_order import observed_order
from minusgrad_elastic import generators
from minusgrad_elastic.generators import Cell
from minusgrad_elastic.materials.linear import linear, linear_plane_stress
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.published import macneal_harder as beams
from minusgrad_elastic.published import nafems
from minusgrad_elastic.published.linear_statics import LinearBody, holding, mapped, node_at

FLAT: tuple[Cell, ...] = ("quadrilaterals", "triangles")
SPATIAL: tuple[Cell, ...] = ("hexahedra", "tetrahedra")
Parts = tuple[int, ...]


class Found(NamedTuple):
    """A value by one mesh; of a stress also the recovered one [MPa], and the estimate of the body's error."""

    value: float
    nodes: int
    recovered: float = math.nan
    estimate: float = math.nan


@dataclass(frozen=True)
class Table:
    """target: what is published; parts: of the coarsest mesh; value: by parts and cells."""

    name: str
    what: str
    target: float
    unit: str
    cells: tuple[Cell, ...]
    parts: Parts
    value: Callable[[Parts, Cell], Found]


@dataclass(frozen=True)
class Line:
    """A row: what three meshes gave, and CPU seconds of all."""

    table: str
    cells: str
    found: tuple[Found, ...]
    target: float
    seconds: float

    @property
    def order(self) -> float:
        """NaN where the values show none."""
        return observed_order(*(one.value for one in self.found))


def stress_found(body: LinearBody, node: int, axis: int, unit: float = 1.0) -> Found:
    """The direct stress at a node along an axis, in the way of both tables."""
    recovered, estimate = body.recovered_at(node)
    stress = [unit * float(P[axis, axis]) for P in (body.stress_at(node), recovered)]
    return Found(stress[0], len(body.mesh.points), stress[1], estimate)


def membrane(parts: Parts, cell: Cell) -> Found:
    """sigma_yy [MPa] of LE1 at D."""
    mesh = mapped(generators.rectangle((1.0, np.pi / 2), parts, cell, 2), nafems.elliptic)
    body = LinearBody(mesh, linear_plane_stress, nafems.STEEL, thickness=0.1)
    body.displaced(holding(mesh, bottom="y", top="x"), 10.0 * body.facet_load("right"))
    return stress_found(body, node_at(mesh, 2.0, 0.0), 1)


def plate(parts: Parts, cell: Cell) -> Found:
    """sigma_yy [MPa] of LE10 at D."""
    mesh = mapped(generators.box((1.0, np.pi / 2, 0.6), parts, cell, 2), nafems.elliptic)
    held, rim = holding(mesh, front="y", back="x", right="xy"), mesh.bodies["right"]
    held[rim[np.abs(mesh.points[rim, 2] - 0.3) < 1e-9], 2] = True
    body = LinearBody(mesh, linear, nafems.STEEL)
    body.displaced(held, -body.facet_load("top"))
    return stress_found(body, node_at(mesh, 2.0, 0.0, 0.6), 1)


def heated(parts: Parts, cell: Cell) -> Found:
    """sigma_zz [MPa] of LE11 at A."""
    mesh = mapped(generators.box((1.0, np.pi / 2, 7.0), parts, cell, 2), nafems.revolved)
    (points,) = mesh.at_points
    x, y, z = np.einsum("pk,pki->ip", points.shares, mesh.points[mesh.cells[points.cell]])
    body = LinearBody(mesh, nafems.heated, nafems.STEEL, {"temperature": np.hypot(x, y) + z})
    body.displaced(holding(mesh, front="y", back="x", bottom="z", top="z"))
    return stress_found(body, node_at(mesh, 1.0, 0.0, 0.0), 2, 1e-6)


def cook(parts: Parts, cell: Cell) -> Found:
    """Displacement of the middle of the loaded edge."""
    mesh = mapped(
        generators.rectangle((1.0, 1.0), parts, cell, 2),
        lambda s, t: (48.0 * s, 44.0 * s + t * (44.0 - 28.0 * s)),
    )
    body = LinearBody(mesh, linear_plane_stress, {"youngs_modulus": 1.0, "poissons_ratio": 1.0 / 3.0})
    u = body.displaced(holding(mesh, left="xy"), body.facet_load("right", np.array([0.0, 1.0 / 16.0])))
    return Found(float(u[node_at(mesh, 48.0, 52.0), 1]), len(mesh.points))


def of_beam(
    name: str, what: str, target: float, make: Callable[..., Mesh], moduli: beams.Moduli, axis: str
) -> Table:
    """The displacement of the end of a beam along an axis, in 6 x 1 x 1 cells and finer."""

    def value(parts: Parts, cell: Cell) -> Found:
        mesh = make(parts, cell)
        return Found(beams.displacement_of_the_end(mesh, moduli, axis), len(mesh.points))

    return Table(name, what, target, "", SPATIAL, (6, 1, 1), value)


def straight(slant: str) -> Callable[..., Mesh]:
    """The straight beam of these cells."""
    return lambda parts, cell: beams.straight(slant, parts, cell)


TABLES = (
    Table("LE1", "sigma_yy at D", 92.7, "MPa", FLAT, (8, 8), membrane),
    Table("LE10", "sigma_yy at D", -5.38, "MPa", SPATIAL, (2, 3, 2), plate),
    Table("LE11", "sigma_zz at A", -105.0, "MPa", SPATIAL, (1, 1, 7), heated),
    Table("Cook", "rise of the edge", 23.96, "", FLAT, (4, 4), cook),
    *(
        of_beam(f"straight beam, {slant}", "end, in the plane", 0.1081, straight(slant), beams.STRAIGHT, "z")
        for slant in beams.SLANTS
    ),
    of_beam("curved beam", "end, in the plane", 0.0885194, beams.curved, beams.CURVED, "x"),
    of_beam("curved beam", "end, out of it", 0.498302, beams.curved, beams.CURVED, "z"),
    of_beam("twisted beam", "end, along y", 1.753248e-3, beams.twisted, beams.TWISTED, "y"),
    of_beam("twisted beam", "end, along z", 5.424535e-3, beams.twisted, beams.TWISTED, "z"),
)
HEAD = (
    "| table | number | target | cells | nodes | coarse | half | quarter | error | order |\n"
    + "|---" * 10
    + "|"
)


RECOVERED = "| table | cells | coarse | half | quarter | error | estimates of the body |\n" + "|---" * 7 + "|"


def lines_of(table: Table) -> Iterator[Line]:
    """A row for each kind of cells."""
    for cell in table.cells:
        began = time.process_time()
        found = tuple(table.value(tuple(2**k * n for n in table.parts), cell) for k in range(3))
        yield Line(table.name, cell, found, table.target, time.process_time() - began)


def value_row(table: Table, line: Line) -> str:
    """The line of the first table in Markdown."""
    target = f"{table.target:.6g} {table.unit}".strip()
    nodes = ", ".join(str(one.nodes) for one in line.found)
    order = "" if math.isnan(line.order) else f"{line.order:.1f}"
    start = f"| {table.name} | {table.what} | {target} | {line.cells} | {nodes} | "
    return start + _values([one.value for one in line.found], table.target) + f" | {order} |"


def recovered_row(line: Line) -> str:
    """The line of the second table."""
    values = _values([one.recovered for one in line.found], line.target)
    estimates = ", ".join(f"{100.0 * one.estimate:.2g} %" for one in line.found)
    return f"| {line.table} | {line.cells} | {values} | {estimates} |"


def _values(values: list[float], target: float) -> str:
    error = 100.0 * (values[-1] / target - 1.0)
    return " | ".join([*(f"{value:.5g}" for value in values), f"{error:+.2f} %"])


def main(arguments: list[str]) -> None:
    """Print the tables of these names, such as LE1 or "straight beam"."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solid_convergence")
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--json", type=Path)
    given, found = parser.parse_args(arguments), []
    print(HEAD, flush=True)
    for table in TABLES:
        if given.tables and table.name.partition(",")[0] not in given.tables:
            continue
        for line in lines_of(table):
            print(value_row(table, line), flush=True)
            found.append(line)
    stresses = [line for line in found if not math.isnan(line.found[-1].recovered)]
    if stresses:
        print("\n" + "\n".join([RECOVERED, *map(recovered_row, stresses)]))
    if given.json:
        given.json.write_text(json.dumps([asdict(line) | {"order": line.order} for line in found], indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
