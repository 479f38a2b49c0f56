"""`[ensemble]`: many members of one scene, which differ in the values of some of its keys.

[ensemble]
members = 1024
member = 17                                                only this one, with the same bits
shard = [64, 128]                                          only members 64 to 127

[ensemble.vary]
"gravity.G" = { normal = [1.0, 0.01] }                     mean and standard deviation
"spring.k" = { lognormal = ["3 N/m", 0.2] }                median, and standard deviation of the logarithm
"spring.damping" = { uniform = [0.0, 0.1] }                or sobol: evenly over all such keys
"drag.c" = { list = [0.1, 0.2, 0.4] }                      member by member
"lift.c" = { table = "points.csv", column = "lift" }       the same from a file
"state.a" = { range = { from = "1 AU", to = "2 AU", count = 100 } }   each of them
"state.e" = { grid = [0.0, 0.1, 0.2] }                     with each of these: 300 members
"state.x" = { jitter = "1e-6 AU", body = "earth" }         normal displacements of an initial field

[ensemble.statistics]                                      mean and standard deviation of observables
of = ["total"]
quantiles = [0.05, 0.5, 0.95]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic_core import CoreSchema, core_schema

from .records import Record
from .validation_messages import value_in_messages

KINDS = ("uniform", "normal", "lognormal", "sobol", "jitter", "list", "table", "range", "grid")
"""The ways to vary a key, in the order in which messages list them."""
Count = Annotated[int, Field(ge=0)]
Number = float | str


@dataclass(frozen=True)
class Nested:
    """Marks a number or a quantity as text, or lists of them, nested as the values of a field are."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_refuse_nested)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "array"}]}


def _refuse_nested(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError("needs a number, a quantity or a list of them, not an empty list")
        return tuple(_refuse_nested(one) for one in value)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"needs a number, a quantity or a list of them, not {value_in_messages(value)}")
    return value


Value = Annotated[Any, Nested()]
Pair = Annotated[tuple[Value, ...], Field(min_length=2, max_length=2)]
Values = Annotated[tuple[Value, ...], Field(min_length=1)]


class RangeTable(Record):
    """`range`: `count` equidistant values, both ends included; or from one end in `step`s to the other."""

    start: Number = Field(alias="from")
    """The first value, a number or a quantity in the unit of the varied key."""
    to: Number
    """The last value, in the unit of the varied key."""
    count: Annotated[int, Field(ge=2)] | None = None
    """Number of equidistant values, both ends included (default: as `step` says)."""
    step: Number | None = None
    """Distance of the values, in the unit of the varied key (default: as `count` says)."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "RangeTable":
        if (self.count is None) is (self.step is None):
            got = "neither" if self.count is None else "both"
            raise ValueError(f"needs a `count` or a `step`, got {got}; give one of them")
        return self

    @model_serializer
    def _as_written(self) -> dict[str, Any]:
        given = {"from": self.start, "to": self.to, "count": self.count, "step": self.step}
        return {key: value for key, value in given.items() if value is not None}


class VaryTable(Record):
    """`[ensemble.vary]`: how one key is varied, and of an initial field on which bodies alone."""

    uniform: Pair | None = None
    """Bounds [a, b] of a uniform distribution, in the unit of the key (default: none)."""
    normal: Pair | None = None
    """Mean and standard deviation of a normal distribution, in the unit of the key (default: none)."""
    lognormal: Pair | None = None
    """Median, in the unit of the key, and standard deviation of the logarithm (default: none)."""
    sobol: Pair | None = None
    """Bounds [a, b], in the unit of the key, of points of a Sobol sequence (default: none)."""
    jitter: Value | None = None
    """Standard deviation of a normal displacement, in the unit of the key (default: none)."""
    list: Values | None = None
    """The values of the members, one after another, in the unit of the key (default: none)."""
    table: str | None = None
    """A CSV file with the values of the members in its rows (default: none)."""
    column: str | tuple[str, ...] | None = None
    """Column of the table, or several (default: the name of the key)."""
    unit: str | None = None
    """Unit of the column of the table (default: the run's)."""
    range: RangeTable | None = None
    """Equidistant values, which are multiplied out with those of other keys (default: none)."""
    grid: Values | None = None
    """Values, in the unit of the key, multiplied out with those of other keys (default: none)."""
    body: str | tuple[str, ...] | None = None
    """The nodes or elements that vary: a body, or several (default: all)."""

    @property
    def kind(self) -> str:
        """The way in which it is varied, one of KINDS."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> "VaryTable":
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"needs one of {', '.join(KINDS)}, got {got}; say how it is varied")
        of_file = [key for key in ("column", "unit") if getattr(self, key) is not None]
        if of_file and given != ["table"]:
            raise ValueError(f"`{of_file[0]}` belongs to a table, got {given[0]}; leave it out")
        return self


class StatisticsTable(Record):
    """`[ensemble.statistics]`: of observables over the members, recorded beside them while they run.

    `of`: names such as "total" (default: all observables). `quantiles`: between 0 and 1, besides mean and
    standard deviation. `only`: leave out the values of each member.
    """

    of: tuple[str, ...] = ()
    """Names of observables, such as "total" (default: all)."""
    quantiles: tuple[Annotated[float, Field(ge=0.0, le=1.0)], ...] = ()
    """Quantiles, between 0 and 1, beside mean and standard deviation."""
    only: bool = False
    """Record the statistics alone, without the values of each member."""


class EnsembleTable(Record):
    """`[ensemble]`: many members of the scene.

    `members` may be left out where lists, tables, ranges or grids fix it.

    Of all members those of a `shard` run, from its first number up to, not including, its second; or one
    `member`.
    `lanes`: small members share vectors; else they run one after another, with other rounding.
    """

    members: Annotated[int, Field(ge=1)] | None = None
    """Number of members (default: as lists, tables, ranges and grids have values)."""
    member: Count | None = None
    """Run this member alone, with the same bits (default: all)."""
    shard: Annotated[tuple[Count, ...], Field(min_length=2, max_length=2)] | None = None
    """Run members from the first number up to, not including, the second (default: all)."""
    lanes: bool = True
    """Let small members share the vectors of the processor; false: one after another."""
    vary: Mapping[str, VaryTable] = {}
    """By key, such as "gravity.G" or "state.x": how its values vary over the members."""
    statistics: StatisticsTable | None = None
    """Statistics of observables over the members, recorded while they run (default: none)."""

    @property
    def summary(self) -> str:
        """The number of members, as far as the scene says it without its files, and what they differ in."""
        sizes = {key: _value_count(how) for key, how in self.vary.items()}
        products = [size for key, size in sizes.items() if self.vary[key].kind in ("range", "grid")]
        count = prod(products) if products else self.members or max(sizes.values(), default=0)
        known = f"{count:,} members" if count and 0 not in products else "members"
        return f"{known} that differ in {', '.join(self.vary)}" if self.vary else known

    @model_validator(mode="after")
    def _require_something(self) -> "EnsembleTable":
        if not self.vary and self.members is None:
            got = "neither" if self.member is None else f"member = {self.member} alone; leave it out, or"
            cure = "; give one" if self.member is None else " give one"
            raise ValueError(f"needs a number of `members`, or keys in [ensemble.vary], got {got}{cure}")
        if self.member is not None and self.shard is not None:
            raise ValueError("needs one `member` or a `shard`, got both; leave one out")
        return self


def _value_count(how: VaryTable) -> int:
    """The number of values of a list, a grid or a range; 0 where it is not written."""
    if how.range is not None:
        return how.range.count or 0
    return len(how.list or how.grid or ())
