"""A variation: the tangent of the state of a run in progress along one direction, carried from stop to stop.

Where the run has gone on from one stop to the next, these steps are taken once more, together with their
tangent (the exact derivative of the discrete step, `tangents`); then the state of the run is restored, with
every bit of the stepper. So the run itself does not know of the variation, and goes by its own kernels.

Decisions 0388.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ...energies.fields import ordered_sum
from ...engine import storage
from ...potential.far_pairs.tree_kernels import refuse_kept_trees
from ...steppers.stepper import Stepper
from ...steppers.systems.parts import ALL, BAROSTAT, BATH, CONSTRAINTS, Consumer
from ..derivation import derivation

FIELDS = "fields/"
STEPS_AGAIN = "steps that are taken again need the tree of each step's positions"

BESIDE = Consumer(
    "a tangent beside a run", ALL - {CONSTRAINTS, BATH, BAROSTAT}, cure="leave the observer out"
)
"""The parts of a system whose runs have a tangent beside them."""


class Variation:
    """The tangent of the moving fields of a stepper in time, from the state at its last `stop`.

    tangent: by field, of its shape, in double precision, of norm 1 in the run's units after each stop.
    saved: the state of the run at the last stop. Raises `EnergyError` for a stepper without tangents, for
    constraints, and for far pairs with a `skin`.
    name: that of its observer, for messages.
    """

    def __init__(self, stepper: Stepper, name: str = BESIDE.name):
        self.stepper = stepper
        refuse_kept_trees(stepper.potential.parts.values(), STEPS_AGAIN)
        one = stepper.differentiable()
        replace(BESIDE, name=name).accept(stepper.system)
        self._derivation = derivation(one)
        self._names = [field.name for field in stepper.moving]
        self._beside = self._derivation.tangents(self._names)
        self.begin()

    def begin(self) -> None:
        """Begin at the present state, with the first direction."""
        self.saved, self.tangent = self._present(), self._first()

    def _first(self) -> dict[str, np.ndarray]:
        """A direction that lies along no coordinate, of free components; the same in every run."""
        random = np.random.Generator(np.random.Philox(key=1))
        drawn = {}
        for field in self.stepper.moving:
            values = random.normal(size=field.values.shape)
            drawn[field.name] = np.where(self.stepper.holds.free(field.name), values, 0.0)
        size = norm(drawn)
        return {n: w / size for n, w in drawn.items()}

    def growth(self) -> float:
        """The logarithm of the tangent's norm at the present state, whose norm at the last stop was 1."""
        return float(np.log(norm(self._carried())))

    def stop(self) -> float:
        """`growth`; then the present state is the last stop, and the tangent has norm 1 again."""
        tangent = self._carried()
        size = norm(tangent)
        self.saved, self.tangent = self._present(), {n: w / size for n, w in tangent.items()}
        return float(np.log(size))

    def _carried(self) -> dict[str, np.ndarray]:
        """The tangent at the present state."""
        here = self.stepper.step
        with self._undone():
            self._restore(self.saved)
            self.stepper.refuse_unfit()
            self._beside.start([self.tangent])
            self._beside.advance(here - self.stepper.step)
            (along,) = self._beside.along
            return {n: storage.host(along[n]).astype(np.float64) for n in self._names}

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Restore the state of the run on leaving."""
        before = self._present()
        try:
            with self.stepper.potential.fields.lists_kept():
                yield
        finally:
            self._restore(before)

    def _present(self) -> dict[str, np.ndarray]:
        """The state of the run: what a stepper saves, and the fields that move."""
        return self.stepper.state() | {FIELDS + f.name: f.values.copy() for f in self.stepper.moving}

    def _restore(self, state: Mapping[str, np.ndarray]) -> None:
        for field in self.stepper.moving:
            field.set(state[FIELDS + field.name])
        self.stepper.restore({n: a for n, a in state.items() if not n.startswith(FIELDS)})


def norm(tangent: Mapping[str, np.ndarray]) -> float:
    """The Euclidean norm of a tangent, summed in a fixed order."""
    return float(np.sqrt(sum(ordered_sum(w.ravel() ** 2) for w in tangent.values())))
