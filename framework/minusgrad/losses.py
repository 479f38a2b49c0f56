"""What a run is judged by: an energy over its states at some steps.

L = sum over observed steps k of  l(fields at step k, data at step k)
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import runtime
from .errors import EnergyError
from .potential import Potential


@dataclass
class Loss:
    """A potential over the fields of a run, looked at after each of `steps`.

    `data`: "term.argument" to the values (steps, elements, ...) that a datum has at those steps; other data
    are constant. Raises `EnergyError` for data that nobody reads or that do not fit, and for a step named
    twice.
    """

    potential: Potential
    steps: tuple[int, ...]
    data: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._row = {step: row for row, step in enumerate(self.steps)}
        if len(self._row) < len(self.steps):
            twice = next(k for row, k in enumerate(self.steps) if self._row[k] != row)
            raise EnergyError(f"a loss looks at step {twice} twice: name it once")
        for name, rows in self.data.items():
            self._check(name, np.shape(rows))
        self._slopes: dict[str, Any] = {}

    def __contains__(self, step: int) -> bool:
        return step in self._row

    @property
    def reads(self) -> set[str]:
        """The fields that it looks at."""
        return self.potential.reads

    def look(self, step: int) -> None:
        """Give the data their values at an observed step."""
        for name, rows in self.data.items():
            array = self._datum(name)
            runtime.store(array, np.asarray(rows[self._row[step]], runtime.host(array).dtype))

    def value(self, step: int, t: float) -> float:
        """l at the present fields, which are those of an observed step at time t."""
        self.look(step)
        return self.potential.value(t)

    def evaluate(self, step: int, t: float, names: Iterable[str]) -> tuple[float, dict[str, np.ndarray]]:
        """l, and dl/d(field) of those fields among `names` that it looks at."""
        self.look(step)
        targets = {n: self._slope(n) for n in sorted(self.reads.intersection(names))}
        value = self.potential.evaluate_into(targets, t)
        return value, {n: runtime.host(a).copy() for n, a in targets.items()}

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Its data are what they were, when all is done."""
        before = {name: runtime.host(self._datum(name)).copy() for name in self.data}
        try:
            yield
        finally:
            for name, values in before.items():
                runtime.store(self._datum(name), values)

    def _slope(self, name: str) -> Any:
        """An array for dl/d(field), kept for the next look."""
        if name not in self._slopes:
            self._slopes[name] = runtime.allocate(np.zeros_like(self.potential.fields[name].values))
        return self._slopes[name]

    def _datum(self, name: str) -> Any:
        term, _, argument = name.partition(".")
        return self.potential.parts[term].data[argument]

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        term, _, argument = name.partition(".")
        parts = self.potential.parts
        known = [f"{t}.{a}" for t, part in parts.items() for a in getattr(part, "data", {})]
        if name not in known:
            raise EnergyError(f"no datum '{name}' in this loss (there are: {', '.join(known) or 'none'})")
        if shape[:1] != (len(self.steps),):
            raise EnergyError(f"'{name}' has {shape[0]} rows of data, for {len(self.steps)} steps")
        if shape[1:] != (one := tuple(parts[term].data[argument].shape)):
            raise EnergyError(f"'{name}' has rows of shape {list(shape[1:])}, its elements need {list(one)}")
