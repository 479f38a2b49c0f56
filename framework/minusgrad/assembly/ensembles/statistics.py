"""Statistics of observables over the members that have not failed, while they run.

    mean/NAME                (1/n) sum y                   over the n members whose values are finite
    std/NAME                 sqrt(sum (y - mean)^2 / (n - 1)), NaN for one member
    quantile_P/NAME          linear between the two nearest members
    count/NAME               n

y (M, ...) are the values of the members; sums are in double precision, in the order of the members.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import UserError, unknown
from ...files.h5md import OBSERVABLES
from ...files.trajectory import Recorder
from ...scene.ensemble_table import StatisticsTable

PLACE = f"{OBSERVABLES}/"


class Statistics:
    """The statistics that `[ensemble.statistics]` asks for; none without the table."""

    def __init__(self, table: StatisticsTable | None):
        self.table = table
        self._seen: set[str] = set()

    def of(self, rows: Mapping[str, np.ndarray], recorder: Recorder) -> dict[str, np.ndarray]:
        """The rows that are recorded, from those of all members, by series."""
        if self.table is None:
            return dict(rows)
        found = dict[str, np.ndarray]()
        for name, values in rows.items():
            label = name.removeprefix(PLACE)
            asked = name.startswith(PLACE) and (not self.table.of or label in self.table.of)
            if not (asked and self.table.only):
                found[name] = values
            if name.startswith(PLACE):
                self._seen.add(label)
            if asked:
                for kind, value in self._figures(values).items():
                    found[f"{PLACE}{kind}/{label}"] = value
                    if kind != "count" and label in recorder.units:
                        recorder.unit(f"{kind}/{label}", *recorder.units[label])
        return found

    def refuse_unknown(self) -> None:
        """Raise `UserError` for an observable that was asked for, and that no observer has recorded."""
        asked = self.table.of if self.table is not None else ()
        for name in asked:
            if name not in self._seen:
                raise UserError(unknown("observable", name, sorted(self._seen), "recorded"))

    def _figures(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """The statistics of values (M, ...), by kind."""
        assert self.table is not None
        good = values[np.isfinite(values.reshape(len(values), -1)).all(axis=1)]
        n, nothing = len(good), np.full(values.shape[1:], np.nan)
        found = {"mean": good.mean(axis=0) if n else nothing}
        found["std"] = good.std(axis=0, ddof=1) if n > 1 else nothing
        for q in self.table.quantiles:
            found[f"quantile_{q:g}"] = np.quantile(good, q, axis=0) if n else nothing
        return found | {"count": np.array(float(n))}


def is_statistic(name: str, meta: Mapping[str, Any]) -> bool:
    """True for a series of statistics, in a run with this checkpoint's `meta`."""
    scene = meta.get("scene")
    table = scene.get("ensemble") if isinstance(scene, Mapping) else None
    kind, _, rest = name.removeprefix(PLACE).partition("/")
    known = kind in ("mean", "std", "count") or kind.startswith("quantile_")
    return bool(table and table.get("statistics") is not None and known and rest)
