"""Estimates of a fit: each parameter with its standard error and unit, as plain data and as a table.

Decisions 0125.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Self

import numpy as np

from ...scene.units import pretty, raised_powers
from ..blocks.html_tables import table

HEAD = ("parameter", "value", "standard error", "unit")
"""The columns of a table of estimates."""
SHOWN = 6
"""Components of one parameter that a table shows; the others are summarised."""


@dataclass(frozen=True)
class Estimate:
    """One parameter: labels, values, standard errors (NaN: none) of its components; which are at a bound.

    Numbers are in `unit`, the run's; tables have them in the unit that a user gave, `shown_unit`, of which
    one is `shown_size` in the run's ("": in the run's unit).
    """

    name: str
    unit: str
    labels: Sequence[str]
    values: np.ndarray
    errors: np.ndarray
    bounded: np.ndarray
    shown_unit: str = ""
    shown_size: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "components": list(self.labels),
            "values": self.values.tolist(),
            "standard_errors": [_known(error) for error in self.errors.tolist()],
            "at_bounds": [label for label, at in zip(self.labels, self.bounded, strict=True) if at],
            "shown_unit": self.shown_unit,
            "shown_size": self.shown_size,
        }

    @classmethod
    def of(cls, name: str, found: Mapping[str, Any]) -> Self:
        """The estimate with these plain data, as `as_dict` gives them."""
        errors = [np.nan if error is None else error for error in found["standard_errors"]]
        bounded = np.array([label in found["at_bounds"] for label in found["components"]], bool)
        shown = found.get("shown_unit", ""), found.get("shown_size", 1.0)  # absent in older files
        values = np.array(found["values"])
        return cls(name, found["unit"], found["components"], values, np.array(errors), bounded, *shown)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Label, value, standard error, unit of the first few components; then the range of the rest."""
        unit = raised_powers(self.shown_unit) if self.shown_unit else pretty(self.unit)
        values, errors = self.values / self.shown_size, self.errors / self.shown_size
        for k in range(min(len(self.labels), SHOWN)):
            value, error = rounded(values[k], errors[k])
            yield self.labels[k], value, "at its bound" if self.bounded[k] else error, unit
        if (rest := len(self.labels) - SHOWN) > 0:
            yield f"... {rest} more", _range(values[SHOWN:]), _range(errors[SHOWN:]), unit


@dataclass(frozen=True, repr=False)
class Estimates:
    """The result of a fit; printed it is a table of all parameters.

    `sigma`: the standard deviation of the observations, if it was estimated from the residuals. If it was
    given, `reduced` is chi^2 / (n - p), about 1 if the model and sigma are right.
    """

    outcome: str
    verdict: str
    iterations: int
    loss: float
    observations: int
    parameters: Sequence[Estimate]
    errors_from: str
    sigma: float | None = None
    reduced: float | None = None
    undetermined: Sequence[str] = ()
    held_out: float | None = None
    """The loss of what was held out, if anything was."""

    @classmethod
    def of(cls, found: Mapping[str, Any], verdict: str) -> Self:
        """The estimates with these plain data, as `as_dict` gives them."""
        return cls(
            found["outcome"],
            verdict,
            found["iterations"],
            found["loss"],
            found["observations"],
            [Estimate.of(name, one) for name, one in found["parameters"].items()],
            found["errors_from"],
            found["sigma"],
            found["reduced_chi_squared"],
            found["undetermined"],
            found.get("held_out"),
        )

    @property
    def ended(self) -> bool:
        """True if the search reached a minimum."""
        return self.outcome in ("converged", "settled")

    @property
    def judgement(self) -> str:
        """Goodness of fit in words: chi^2 / (n - p), and its logarithm, scatter by sqrt(2 / (n - p))."""
        reduced = 1.0 if self.reduced is None else self.reduced
        spare = self.observations - sum(len(p.labels) for p in self.parameters)
        scatter = 5.0 * np.sqrt(2.0 / max(spare, 1))
        if np.exp(-scatter) <= reduced <= 1.0 + scatter:
            return "about 1 if the model and sigma are right"
        if reduced < 1.0:
            return "far below 1: the data are nearer to the model than sigma says"
        return f"far from 1: the model is wrong, or sigma too small by a factor of {np.sqrt(reduced):.3g}"

    def head(self) -> list[str]:
        """How the fit ended, its loss, and what chi^2 says: lines above a table of the parameters."""
        data = f" over {self.observations} observations" if self.observations else ""
        found = [self.verdict, f"loss: {self.loss:.6g}{data}"]
        if self.held_out is not None:
            found.append(f"loss of what was held out: {self.held_out:.6g}")
        if self.reduced is not None:
            found.append(f"chi^2 / (n - p) = {self.reduced:.3g} ({self.judgement})")
        return found

    def rows(self) -> list[tuple[str, str, str, str]]:
        """The rows of the table, under `HEAD`."""
        return [row for parameter in self.parameters for row in parameter.rows()]

    def foot(self) -> list[str]:
        """Where the errors come from, and what the data leave open: lines below the table."""
        sigma = f" = {self.sigma:.3g}" if self.sigma is not None else ""
        found = [f"standard errors: {self.errors_from}{sigma}"]
        if not self.ended:
            found.append("they belong to the last iterate, which is not a minimum yet")
        return found + [f"not determined by the data: {one} (each in its scale)" for one in self.undetermined]

    def __str__(self) -> str:
        return "\n".join([*self.head(), *aligned(HEAD, self.rows()), *self.foot()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [escape(line) for line in (*self.head(), *self.foot())]
        return f"{table(HEAD, self.rows())}<p>{'<br>'.join(lines)}</p>"

    def as_dict(self) -> dict[str, Any]:
        """The content of fit.json, without wall-clock times."""
        held_out = {} if self.held_out is None else {"held_out": self.held_out}
        return {
            "outcome": self.outcome,
            "iterations": self.iterations,
            "loss": self.loss,
            **held_out,
            "observations": self.observations,
            "errors_from": self.errors_from,
            "sigma": self.sigma,
            "reduced_chi_squared": self.reduced,
            "undetermined": list(self.undetermined),
            "parameters": {p.name: p.as_dict() for p in self.parameters},
        }


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in plain text, its columns three spaces apart."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["   ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in (head, *rows)]
    return [lines[0].rstrip(), "─" * len(lines[0]), *(line.rstrip() for line in lines[1:])]


def rounded(value: float, error: float) -> tuple[str, str]:
    """A value to the second digit of its error, and the error: ("0.00028583", "1.2e-08")."""
    if not (np.isfinite(error) and error > 0.0):
        return f"{value:.10g}", "" if np.isnan(error) else f"{error:.2g}"
    last = int(np.floor(np.log10(float(f"{error:.1e}")))) - 1
    near = round(value, -last)
    digits = int(np.floor(np.log10(abs(near)))) - last + 1 if near else 1
    shown = f"{near:#.{min(digits, 17)}g}" if near else f"{0.0:.{max(-last, 0)}f}"
    return _undotted(shown), _undotted(f"{error:#.2g}")


def _undotted(number: str) -> str:
    """Without a trailing point: 8e-07."""
    return number.replace(".e", "e").rstrip(".")


def combination(direction: np.ndarray, labels: Sequence[str]) -> str:
    """`m[saturn] - 0.5 gravity.G`: a direction of scaled variables in words."""
    terms = [(c, label) for c, label in zip(direction, labels, strict=True) if c]
    parts = [
        f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else f'{abs(c):.3g} '}{label}" for c, label in terms
    ]
    shown = parts if len(parts) <= SHOWN else [*parts[:SHOWN], f"... ({len(parts)} terms)"]
    return " ".join(shown).removeprefix("+ ")


def _known(number: float) -> float | None:
    return number if np.isfinite(number) else None


def _range(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if known.size else ""
