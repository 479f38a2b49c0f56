"""The data of a fit beside the model that was found: a row for each measured number.

    loss  member  time  node  component  measured  model  sigma  unit  field

`member` counts experiments from 0; sigma is empty without one; `field` is what was measured, by the name
under which it is recorded. Numbers are in the run's units.

Decisions 0245.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...adjoint.losses import Loss
from ...engine import storage
from .losses import FitLosses

HEAD = ("loss", "member", "time", "node", "component", "measured", "model", "sigma", "unit", "field")
MOST = 100_000
"""Rows that are kept; of more, those of evenly spread nodes."""


class ComparedRow(NamedTuple):
    """Measured and computed values of one misfit at one time, (nodes, ...)."""

    loss: str
    member: int
    time: float
    nodes: np.ndarray
    measured: np.ndarray
    model: np.ndarray
    sigma: float | None
    unit: str
    field: str


def compared(observed: FitLosses, evaluate: Callable[[], Any]) -> list[ComparedRow]:
    """The rows of all misfits, as `evaluate`, which computes the loss, meets them; empty without misfits."""
    rows: list[ComparedRow] = []
    with _watched(observed, rows):
        evaluate()
    return rows


@contextmanager
def _watched(observed: FitLosses, rows: list[ComparedRow]) -> Iterator[None]:
    """Note the values that misfits meet."""
    misfits = [loss for loss in observed.losses if loss.data]
    try:
        for loss in misfits:
            loss.watch = _notes(loss, observed, rows)
        yield
    finally:
        for loss in misfits:
            loss.watch = None


def _notes(loss: Loss, observed: FitLosses, rows: list[ComparedRow]) -> Callable[[int, float], None]:
    (name,), units = loss.data, observed.simulation.units
    term = loss.potential.parts[name.partition(".")[0]]
    nodes, field = term.members("x"), term.fields["x"]
    sigma = float(term.parameters["sigma"].rows[0]) if observed.with_sigma else None
    unit, label = units.symbol(field.unit), observed.simulation.state.labels.get(field.name, field.name)
    seen: dict[str, Any] = {"step": -1, "member": 0}

    def note(step: int, t: float) -> None:
        if step <= seen["step"]:
            seen["member"] += 1
        seen["step"] = step
        measured = np.array(storage.host(term.data["target"]), np.float64)
        model = np.array(field.values, np.float64)[nodes]
        rows.append(ComparedRow(term.name, seen["member"], t, nodes, measured, model, sigma, unit, label))

    return note


def lines(rows: list[ComparedRow]) -> Iterator[str]:
    """The rows as lines of CSV with a head, each number with all digits."""
    yield ",".join(HEAD)
    every = -(-sum(row.measured.size for row in rows) // MOST)
    for row in rows:
        sigma = "" if row.sigma is None else repr(row.sigma)
        loss, field = _csv_cell(row.loss), _csv_cell(row.field)
        kept = zip(row.nodes[::every], row.measured[::every], row.model[::every], strict=True)
        for node, measured, model in kept:
            for k, pair in enumerate(zip(np.ravel(measured).tolist(), np.ravel(model).tolist(), strict=True)):
                numbers = ",".join(map(repr, pair))
                yield f"{loss},{row.member},{row.time!r},{node},{k},{numbers},{sigma},{row.unit},{field}"


def _csv_cell(text: str) -> str:
    """A text as CSV has it; names of users may have commas."""
    return '"{}"'.format(text.replace('"', '""')) if any(one in text for one in ',"\r\n') else text
