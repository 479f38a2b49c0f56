"""The values of all varied keys for all members of an ensemble, drawn before anything runs.

    points = Points(table, seed, varied)
    points.count, points.members, points.values("gravity.G")       (M,)

Random values are functions of seed, key, member, node and component; lists, tables and Sobol points go by the
member's number; ranges and grids are multiplied out, the first key of the file varying slowest.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Generic, TypeVar

import numpy as np

from ...errors import UserError
from ...scene.ensemble_table import EnsembleTable
from . import draws
from .ways_to_vary import Varied

K = TypeVar("K", bound=Varied)
BY_NUMBER = ("list", "table")
"""Ways to vary a key that give each member its own row."""
PRODUCTS = ("range", "grid")
"""Ways to vary a key whose values are combined with those of all others."""


class Points(Generic[K]):
    """The values of the varied keys of an ensemble.

    table: `[ensemble]` of the scene. seed: that of the scene. varied: the keys, by name. `count`: the members
    of the ensemble; `members`: the numbers of those that run, all or those that the table names. Raises
    `UserError` for numbers of values and members that contradict each other.
    """

    def __init__(self, table: EnsembleTable, seed: int, varied: Mapping[str, K]):
        self.table, self.seed, self.varied = table, seed, varied
        self.lengths = {key: len(one.listed) for key, one in varied.items() if one.listed is not None}
        self.count = self._count()
        if table.member is not None and table.member >= self.count:
            raise UserError(
                f"member: needs a number from 0 to {self.count - 1}, got {table.member}; there are"
                f" {self.count} members"
            )
        if table.shard is not None and not table.shard[0] < table.shard[1] <= self.count:
            raise UserError(
                f"shard: needs two rising numbers up to {self.count}, got {list(table.shard)}; there are"
                f" {self.count} members"
            )
        those = range(*(table.shard or (0, self.count)))
        self.members: Sequence[int] = those if table.member is None else [table.member]

    @property
    def keys(self) -> list[str]:
        """The varied keys, in the order of the file."""
        return list(self.varied)

    def values(self, key: str) -> np.ndarray:
        """The values of a key for the members that run, (M, *shape of one), in the run's units.

        Those of a `jitter` are displacements. Numbers that are too large are infinite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._values(key)

    def _values(self, key: str) -> np.ndarray:
        one, how = self.varied[key], self.table.vary[key]
        if one.listed is not None:
            return one.listed[self._rows(key)]
        if how.kind == "sobol":
            return one.of_random(self._sobol[key])
        draw = draws.uniforms if how.kind == "uniform" else draws.normals
        return one.of_random(draw(self.seed, key, self.members, one.shape))

    def _rows(self, key: str) -> np.ndarray:
        """The row of each member among the values of a list, a table, a range or a grid."""
        members = np.asarray(self.members)
        if self.table.vary[key].kind in BY_NUMBER:
            return members
        products = [k for k in self.lengths if self.table.vary[k].kind in PRODUCTS]
        faster = prod(self.lengths[k] for k in products[products.index(key) + 1 :])
        return members // faster % self.lengths[key]

    @cached_property
    def _sobol(self) -> dict[str, np.ndarray]:
        """The points of the sequence that all such keys share, by key."""
        keys = [key for key, how in self.table.vary.items() if how.kind == "sobol"]
        if not keys:
            return {}
        sizes = [prod(self.varied[key].shape) for key in keys]
        every = draws.sobol(self.seed, self.members, sum(sizes))
        split = np.split(every, np.cumsum(sizes)[:-1], axis=1)
        return {key: part.reshape(-1, *self.varied[key].shape) for key, part in zip(keys, split, strict=True)}

    def _count(self) -> int:
        """The number of members, as `members` says or as follows from the values."""
        vary, asked = self.table.vary, self.table.members
        products = {key: n for key, n in self.lengths.items() if vary[key].kind in PRODUCTS}
        rows = {key: n for key, n in self.lengths.items() if key not in products}
        if products:
            count = prod(products.values())
            if asked not in (None, count):
                text = " x ".join(f"{n} ('{key}')" for key, n in products.items())
                raise UserError(
                    f"members: ranges and grids make {text} = {count}, got {asked}; leave `members` out"
                )
        elif asked is not None:
            count = asked
        elif rows:
            count = next(iter(rows.values()))
            if other := next((key for key, n in rows.items() if n != count), None):
                key = next(iter(rows))
                raise UserError(
                    f"members: '{key}' has {count} values, got {rows[other]} of '{other}'; give as many"
                    " of each, or say how many `members` there are"
                )
        else:
            raise UserError("members: needs a number, got none; say how many are drawn")
        for key, n in rows.items():
            if n < count:
                raise UserError(f"'{key}': needs a value for each of {count} members, got {n}; add more")
        return count
