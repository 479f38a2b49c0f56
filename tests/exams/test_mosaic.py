"""The two finite-element cases of Mosaic: values of its reference solvers, gradients, and the adapters.

References: `forward_agreement.npz` of the two domains (Mosaic 0.2.0), which four codes agree on.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from benchmarks.mosaic import problems
from benchmarks.mosaic.cases import box, cantilever, random_density, slab
from benchmarks.mosaic.gradient_error import errors

from tests.support.tiers import sampled

OUTPUTS = ["thermal_compliance", "identification_error"]
FOLDER = Path(problems.__file__).parent
COMPLIANCE = {0.2: 0.0556488, 0.5: 0.00397532480, 0.9: 0.000686156563}
THERMAL = {0.05: 14223.8027, 0.4: 246.39644, 0.95: 18.65851}


def test_compliances_of_the_cantilever() -> None:
    beam = cantilever(corner=False)
    for rho, expected in COMPLIANCE.items():
        assert beam.compliance(np.full(64, rho)) == pytest.approx(expected, rel=3e-7)


def test_thermal_compliances_of_the_slab() -> None:
    heated = slab(16, 8)
    for rho, expected in THERMAL.items():
        found = heated.value("thermal_compliance", np.full(128, rho), np.zeros(128))
        assert found == pytest.approx(expected, rel=3e-7)


def test_the_gradient_by_densities() -> None:
    """Along random directions, against differences of order 6."""
    beam = cantilever(corner=True)
    rho = random_density(64)
    plain, precise = errors(beam.compliance, beam.gradient(rho), rho)
    assert precise < 1e-10
    assert plain < 1e-6


@pytest.mark.parametrize(
    "name", sampled(["thermal_compliance", "identification_error"], ["identification_error"])
)
def test_the_gradients_of_the_slab(name: str) -> None:
    heated, rho = slab(), random_density(32)
    source = np.random.default_rng(3).normal(size=32)
    slopes = heated.gradient(name, rho, source)
    assert errors(lambda r: heated.value(name, r, source), slopes["rho"], rho)[1] < 1e-9
    assert errors(lambda s: heated.value(name, rho, s), slopes["source"], source)[1] < 1e-9


# The adapters, between stand-ins of Mosaic's schemas ----------------------------------------------------


class Schema:
    """Keeps what it is given."""

    def __init__(self, **given: Any):
        defaults = {k: v for k, v in vars(type(self)).items() if not k.startswith("_") and not callable(v)}
        self.__dict__ = defaults | given

    def model_dump(self) -> dict[str, Any]:
        return dict(self.__dict__)


@pytest.fixture
def adapters(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    shared = {
        "mosaic_shared": {},
        "mosaic_shared.problems": {},
        "mosaic_shared.problems.structural_mesh": {"InputSchema": Schema, "OutputSchema": Schema},
        "mosaic_shared.problems.thermal_mesh": {"InputSchema": Schema, "OutputSchema": Schema},
        "mosaic_shared.schema_types": {"make_differentiable": lambda base, names: base},
        "tesseract_core": {},
        "tesseract_core.runtime": {"ShapeDType": dict},
    }
    for name, members in shared.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "problems", problems)
    found = {}
    for kind in ("structural", "thermal"):
        spec = spec_from_file_location(f"{kind}_api", FOLDER / kind / "tesseract_api.py")
        found[kind] = module_from_spec(spec)
        spec.loader.exec_module(found[kind])
    return found


def given(counts: tuple[int, int, int], values: list[list[float]], **more: Any) -> dict[str, Any]:
    """Inputs in Mosaic's form, with two rows of padding."""
    points, cells = box(counts, (2.0, 1.0, 1.0))
    mesh = {"points": np.pad(points, ((0, 2), (0, 0))), "faces": np.pad(cells, ((0, 2), (0, 0)))}
    mesh |= {"n_points": len(points), "n_faces": len(cells)}
    conditions = {
        "dirichlet": {"mask": (points[:, 0] < 1e-6).astype(np.int32), "values": None},
        "neumann": {"mask": (points[:, 0] > 2.0 - 1e-6).astype(np.int32), "values": np.array(values)},
    }
    rho = np.pad(random_density(len(cells)), (0, 2)).astype(np.float32)
    return {"rho": rho, "boundary_conditions": conditions, "hex_mesh": mesh} | more


def test_the_adapter_of_structures(adapters: dict[str, ModuleType]) -> None:
    api = adapters["structural"]
    inputs = api.InputSchema(**given((4, 2, 2), [[0.0, 0.0, -1.0]]))
    found = api.vector_jacobian_product(inputs, {"rho"}, {"compliance"}, {"compliance": 2.0})["rho"]
    assert found.shape == (18,)
    assert (found[:16] < 0.0).all()
    assert (found[16:] == 0.0).all()
    v = np.ones(18, np.float32)
    forward = api.jacobian_vector_product(inputs, {"rho"}, {"compliance"}, {"rho": v})["compliance"]
    assert 2.0 * forward == pytest.approx(found.sum(), rel=1e-5)
    stiffer = api.InputSchema(**given((4, 2, 2), [[0.0, 0.0, -1.0]]) | {"rho": inputs.rho + 1e-3 * v})
    change = api.apply(stiffer).compliance - api.apply(inputs).compliance
    assert change == pytest.approx(1e-3 * forward, rel=0.02)
    assert api.abstract_eval(inputs) == {"compliance": {"shape": (), "dtype": "float32"}}


def test_the_adapter_of_heat(adapters: dict[str, ModuleType]) -> None:
    api = adapters["thermal"]
    more = {"source": np.zeros(1, np.float32), "target_temperature": np.zeros(1, np.float32)}
    inputs = api.InputSchema(**given((4, 2, 2), [[1.0]], **more))
    outputs = {"thermal_compliance", "identification_error"}
    seeds = dict.fromkeys(outputs, 1.0)
    found = api.vector_jacobian_product(inputs, {"rho", "source"}, outputs, seeds)
    assert found["rho"].shape == (18,)
    assert found["source"].shape == (1,)
    tangent = {"rho": np.ones(18, np.float32)}
    forward = api.jacobian_vector_product(inputs, {"rho"}, outputs, tangent)
    assert sum(forward.values()) == pytest.approx(found["rho"].sum(), rel=1e-5)
    assert vars(api.apply(inputs)).keys() == outputs
