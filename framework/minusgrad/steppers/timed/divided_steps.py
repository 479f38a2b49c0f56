"""Steps that were divided into substeps, for the journal."""

from typing import Any


class DividedSteps:
    """The steps that were divided since the last report; one that is taken again counts once."""

    def __init__(self) -> None:
        self._parts: dict[int, int] = {}

    def add(self, step: int, parts: int) -> None:
        """Step number `step`, counted from 1, was taken in so many substeps."""
        self._parts[step] = parts

    def report(self) -> list[dict[str, Any]]:
        """One event with every step and its number of substeps, none if there are none; forgets them."""
        divided, self._parts = [[step, parts] for step, parts in self._parts.items()], {}
        return [{"event": "substeps", "steps": divided}] if divided else []
