"""Paths through the branches of a function on symbolic scalars: one run for each, merged by select."""

from collections.abc import Callable

from ..errors import TraceError
from .graph import Graph
from .rewriting import current_location
from .scalar import Scalar

PATHS = 64
"""Most paths through the branches of one energy."""


class Paths:
    """Runs a function once for each path through its branches and merges the results."""

    def __init__(self) -> None:
        self.script: tuple[bool, ...] = ()
        self.taken: list[tuple[Scalar, bool]] = []
        self.ways = 1

    def decide(self, condition: Scalar) -> bool:
        """The truth of a condition on the present path: as before, as scripted, else True for now."""
        for known, outcome in self.taken:
            if known is condition:
                return outcome
        scripted = self.script[len(self.taken) :][:1]
        self.ways += not scripted  # the other outcome takes another run
        if self.ways > PATHS:
            raise TraceError(
                f"{current_location()}: branches: at most {PATHS} ways lead through an energy, got more; use "
                "ti.select"
            )
        outcome = scripted[0] if scripted else True
        self.taken.append((condition, outcome))
        return outcome

    def merged_values(
        self, graph: Graph, run: Callable[[], list[Scalar]], script: tuple[bool, ...] = ()
    ) -> list[Scalar]:
        self.script, self.taken = script, []
        values, taken = run(), self.taken
        for depth in reversed(range(len(script), len(taken))):
            condition = taken[depth][0]
            others = self.merged_values(graph, run, (*script, *(True,) * (depth - len(script)), False))
            pairs = zip(values, others, strict=True)
            values = [graph.apply("select", condition, value, other) for value, other in pairs]
        return values
