"""Both layouts of kernels, rows and lanes: which one is taken, and all that a potential gives in it."""

import numpy as np
import pytest

from minusgrad import Potential
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.engine import storage
from tests.support.variables import drawn, names

T = 0.37
LIMITS = {"f64": 2e-12, "f32": 3e-4}


def in_lanes(monkeypatch: pytest.MonkeyPatch, wanted: bool) -> None:
    for name in ("LEAST_TUPLES", "LEAST_TARGETS"):
        monkeypatch.setattr(lane_loops, name, 1 if wanted else np.inf)


def everything(potential: Potential) -> dict[str, np.ndarray]:
    """U, also of each element; gradients and products with respect to everything, in one pass."""
    (term,) = potential.terms
    fields, every = potential.fields, list(names(potential))
    moved = drawn(potential, np.random.default_rng(3))
    nodal, along = (
        {n: storage.allocate(np.zeros_like(fields[n].values)) for n in every if n in fields} for _ in range(2)
    )
    tangents = {
        n: storage.allocate(w.astype(fields.dtype)) if n in fields else np.asarray(w, float)
        for n, w in moved.items()
    }
    others = [n for n in every if n not in fields]
    asked = DerivativeRequest(
        value=True, gradient=nodal, slopes=others, product=along, changes=others, tangents=tangents
    )
    swept = potential.sweep(asked, T)
    found = {"value": swept.value, "alone": potential.value(T), "each": potential.by_element(term, T)}
    for what, some in (("gradient", nodal | swept.slopes), ("product", along | swept.changes)):
        found |= {f"{what} {n}": values for n, values in some.items()}
    return {what: np.array(values) for what, values in found.items()}
