"""Euler's nine elastic curves by statics of rods, against elliptic integrals; the straight rod is in
`test_buckling_loads`.
"""

from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.solvers.linear_solver import direct
from tests.support.elastica_forms import FORMS, Form, rod_on_the_curve
from tests.support.tiers import sampled


def farthest(made: mg.Simulation, form: Form) -> float:
    """The largest distance of a node from the curve, in parts of the length."""
    x = made.fields["x"].values
    return float(np.abs(x - form.places(np.linspace(-0.5, 0.5, len(x)))).max())


def directions_down(made: mg.Simulation) -> int | None:
    """Negative eigenvalues of d2U/d(x, q)2 between the ends and in the plane, by pivots."""
    H, n = made.potential.hessian(["x", "q"]), len(made.fields["x"].values)
    held = [0, 2, 3 * n - 3, 3 * n - 1, *range(1, 3 * n, 3)]
    free = np.setdiff1d(np.arange(H.shape[0]), held)
    factors = direct(H[free][:, free].tocsr())
    return None if factors is None else factors.negative


INFLECTED, SEPARATRIX, EIGHTH, CIRCLE = 2e-6, 2e-4, 3e-5, 1e-12
"""Largest distances of nodes from the curve at 40 elements; between hinges only the stretch is left."""
FIFTH = FORMS["fifth, the figure of eight"].m
"""Its ends meet, so that it turns about them freely: no sign of a pivot. Beyond, hinges do not hold it."""
SAMPLE = ["third, the rectangular elastica", "seventh, the separatrix"]


@pytest.mark.parametrize("name", sampled(FORMS, SAMPLE))
def test_forms_are_on_the_curve_and_stable(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    form, errors = FORMS[name], []
    bound = {1.0: SEPARATRIX, 0.0: CIRCLE}.get(form.m, EIGHTH if form.m > 1.0 else INFLECTED)
    for n in (20, 40):
        made = rod_on_the_curve(form, n, tmp_path)
        made.step(60)
        stepper: Any = made.stepper
        assert not stepper.failed, stepper.verdict
        errors.append(farthest(made, form))
        assert form.m == FIFTH or directions_down(made) == (1 if name.startswith("sixth") else 0)
    assert errors[1] < bound
    assert errors[1] < 1e-6 or errors[0] > 3.5 * errors[1]
