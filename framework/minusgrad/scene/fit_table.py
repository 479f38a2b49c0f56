"""`[fit]`: the parameters, losses and method of a parameter estimation.

[fit]
of = "run"                     or "equilibrium": of the minimum that the scene's stepper finds
method = "gauss_newton"        or "lbfgs" (pairs, first), "adam" (rate, clip),
                               "gradient_descent" (rate, first), "optimality_criteria" (move)
iterations = 30
memory = "1 GB"                for the stored states of the adjoint
members = "experiments"        the members of [ensemble] share what is fitted; or "starts": a fit of each

[fit.parameters.m]             an initial field, or a parameter: "spring.k"
body = "saturn"
scale = "1e-4 Msun"

[fit.constraint]               of optimality_criteria: the mean of this field is at most 0.5
field = "density"
mean = 0.5

[fit.vary]                     drawn anew in each iteration
"runtime.seed" = { anew = true }                           all that [state] draws at random
"spring.k" = { normal = ["3 N/m", "0.1 N/m"] }             or uniform, lognormal, jitter

[fit.held_out]                 the loss of other draws, or of members that the fit does not see
every = 100
draws = 20

[[fit.loss]]
kind = "misfit"                or any energy; its keys are those of the kind

Decisions 0304.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, cast
from warnings import catch_warnings

from pydantic import BaseModel, Field, ValidationInfo, create_model, field_validator, model_validator

from ..engine import memory as memories
from .ensemble_table import Pair, Value, VaryTable
from .records import AnyBlock, Record

Number = float | str
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0.0)]

SQUARES = ("misfit",)
"""Losses that are sums of squares."""
OWNERS = {
    "rate": ("adam", "gradient_descent"),
    "clip": ("adam",),
    "pairs": ("lbfgs",),
    "first": ("lbfgs", "gradient_descent"),
    "move": ("optimality_criteria",),
}
"""The methods that a key belongs to."""


class SoughtTable(Record):
    """`[fit.parameters.NAME]`: bounds, start and scale of a parameter.

    `body` limits an initial field to these nodes. `start`: one value, or one for each node or element
    (default: the scene's). `scale`: the size of a significant change (default: the largest initial value).
    `rate` multiplies its steps in first-order methods.
    """

    body: str | tuple[str, ...] | None = None
    """Limits an initial field to the nodes of a body, or of several (default: all nodes)."""
    start: Number | tuple[Number, ...] | tuple[tuple[Number, ...], ...] | None = None
    """Start of the search, one value or one for each node, in the parameter's unit (default: the scene's)."""
    scale: Number | None = None
    """Size of a significant change, in the parameter's unit (default: the largest initial value)."""
    lower: Number | None = None
    """Lower bound, in the parameter's unit (default: none)."""
    upper: Number | None = None
    """Upper bound, in the parameter's unit (default: none)."""
    rate: Positive = 1.0
    """Factor of this parameter's steps in methods of first order."""


class MeanTable(Record):
    """`[fit.constraint]`: the mean of a field over its nodes may not exceed `mean`."""

    field: str
    """The field, one of the fitted ones."""
    mean: Number
    """The largest mean over its nodes, in the field's unit."""


DRAWN = ("uniform", "normal", "lognormal", "jitter")
"""The distributions of numbers that a fit draws anew."""
SEEDS = 1 << 52
"""Seeds that are drawn are below: whole numbers in double precision."""


class DrawTable(Record):
    """`[fit.vary]`: the distribution from which one key is drawn anew in each iteration."""

    uniform: Pair | None = None
    """Bounds [a, b] of a uniform distribution, in the unit of the key (default: none)."""
    normal: Pair | None = None
    """Mean and standard deviation of a normal distribution, in the unit of the key (default: none)."""
    lognormal: Pair | None = None
    """Median, in the unit of the key, and standard deviation of the logarithm (default: none)."""
    jitter: Value | None = None
    """Standard deviation of a normal displacement, in the unit of the key (default: none)."""
    anew: Literal[True] | None = None
    """Draw a new seed; for "runtime.seed", from which `[state]` draws (default: no seed is drawn)."""
    body: str | tuple[str, ...] | None = None
    """The nodes or elements that are drawn: a body, or several (default: all)."""

    @property
    def kind(self) -> str:
        """The distribution, one of DRAWN, or "anew"."""
        return next(kind for kind in (*DRAWN, "anew") if getattr(self, kind) is not None)

    @property
    def way(self) -> VaryTable:
        """The same as a way to vary a key of members; a seed is uniform."""
        given = {"uniform": (0, SEEDS)} if self.anew else {self.kind: getattr(self, self.kind)}
        return VaryTable.model_construct(**given, body=self.body)

    @model_validator(mode="after")
    def _one_kind(self) -> "DrawTable":
        given = [kind for kind in (*DRAWN, "anew") if getattr(self, kind) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"needs one of {', '.join(DRAWN)}, got {got}; say from what it is drawn")
        return self


class HeldOutTable(Record):
    """`[fit.held_out]`: the loss of what the fit does not see, recorded beside its own as `held_out`.

    It is the mean over `draws` of `[fit.vary]` that no iteration has, always the same ones; of experiments
    over these `members`, which then take no part in the fit, times the number of those that do.
    """

    every: Annotated[int, Field(ge=1)]
    """Iterations from one evaluation to the next; the first one is at the start."""
    draws: Annotated[int, Field(ge=1)] = 1
    """Number of draws that no iteration of the fit has."""
    members: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    """Numbers of the members of [ensemble] that are held out (default: none)."""


class FitTable(Record):
    """`[fit]`: a parameter estimation; `gradient` and `change` are tolerances, as for any minimiser."""

    of: Literal["run", "equilibrium"] = "run"
    """What is fitted: the run, or the equilibrium that the scene's minimiser finds."""
    parameters: dict[str, SoughtTable] = Field(min_length=1)
    """By name, such as "spring.k" or an initial field: bounds, start and scale of a parameter."""
    loss: tuple[AnyBlock, ...] = Field(min_length=1)
    """Losses, whose sum is minimised: misfits to measurements, or any energy."""
    method: Literal["gauss_newton", "lbfgs", "adam", "gradient_descent", "optimality_criteria"]
    """The minimiser of the loss; "gauss_newton" is for misfits alone."""
    iterations: Count
    """The largest number of iterations."""
    gradient: Annotated[float, Field(ge=0.0)] | None = None
    """Converged when no component of the scaled gradient of the loss exceeds it (default: none)."""
    change: Annotated[float, Field(ge=0.0)] | None = None
    """Settled when no scaled parameter changes by more than this (default: gauss_newton 1e-8, else none)."""
    rate: Positive | None = None
    """Length of the steps of "adam" in scaled parameters (default: 1e-3); of "gradient_descent" the factor
    of the slope (default: none, the steps are tried)."""
    clip: Positive | None = None
    """Norm to which longer gradients are shortened by "adam" (default: none)."""
    pairs: Annotated[int, Field(ge=1)] | None = None
    """Number of stored pairs of "lbfgs" (default: 10)."""
    first: Positive | None = None
    """Largest change of a scaled parameter in the first trial of "lbfgs" and "gradient_descent" (default:
    0.1)."""
    move: Positive | None = None
    """Largest change of a density in one iteration of "optimality_criteria" (default: 0.2)."""
    constraint: MeanTable | None = None
    """Bound of the mean of a field, for "optimality_criteria" (default: none)."""
    memory: int | str = "1 GB"
    """Memory for stored states of the adjoint, such as "1 GB", or a number of bytes."""
    members: Literal["experiments", "starts"] | None = None
    """Members of [ensemble] share what is fitted, or are starts of a fit of each (default: no members)."""
    batch: Annotated[int, Field(ge=1)] | None = None
    """Number of experiments that an iteration sees, drawn anew (default: all)."""
    vary: Mapping[str, DrawTable] = {}
    """By key, such as "spring.k" or "state.x": what is drawn anew in each iteration."""
    held_out: HeldOutTable | None = None
    """The loss of draws or members that the fit does not see (default: none)."""
    save_every: Annotated[int, Field(ge=1)] | None = None
    """Iterations between checkpoints (default: at most a hundred checkpoints in all)."""

    @field_validator("method")
    @classmethod
    def _has_squares(cls, method: str, info: ValidationInfo) -> str:
        others = [loss.kind for loss in info.data.get("loss", ()) if loss.kind not in SQUARES]
        if method == "gauss_newton" and others:
            raise ValueError(
                f"needs a loss that is a sum of squares, kind = \"misfit\", and '{others[0]}' is none that it"
                ' knows; use method = "lbfgs" or "adam"'
            )
        return method

    @model_validator(mode="after")
    def _is_constrained(self) -> "FitTable":
        if self.method == "optimality_criteria" and self.constraint is None:
            raise ValueError('method "optimality_criteria" needs a [fit.constraint]; give its field and mean')
        return self

    @field_validator("constraint")
    @classmethod
    def _constraint_belongs(cls, value: MeanTable | None, info: ValidationInfo) -> MeanTable | None:
        method = info.data.get("method")
        if value is not None and method not in (None, "optimality_criteria"):
            raise ValueError(f'[fit.constraint] belongs to "optimality_criteria"; "{method}" has none')
        return value

    @field_validator("rate", "clip", "pairs", "first", "move")
    @classmethod
    def _key_belongs(cls, value: float | None, info: ValidationInfo) -> float | None:
        owners, method = OWNERS[str(info.field_name)], info.data.get("method")
        if method is not None and method not in owners:
            listed = " and ".join(f'"{owner}"' for owner in owners)
            raise ValueError(f'belongs to method = {listed}; "{method}" does not have it')
        return value

    @model_validator(mode="after")
    def _is_drawn(self) -> "FitTable":
        drawn = "vary" if self.vary else "batch" if self.batch is not None else None
        tried = self.method == "gradient_descent" and self.rate is None
        if drawn is not None and (self.method not in OWNERS["rate"] or tried):
            got = f'"{self.method}"' + (" without a `rate`, whose steps are tried" if tried else "")
            raise ValueError(
                f"{drawn}: draws the loss anew in each iteration, and the method compares losses of several"
                f' points, got {got}; use "adam", or "gradient_descent" with a `rate`'
            )
        tolerance = "gradient" if self.gradient is not None else "change" if self.change is not None else None
        if drawn is not None and tolerance is not None:
            raise ValueError(
                f"{tolerance}: says nothing of a loss that is drawn anew (`{drawn}`), got"
                f" {getattr(self, tolerance):g}; leave it out"
            )
        if (self.batch is not None or self._held_members) and self.members != "experiments":
            key = "batch" if self.batch is not None else "held_out.members"
            raise ValueError(
                f'{key}: needs [ensemble] and members = "experiments", got {self.members or "no members"};'
                " add them, or leave it out"
            )
        if self.held_out is not None and not self.vary and not self._held_members:
            raise ValueError(
                "held_out: needs draws of [fit.vary] or `members` that the fit does not see, got neither;"
                " add one of them"
            )
        if self.held_out is not None and self.members == "starts":
            raise ValueError(
                'held_out: is the loss of one fit, got members = "starts", which are many; leave it out'
            )
        return self

    @property
    def _held_members(self) -> tuple[int, ...]:
        return () if self.held_out is None else self.held_out.members or ()

    @field_validator("memory")
    @classmethod
    def _is_a_size(cls, value: int | str) -> int | str:
        memories.bytes_of(value)
        return value

    @property
    def budget(self) -> int:
        """Bytes for stored states."""
        return memories.bytes_of(self.memory)

    @property
    def between_saves(self) -> int:
        """Iterations from one checkpoint to the next; by default at most a hundred checkpoints."""
        return self.save_every or -(-max(self.iterations, 1) // 100)

    @property
    def own_keys(self) -> dict[str, float | int]:
        """The keys of the method that were given, by the names of its arguments."""
        names = {"rate": "rate", "clip": "clip", "pairs": "memory", "first": "first", "move": "move"}
        return {a: v for key, a in names.items() if (v := getattr(self, key)) is not None}


class Looked(Record):
    """The steps at which a loss is evaluated: the last one, a list, or every n (0 included)."""

    steps: Literal["last"] | tuple[Count, ...] | None = None
    """The steps at which the loss is evaluated (default: the last one)."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Evaluate the loss every so many steps, 0 included (default: as `steps` says)."""

    @field_validator("steps")
    @classmethod
    def _require_some_steps(cls, steps: object) -> object:
        if steps == ():
            raise ValueError("names no step; leave it out for the last one")
        return steps

    @field_validator("every")
    @classmethod
    def _one_or_the_other(cls, every: int | None, info: ValidationInfo) -> int | None:
        if every is not None and info.data.get("steps") is not None:
            raise ValueError("either `steps` or `every`, not both")
        return every

    def looked_at(self, last: int) -> tuple[int, ...]:
        """The steps, of a run that ends at step `last`."""
        if self.every is not None:
            return tuple(range(0, last + 1, self.every))
        return tuple(sorted(set(self.steps))) if isinstance(self.steps, tuple) else (last,)


class Misfit(Record):
    """Misfit to measurements of a field: sum of |field - target|^2 / (2 sigma^2) over nodes.

    `data`: a CSV table, or a trajectory of ours in HDF5; `{member}` in its name, as in "run_{member:02}.csv",
    is the number of a member of [ensemble], whose rows a column `member` of a table says, too. `sigma` is the
    standard deviation of one number, in the field's unit; if it is not given, it is estimated from the
    residuals. `unit` and `time_unit` are those of a table (default: the run's units).
    """

    name: str | None = None
    """Name of the loss in reports (default: the kind)."""
    field: str
    """The field that was measured."""
    body: str | tuple[str, ...] | None = None
    """The nodes that were measured: a body, or several (default: all)."""
    data: str
    """A CSV table or an HDF5 trajectory of measurements; `{member}` stands for a member's number."""
    sigma: Number | None = None
    """Standard deviation of one number, in the field's unit (default: from the residuals)."""
    unit: str | None = None
    """Unit of the values in a CSV table (default: the run's)."""
    time_unit: str | None = None
    """Unit of the times in a CSV table (default: the run's)."""


LOSSES: Mapping[str, type[BaseModel]] = {"misfit": Misfit}
"""The losses of the core."""


@lru_cache(maxsize=1024)
def loss_model(model: type[Record]) -> type[Record] | None:
    """The model of an energy's block as a loss; None if an argument has the name of one of our keys."""
    if model.model_fields.keys() & Looked.model_fields.keys():
        return None
    bases: Any = (model, Looked)
    with catch_warnings(action="ignore"):  # a key may be called like one of pydantic's methods
        return cast(
            "type[Record]", create_model(f"{model.__name__}_loss", __base__=bases, __doc__=model.__doc__)
        )
