"""What became of a row: the numbers that were computed, whether they are the published ones, the seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .published_value import PublishedValue

PASS, FAIL = "pass", "FAIL"


@dataclass(frozen=True)
class Outcome:
    """A row with its answer: "pass", "FAIL", or what it needs. message: why there are no numbers.

    seconds: of computing, with the compilation of kernels that are not in the cache.
    """

    row: PublishedValue
    answer: str
    numbers: tuple[float, ...] = ()
    message: str = ""
    seconds: float = 0.0

    @classmethod
    def of_numbers(cls, row: PublishedValue, numbers: Sequence[float], seconds: float) -> "Outcome":
        """Compare them with what is published."""
        try:
            passed = max(row.misses(numbers)) <= 1.0
        except ValueError as error:
            return cls(row, FAIL, tuple(numbers), str(error), seconds)
        return cls(row, PASS if passed else FAIL, tuple(numbers), "", seconds)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; a number that is none is a text."""
        numbers = [number if number - number == 0.0 else str(number) for number in self.numbers]
        answer = {"ours": numbers, "answer": self.answer, "message": self.message}
        return {**self.row.declaration(), **answer, "seconds": round(self.seconds, 2)}


def lacking(row: PublishedValue, data: Path | None) -> str:
    """What the row needs and has not: files of `--data`, modules; "" where it can be computed."""
    if missing := [module for module in row.needs if find_spec(module) is None]:
        return f"needs {', '.join(missing)}"
    if row.data and data is None:
        return "needs --data"
    if data is not None and (files := [name for name in row.data if not (data / name).is_file()]):
        return f"needs --data with {', '.join(files)}"
    return ""


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many rows passed, failed and could not be computed, and the seconds of all."""
    counts = [sum(one.answer == answer for one in outcomes) for answer in (PASS, FAIL)]
    seconds = sum(one.seconds for one in outcomes)
    rest = len(outcomes) - sum(counts)
    return f"{len(outcomes)} rows in {seconds:.0f} s: {counts[0]} pass, {counts[1]} fail, {rest} not computed"
