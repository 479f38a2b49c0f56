"""The observer of an equilibrium path: its load, its length, its stability, and how far bodies moved."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...energies.fields import ordered_sum
from ...steppers.minimisers.continuation.arc_length import ArcLength
from ...steppers.minimisers.continuation.followed_load import FollowedLoad
from ...steppers.stepper import Stepper
from ...steppers.systems.parts import ALL, Consumer
from ..observers import Observer, Recorder

SERIES = "load_path"


class LoadPath(Observer):
    """Records load_path/factor, by arc length load_path/arc_length and load_path/unstable, and of each of
    `parts` load_path/displacement/NAME (d,), the mean of its nodes since the start.

    unstable: the number of negative eigenvalues of the Hessian, 0 where the equilibrium is stable; NaN where
    it is not known. position: the field that moves. parts: nodes by name.
    """

    consumer = Consumer("load_path", ALL)

    def __init__(
        self,
        stepper: Stepper,
        recorder: Recorder,
        every: int,
        position: str,
        parts: Mapping[str, np.ndarray],
    ):
        super().__init__(stepper, recorder, every)
        assert isinstance(stepper, FollowedLoad)
        self.follower, self.position, self.parts = stepper, position, parts
        self.begin_here()

    def observe(self) -> None:
        values: dict[str, float | np.ndarray] = {f"{SERIES}/factor": self.follower.load}
        if isinstance(self.follower, ArcLength):
            known = self.follower.stable is not None
            values[f"{SERIES}/arc_length"] = self.follower.arc
            values[f"{SERIES}/unstable"] = float(self.follower.negative) if known else np.nan
        for name, place in self._places().items():
            values[f"{SERIES}/displacement/{name}"] = place - self._start[name]
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)

    def begin_here(self) -> None:
        self._start = self._places()

    def state(self) -> dict[str, np.ndarray]:
        return {f"start/{name}": place.copy() for name, place in self._start.items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self._start = {name: state[f"start/{name}"].copy() for name in self._start}

    def _places(self) -> dict[str, np.ndarray]:
        """The mean place (d,) of each part."""
        x = self.fields[self.position].values.astype(np.float64)
        return {name: mean_place(x[nodes]) for name, nodes in self.parts.items()}


def mean_place(x: np.ndarray) -> np.ndarray:
    """The mean (d,) of places (n, d), summed in a fixed order."""
    return np.array([ordered_sum(column) for column in x.reshape(len(x), -1).T]) / len(x)


def chosen_nodes(
    bodies: Mapping[str, np.ndarray], names: Sequence[str], nodes: Sequence[int]
) -> dict[str, np.ndarray]:
    """Nodes by name: of bodies, and single ones as node_17."""
    found = {name: np.asarray(bodies[name]) for name in names}
    return found | {f"node_{node}": np.array([node]) for node in nodes}
