"""Published values of DiffTaichi's own program diffmpm.py, in double precision."""

import numpy as np

import minusgrad
from minusgrad import Loss, Potential, Rollout, bind
from minusgrad.plugin import PublishedValue, Workplace, published_value
from minusgrad_elastic.loads import body_force

SOURCE = (
    "diffmpm.py of DiffTaichi (Hu et al. 2020, ICLR, arXiv 1910.00935), run in double precision from the"
    " weights of the scene"
)
WEIGHTS = ["dense.w", "neuron.b"]


def _loss_and_gradient(place: Workplace, steps: int) -> list[float]:
    """Minus the mean of x after so many steps; norms of its gradient by weights and by biases."""
    one = minusgrad.build(place.scene("diffmpm"))
    fields = one.fields
    ahead = {"acceleration": [1.0 / len(fields["x"]), 0.0]}
    loss = Potential(fields, [bind(body_force, fields, parameters=ahead)])
    value, found = Rollout(one.stepper, [Loss(loss, (steps,))], steps).evaluate(WEIGHTS)
    return [float(value), *(float(np.linalg.norm(found[name])) for name in WEIGHTS)]


@published_value(
    "DiffTaichi's diffmpm, 100 steps",
    area="programs",
    value=[-0.25000052879203594, 0.0014783133029928487, 0.0010201864901888164],
    tolerance=[1e-13, 1e-12, 1e-12],
    why="rounding of sums over 2,976 particles in another order",
    source=SOURCE,
    quick=True,
)
def first_steps_of_the_crawler(place: Workplace) -> list[float]:
    """Loss after 100 steps, norms of its gradient by weights and by biases."""
    return _loss_and_gradient(place, 100)


@published_value(
    "DiffTaichi's diffmpm",
    area="programs",
    value=[-0.2492891574880385, 0.24569581312334574],
    tolerance=[2e-15, 3e-14],
    why="ten times the spread of the original between its runs with other numbers of threads",
    source=SOURCE,
)
def whole_run_of_the_crawler(place: Workplace) -> list[float]:
    """Loss after all 1,023 steps, norm of its gradient by weights."""
    return _loss_and_gradient(place, 1023)[:2]


ROWS: list[PublishedValue] = [first_steps_of_the_crawler, whole_run_of_the_crawler]
