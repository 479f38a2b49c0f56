"""The ways to vary a key, the same in [ensemble.vary] of a scene and in [vary] of a sweep.

    list, grid, table, range                     values that are listed
    uniform, sobol     a + (b - a) u             u uniform in (0, 1)
    normal             a + b z                   z standard normal
    lognormal          a exp(b z)
    jitter             a z                       a displacement

How numbers are read, and in which unit, is a matter of what is varied.

Decisions 0109.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine import memory
from ...errors import UserError
from ...scene.ensemble_table import RangeTable, VaryTable

WHOLE = 1e-9
"""Parts by which the steps of a range may miss its end."""
EVEN = ("uniform", "sobol")


class Varied:
    """One key and the way in which it is varied.

    listed: its values, (n, *shape), where they are listed. pair: the numbers of a distribution, which
    broadcast to `shape`, that of one value; one alone of a jitter. Raises `UserError` for values that do not
    fit together.
    """

    shape: tuple[int, ...] = ()

    def __init__(self, how: VaryTable, read: Callable[[str], bytes]):
        self.how, self._read = how, read
        self.listed: np.ndarray | None = None
        self.pair: tuple[np.ndarray, ...] = ()
        given: Any = getattr(how, how.kind)
        match how.kind:
            case "list" | "grid":
                self.listed = self._listed_values(given)
            case "range":
                self.listed = self._range_values(given)
            case "table":
                self.listed = self._column_values(given)
            case "jitter":
                self.pair = self._numbers_in_unit((given,))
            case "lognormal":
                self.pair = (*self._numbers_in_unit(given[:1]), *self._numbers_in_unit(given[1:], plain=True))
            case _:
                self.pair = self._numbers_in_unit(given)
        if len(self.pair) == 2:
            self._refuse_pair(*self.pair)

    def of_random(self, random: np.ndarray) -> np.ndarray:
        """The values of a distribution that random numbers make: u of the even ones, of all others z."""
        if self.how.kind == "jitter":
            return self.pair[0] * random
        a, b = self.pair
        if self.how.kind in EVEN:
            return a + (b - a) * random
        return a + b * random if self.how.kind == "normal" else a * np.exp(b * random)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """The values of a distribution below which lie the parts u in (0, 1) of all."""
        a, b = self.pair
        if self.how.kind in EVEN:
            return a * (1.0 - u) + b * u
        from scipy.special import ndtri

        return self.of_random(ndtri(u))

    def _listed_values(self, given: Sequence[Any]) -> np.ndarray:
        """The values of a list or a grid, (n, *shape)."""
        return np.stack(self._numbers_in_unit(given))

    def _numbers_in_unit(self, given: Sequence[Any], plain: bool = False) -> tuple[np.ndarray, ...]:
        """Numbers, each of `shape`, in one unit, or in none if they are `plain`."""
        raise NotImplementedError

    def _column_values(self, file: str) -> np.ndarray:
        """The values in the rows of a CSV file, (n, *shape)."""
        raise NotImplementedError

    def _range_values(self, table: RangeTable) -> np.ndarray:
        """The values of a range, (n,)."""
        raise NotImplementedError

    def _equidistant(self, table: RangeTable, first: float, last: float, step: float) -> np.ndarray:
        """The values (n,) of a range between numbers in one unit; `step` is 0 where it has a count."""
        count = table.count
        if count is None:
            parts = (last - first) / step if step else 0.0
            if not 0.5 < parts < 2**53 or abs(parts - round(parts)) > WHOLE * parts:
                raise UserError(
                    f"range: needs a step that divides it, got {table.step} from {table.start} to"
                    f" {table.to}; give a `count`"
                )
            count = round(parts) + 1
        size = 16 * count * max(int(np.prod(self.shape)), 1)
        memory.require(size, f"range: {count:,} values", "take fewer")
        return np.linspace(first, last, count)

    def _refuse_pair(self, first: np.ndarray, second: np.ndarray) -> None:
        kind = self.how.kind
        given: Any = getattr(self.how, kind)
        got = f"got {given[0]} and {given[1]}"
        if kind in EVEN and (first > second).any():
            raise UserError(f"{kind}: needs its lower end first, {got}; swap them")
        if kind not in EVEN and (second < 0).any():
            raise UserError(f"{kind}: needs a deviation of at least 0, {got}; correct it")
        if kind == "lognormal" and (first <= 0).any():
            raise UserError(f"lognormal: needs a median above 0, {got}; correct it")
