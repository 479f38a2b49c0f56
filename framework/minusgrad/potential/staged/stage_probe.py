"""The rules of reverse mode, tested at a stage's first run: a kernel overwrites or adds to declared arrays.

Taichi reverses a kernel that changes an array it only reads, or that scales what it finds in one it writes,
wrongly and without a message. So the kernel runs with the arrays that it writes at zero, and with each of
them at other numbers, above and below: its results must be the same (it overwrites) or shift by these numbers
(it adds).

Decisions 0317.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ...energies.staged_energy import Stage
from ...errors import EnergyError
from ...lint.stage_rules import NEITHER, check_stacks
from .staged_arrays import StagedArrays, stage_label


class StageProbe:
    """Tests the stages of one term on its arrays; `launch` runs a stage on them."""

    def __init__(self, arrays: StagedArrays, launch: Callable[[Stage], None]):
        self._arrays, self._launch, self._energy = arrays, launch, arrays.energy

    def check(self, k: int) -> None:
        """Test stage k on the present values of the arrays, and restore them.

        Raises `EnergyError` naming the stage, the array and a cure.
        """
        stage = self._energy.stages[k]
        if stage.backward is None:
            held = {a: self._arrays.by_name[n] for a, n in stage.arrays.items()}
            check_stacks(self._stage_label(stage), stage, held)
        before = {array: self._arrays.values(array) for array in (*stage.read, *stage.written)}
        from_zero = self._run_stage(stage, {}, before)
        for array in stage.written:
            start = _larger_numbers(from_zero[array])
            for numbers in (start, -start):
                found = self._run_stage(stage, {array: numbers}, before)
                self._check_others(stage, array, found, from_zero)
                self._check_written(k, array, numbers, found[array], from_zero[array])
        for array, values in before.items():
            self._arrays.write_array(array, values)

    def _run_stage(
        self, stage: Stage, starts: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """The results of the stage, from `starts` (else zero) in the arrays that it writes."""
        for array in stage.written:
            self._arrays.write_array(array, starts.get(array, np.zeros_like(before[array])))
        self._launch(stage)
        for array in stage.read:
            if self._arrays.values(array).tobytes() != before[array].tobytes():
                raise EnergyError(
                    f"{self._stage_label(stage)}: changes '{array}', which it is not declared to write, and "
                    "its"
                    " reverse would use the changed values; write into another array, and declare it"
                )
        return {array: self._arrays.values(array) for array in stage.written}

    def _check_others(
        self, stage: Stage, array: str, found: Mapping[str, np.ndarray], from_zero: Mapping[str, np.ndarray]
    ) -> None:
        """Refuse a stage in which the start of one array changes the results in the others."""
        rounding = np.sqrt(np.finfo(found[array].dtype).eps)
        for other in stage.written:
            size = float(np.abs(from_zero[other]).max())
            if (
                other != array
                and not _equal_but_rounding(found[other], from_zero[other], rounding * size).all()
            ):
                raise EnergyError(
                    f"{self._stage_label(stage)}: its result in '{other}' depends on the previous values of"
                    f" '{array}', which it writes as well; make two stages of it"
                )

    def _check_written(
        self, k: int, array: str, start: np.ndarray, found: np.ndarray, from_zero: np.ndarray
    ) -> None:
        """Refuse a stage whose result from `start` is neither its result from zero, nor that plus `start`."""
        stage, rounding = self._energy.stages[k], np.sqrt(np.finfo(start.dtype).eps)
        rounding *= float(np.abs(start).max())
        overwritten = _equal_but_rounding(found, from_zero, rounding)
        if not (overwritten | _equal_but_rounding(found, from_zero + start, rounding)).all():
            raise EnergyError(f"{self._stage_label(stage)}: {NEITHER.format(array)}")
        if overwritten.any() and not self._energy.schedule.writes_first(k, array):
            raise EnergyError(
                f"{self._stage_label(stage)}: overwrites '{array}', which a stage before it has written; use "
                "`+=`"
                " from the second write on"
            )

    def _stage_label(self, stage: Stage) -> str:
        return stage_label(self._arrays.term, stage)


def _larger_numbers(values: np.ndarray) -> np.ndarray:
    """Random numbers larger than all of these, the same at every call."""
    finite = np.abs(values[np.isfinite(values)])
    size = float(finite.max(initial=0.0)) or 1.0
    return (size * np.random.default_rng(0).uniform(1.25, 2.0, values.shape)).astype(values.dtype)


def _equal_but_rounding(found: np.ndarray, expected: np.ndarray, rounding: float) -> np.ndarray:
    """Equal but for rounding; numbers that are not finite pass, because other checks report them."""
    with np.errstate(invalid="ignore"):
        return (np.abs(found - expected) <= rounding) | ~np.isfinite(found) | ~np.isfinite(expected)
