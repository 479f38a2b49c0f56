"""Ewald's sum over wave vectors, one by one: exact, for few charges and waves.

    S(m) = sum over charges of q exp(-2 pi i m . f),    x = sum over axes a of f_a box_a    `wave_sums`

x (n, 3) [m], q (n,) [C], box (3, 3) [m] with the edge vectors in rows, m the numbers of a wave. Of m and -m
one is summed, with twice its weight. The first wave is m = 0. Ewald 1921, Ann. Phys. 369, 253.

Decisions 0150.
"""

from math import pi

import numpy as np

from minusgrad import bind
from minusgrad.plugin import Box, Datum, Fields, Node, Term, UnitSystem, local_map, ti

from .box import fractions
from .modes import Modes


@local_map(
    "wave_sums",
    gives="mesh_modes",
    over=("wave", "charge"),
    unit="C",
    shape=(2,),
    x=Node("m", ("d",), of="charge"),
    charge=Node("C", of="charge"),
    box=Box(),
    mode=Datum(shape=(3,), integer=True),
)
def wave_sums(x, charge, box, mode):
    """The sum of charges over a wave: its real and its imaginary part."""
    f = fractions(x[1], box)
    angle = 2.0 * pi * (mode[0] * f[0] + mode[1] * f[1] + mode[2] * f[2])
    return ti.Vector([charge[1] * ti.cos(angle), -charge[1] * ti.sin(angle)])


def waves_below(below: tuple[int, ...]) -> Modes:
    """The elements over all waves with |m| below some numbers, all but m = 0."""
    axes = [np.arange(1 - most, most) for most in below]
    mode = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    mode = mode[len(mode) // 2 + 1 :]  # what is behind the middle is minus what is before it
    return Modes(1 + np.arange(len(mode))[:, None], mode, np.full(len(mode), 2.0))


def bound_wave_sums(
    name: str, fields: Fields, modes: Modes, renamed: dict[str, str], units: UnitSystem | None
) -> Term:
    """The map of all charges to the field `name`, over m = 0 and the waves of some elements."""
    mode = np.concatenate([np.zeros((1, 3), int), modes.mode])
    count, waves = len(fields[renamed["charge"]]), len(mode)
    pairs = np.indices((waves, count)).reshape(2, -1).T
    return bind(
        wave_sums,
        fields,
        name=name,
        gives=name,
        tuples=pairs,
        data={"mode": np.repeat(mode, count, axis=0)},
        sizes={"wave": waves},
        renamed=renamed,
        units=units,
    )
