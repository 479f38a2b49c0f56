"""Random states near a given one: a check is repeated there, so that it does not depend on a special state.

Roles draw values of their own (`Role.draw`), `LocalEnergy.sample` those of one element, `sample_potential` a
whole potential; here a state that exists is displaced.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from .questions import SHRINKS
from .variables import mirror_at_bounds

State = Mapping[str, np.ndarray]


def random_state_near(
    start: State,
    sizes: Mapping[str, float],
    rng: np.random.Generator,
    accepts: Callable[[State], bool] = lambda state: True,
    bounds: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> dict[str, np.ndarray]:
    """Every array of `start` plus normal deviates of its size; the displacement is halved until accepted.

    Deviates that leave the `bounds` of an array have their sign reversed. The state after the last halving is
    returned even if it is not accepted.
    """
    displacement = {name: sizes[name] * rng.normal(size=values.shape) for name, values in start.items()}
    displacement |= {
        name: mirror_at_bounds(start[name], displacement[name], limits) for name, limits in bounds.items()
    }
    for part in 0.5 ** np.arange(SHRINKS):
        state = {name: values + part * displacement[name] for name, values in start.items()}
        if accepts(state):
            break
    return state
