"""A simulation as HTML tables, which a notebook shows: its fields, terms with their parameters, stepper."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from ...potential.potential import Potential
from ...scene.units import UnitSystem, pretty

SHOWN = 4
"""Numbers of one parameter that are written out; of more, the least and the greatest."""
CELL = 'style="text-align: left; padding: 2px 16px 2px 0; vertical-align: top"'


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as HTML; a head of empty titles and columns without a value are left out."""
    lists = [[str(cell) for cell in row] for row in rows]
    kept = [k for k in range(len(head)) if any(row[k] for row in lists)]
    head, rows = [head[k] for k in kept], [[row[k] for k in kept] for row in lists]
    titles = "".join(f"<th {CELL}>{escape(title)}</th>" for title in head)
    lines = ("".join(f"<td {CELL}>{escape(str(cell))}</td>" for cell in row) for row in rows)
    top = f"<thead><tr>{titles}</tr></thead>" if any(head) else ""
    return f"<table>{top}<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def of_simulation(simulation: Any) -> str:
    """The tables of a `Simulation`."""
    units, stepper = simulation.units, simulation.stepper
    title = simulation.scene.title or str(simulation.scene.path)
    clock = [("step", stepper.step)]
    if stepper.residual is None:
        clock += [("time", _quantity(stepper.time, units.symbol("s")))]
        clock += [("dt", _quantity(stepper.dt, units.symbol("s")))]
    facts = [("stepper", stepper.name), *clock]
    if simulation.last:
        facts.append(("steps of the scene", simulation.last))
    fields = (
        (name, " × ".join(map(str, one.shape)), one.dtype.name, pretty(units.symbol(one.unit)))
        for name, one in simulation.fields.items()
    )
    return "\n".join(
        [
            f"<p><b>{escape(title)}</b></p>",
            table(("", ""), facts),
            table(("field", "shape", "type", "unit"), fields),
            table(("term", "over", "parameter", "value"), _terms(simulation.potentials, units)),
        ]
    )


def _terms(potentials: Iterable[Potential], units: UnitSystem) -> Iterator[tuple[str, str, str, str]]:
    """A row for each parameter of each term; of a term without any, one."""
    for potential in potentials:
        for name, part in potential.parts.items():
            over = str(getattr(part.energy, "over", "stages"))
            rows = [(name, over, "", "")]
            for argument in getattr(part, "parameters", {}):
                unit = units.symbol(part.energy.roles[argument].unit)
                value = _numbers(potential.parameter(part.address(argument)), unit)
                rows.append(("", "", argument, value))
            if len(rows) > 1:
                rows[1] = (name, over, *rows[1][2:])
                rows = rows[1:]
            yield from rows


def _numbers(values: np.ndarray, unit: str) -> str:
    flat = np.asarray(values, np.float64).ravel()
    if flat.size == 1:
        return _quantity(float(flat[0]), unit)
    if flat.size <= SHOWN:
        text = ", ".join(f"{value:.6g}" for value in flat)
    else:
        text = f"{flat.size:,} values, {flat.min():.4g} to {flat.max():.4g}"
    return f"{text} {pretty(unit)}".rstrip()


def _quantity(number: float, unit: str) -> str:
    return f"{number:.8g} {pretty(unit)}".rstrip()
