"""Energies within a cutoff as sums of NumPy: quintic switch, scattered nodes, derivatives by differences.

    s(r) = 1 - 10 t^3 + 15 t^4 - 6 t^5,    t = (r - SWITCH) / (RC - SWITCH)

with t clipped to 0 and 1.
"""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Potential

RC, SWITCH = 1.1, 0.8


def switch(r):
    s = np.clip((r - SWITCH) / (RC - SWITCH), 0.0, 1.0)
    return 1.0 - 10.0 * s**3 + 15.0 * s**4 - 6.0 * s**5


def state(d=3, n=24, boxed=True, precision="f64"):
    rng = np.random.default_rng(7)
    side = 2.0
    values = {"x": rng.uniform(-1.0, 3.0, (n, d)), "m": rng.uniform(0.5, 1.5, n)}
    if boxed:
        values["box"] = (side * np.eye(d) + 0.2 * rng.uniform(-1.0, 1.0, (d, d)))[None]
    return Fields(values, precision=precision)


def now(fields):
    box = fields["box"].values[0] if "box" in fields else None
    return fields["x"].values, fields["m"].values, box


def assert_derivatives(potential: Potential, summed: Callable) -> None:
    """Gradient and product by x, m and box are those of `summed`, a sum over the same elements."""
    fields = potential.fields
    rng = np.random.default_rng(1)
    names = [name for name in ("x", "m", "box") if name in fields]
    along = {name: rng.normal(size=fields[name].shape) for name in names}
    gradient = {name: potential.gradient(name) for name in names}
    product = {name: potential.product(along, name) for name in names}
    start = {name: fields[name].values.copy() for name in names}
    values, slopes, h = [], [], 2e-7  # third derivatives jump where the switch begins and ends
    for sign in (1.0, -1.0):
        for name in names:
            fields[name].set(start[name] + sign * h * along[name])
        values.append(summed(*now(fields))[0])
        slopes.append({name: potential.gradient(name) for name in names})
    expected = sum((gradient[name] * along[name]).sum() for name in names)
    assert (values[0] - values[1]) / (2.0 * h) == pytest.approx(expected, rel=1e-6)
    for name in names:
        difference = (slopes[0][name] - slopes[1][name]) / (2.0 * h)
        np.testing.assert_allclose(product[name], difference, atol=1e-6 * np.abs(product[name]).max())
