"""A macroscopic stress on a body that repeats, whose box is sought with its positions.

    U = -V0 P : F,     F^T = h0^-1 h,     V0 = |det h0|

h (d, d) [m] the box, rows of edges, h0 that at rest; P (d, d) [Pa] the macroscopic first Piola-Kirchhoff
stress: force per area at rest, a row for each axis of the force. In the plane V0 has the thickness [m^3].

Decisions 0166.
"""

from typing import Annotated

from minusgrad import bind
from minusgrad.plugin import (
    Box,
    Compound,
    CompoundContext,
    Parameter,
    Quantity,
    Record,
    Table,
    UserError,
    local_energy,
    quantities,
    ti,
)

AT_REST = ("rest_box", "rest_volume")
"""The tables of a state that repeats."""
Pressure = Annotated[float | str, Quantity("Pa")]


@local_energy(
    "macroscopic_load",
    over=("box",),
    box=Box(),
    rest_box=Table("m^-1", axes=2, about="Inverse of the box at rest, rows of edges."),
    rest_volume=Table("m^3", axes=1, about="Volume of the cell at rest; in the plane with its thickness."),
    stress=Parameter("Pa", ("d", "d"), about="Macroscopic first Piola-Kirchhoff stress, row by row."),
)
def macroscopic_load(box, rest_box, rest_volume, stress):
    """The work of a macroscopic stress on the box of a body that repeats."""
    work = 0.0
    for i in ti.static(range(box.n)):
        for j in ti.static(range(box.n)):
            for k in ti.static(range(box.n)):
                work += stress[j, i] * rest_box[i, k] * box[k, j]
    return -rest_volume[0] * work


class MeanStress(Record):
    """The work of a macroscopic stress on a body that repeats, whose search seeks the box, too."""

    name: str = "mean_stress"
    """Name of the term in reports and for other keys."""
    stress: tuple[tuple[Pressure, ...], ...]
    """Macroscopic first Piola-Kirchhoff stress, row by row: force per area at rest."""

    def make(self, context: CompoundContext) -> Compound:
        tables = {name: context.state.tables[name] for name in AT_REST if name in context.state.tables}
        if len(tables) < len(AT_REST):
            raise UserError(f"{self.name}: is of a body that repeats, got another; give [state] periodic")
        d = len(tables[AT_REST[0]])
        if (rows := [len(row) for row in self.stress]) != [d] * d:
            raise UserError(f"stress: needs {d} rows of {d} numbers, got rows of {rows}; correct it")
        term = bind(
            macroscopic_load,
            context.fields,
            name=self.name,
            sizes={"box": 1},
            tables=tables,
            parameters={"stress": quantities(self, context.units)["stress"]},
            units=context.units,
        )
        return Compound([term])


COMPOUNDS = {"mean_stress": MeanStress}
