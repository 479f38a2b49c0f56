"""Components that several holds name: each belongs to the first hold, where all of them move it alike.

Decisions 0160.
"""

from typing import Any

import numpy as np

from ...energies.fields import Field, Hold
from ...errors import EnergyError


class HeldOnce:
    """The first hold of each component of a field, and its motion (7, shape of the field)."""

    def __init__(self, field: Field):
        self._field, self._names = field, list[str]()
        self._owner = np.full(field.shape, -1)
        self._motion = np.zeros((7, *field.shape))

    def own_components(
        self, hold: Hold, places: tuple[np.ndarray, ...], motion: np.ndarray
    ) -> tuple[np.ndarray, list[str]]:
        """A mask of the components that are this hold's own, and the names of holds that have the others.

        motion (7, components): the rows of `held_components.ROWS`. Raises `EnergyError` where another hold
        moves one in another way.
        """
        owner = self._owner[places]
        own = owner < 0
        at: Any = (slice(None), *places)
        before = _plain_motion(self._motion[at])
        if (unlike := ~own & (before != _plain_motion(motion)).any(axis=0)).any():
            self._refuse_other_motion(hold, self._names[owner[unlike][0]], [p[unlike] for p in places])
        mine = tuple(part[own] for part in places)
        self._owner[mine] = len(self._names)
        at = (slice(None), *mine)
        self._motion[at] = motion[:, own]
        self._names.append(hold.name)
        return own, [self._names[k] for k in np.unique(owner[~own])]

    def _refuse_other_motion(self, hold: Hold, first: str, places: list[np.ndarray]) -> None:
        node, second = places[0][0], hold.name
        axes = "".join("xyz"[k] for k in np.unique(places[1])) if len(places) == 2 else ""
        along = f" along {' and '.join(axes)}" if axes and set(axes) <= set("xyz") else ""
        raise EnergyError(
            f"'{self._field.name}' is held twice at the same place, by '{first}' and '{second}', which move"
            f" node {node}{along} in different ways; hold each component once, by axes ({first}: x,"
            f" [{first}, {second}]: y) or on a side without the other's nodes: [state.sides] rest ="
            ' { union = ["..."], minus = ["..."], of = "nodes" }'
        )


def _plain_motion(motion: np.ndarray) -> np.ndarray:
    """The rows without what has no effect: a duration of nothing, the rotation of a place on the axis."""
    far, frequency, velocity, across, beside, angle, rate = motion
    turns = ((angle != 0.0) | (rate != 0.0)) & ((across != 0.0) | (beside != 0.0))
    rises = (far != 0.0) | (turns & (angle != 0.0))
    plain = [far, np.where(rises, frequency, 0.0), velocity]
    return np.stack([*plain, *(np.where(turns, row, 0.0) for row in (across, beside, angle, rate))])
