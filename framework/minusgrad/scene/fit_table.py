"""`[fit]`: the parameters, losses and method of a parameter estimation.

[fit]
of = "run"                     or "equilibrium": of the minimum that the scene's stepper finds
method = "gauss_newton"        or "lbfgs" (pairs, first), "adam" (rate, clip), "optimality_criteria" (move)
iterations = 30
memory = "1 GB"                for the stored states of the adjoint
members = "experiments"        the members of [ensemble] share what is fitted; or "starts": a fit of each

[fit.parameters.m]             an initial field, or a parameter: "spring.k"
body = "saturn"
scale = "1e-4 Msun"

[fit.constraint]               of optimality_criteria: the mean of this field is at most 0.5
field = "density"
mean = 0.5

[[fit.loss]]
kind = "misfit"                or any energy; its keys are those of the kind
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, cast
from warnings import catch_warnings

from pydantic import BaseModel, Field, ValidationInfo, create_model, field_validator, model_validator

from ..engine import memory as memories
from .records import AnyBlock, Record

Number = float | str
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0.0)]

SQUARES = ("misfit",)
"""Losses that are sums of squares."""
OWNERS = {"rate": "adam", "clip": "adam", "pairs": "lbfgs", "first": "lbfgs", "move": "optimality_criteria"}
"""The method that a key belongs to."""


class SoughtTable(Record):
    """`[fit.parameters.NAME]`: bounds, start and scale of a parameter.

    `body` limits an initial field to these nodes. `start`: one value, or one for each node or element
    (default: the scene's). `scale`: the size of a significant change (default: the largest initial value).
    `rate` multiplies its steps in first-order methods.
    """

    body: str | tuple[str, ...] | None = None
    start: Number | tuple[Number, ...] | tuple[tuple[Number, ...], ...] | None = None
    scale: Number | None = None
    lower: Number | None = None
    upper: Number | None = None
    rate: Positive = 1.0


class MeanTable(Record):
    """`[fit.constraint]`: the mean of a field over its nodes may not exceed `mean`."""

    field: str
    mean: Number


class FitTable(Record):
    """The section as a whole; `gradient` and `change` are tolerances, as for any minimiser."""

    of: Literal["run", "equilibrium"] = "run"
    parameters: dict[str, SoughtTable] = Field(min_length=1)
    loss: tuple[AnyBlock, ...] = Field(min_length=1)
    method: Literal["gauss_newton", "lbfgs", "adam", "optimality_criteria"]
    iterations: Count
    gradient: Annotated[float, Field(ge=0.0)] | None = None
    change: Annotated[float, Field(ge=0.0)] | None = None
    rate: Positive | None = None
    clip: Positive | None = None
    pairs: Annotated[int, Field(ge=1)] | None = None
    first: Positive | None = None
    move: Positive | None = None
    constraint: MeanTable | None = None
    memory: int | str = "1 GB"
    members: Literal["experiments", "starts"] | None = None
    save_every: Annotated[int, Field(ge=1)] | None = None

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
        constrained = self.method == "optimality_criteria"
        if constrained and self.constraint is None:
            raise ValueError('method "optimality_criteria" needs a [fit.constraint]; give its field and mean')
        if self.constraint is not None and not constrained:
            raise ValueError(f'[fit.constraint] belongs to "optimality_criteria"; "{self.method}" has none')
        return self

    @field_validator("rate", "clip", "pairs", "first", "move")
    @classmethod
    def _belongs(cls, value: float | None, info: ValidationInfo) -> float | None:
        owner, method = OWNERS[str(info.field_name)], info.data.get("method")
        if method not in (None, owner):
            raise ValueError(f'belongs to method = "{owner}"; "{method}" does not have it')
        return value

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
    def own(self) -> dict[str, float | int]:
        """The keys of the method that were given, by the names of its arguments."""
        names = {"rate": "rate", "clip": "clip", "pairs": "memory", "first": "first", "move": "move"}
        return {a: v for key, a in names.items() if (v := getattr(self, key)) is not None}


class Looked(Record):
    """The steps at which a loss is evaluated: the last one, a list, or every n (0 included)."""

    steps: Literal["last"] | tuple[Count, ...] | None = None
    every: Annotated[int, Field(ge=1)] | None = None

    @field_validator("steps")
    @classmethod
    def _some(cls, steps: object) -> object:
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
    field: str
    body: str | tuple[str, ...] | None = None
    data: str
    sigma: Number | None = None
    unit: str | None = None
    time_unit: str | None = None


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
