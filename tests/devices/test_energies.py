"""Values, gradients, products and Hessians on the device, beside those of the CPU.

One of each kind of loop here; `make devices` asks the whole exam on the device (`exams/test_energies.py`).
"""

import numpy as np
import pytest

from minusgrad import Fields, bind
from minusgrad.energies.pairs.cutoff import Cutoff
from minusgrad.engine import runtime
from minusgrad.errors import DeviceError
from minusgrad.potential.potential import Potential
from minusgrad_elastic.springs import spring
from minusgrad_molecular.lennard_jones import lennard_jones
from tests.support import devices
from tests.support.instances import CANONICAL, MAPS
from tests.support.variables import names

pytestmark = devices.needed
ALL = CANONICAL | MAPS
FEW = ("gravity", "neo_hookean", "powers", "stencil_dose")
MORE = (
    "spring",
    "periodic_torsion",
    "flicker",
    "traction",
    "gaussian_dose",
    "electron_density",
    "soft_overlap",
)
CLOSE = {"f64": 1e-12, "f32": 2e-5}
"""The largest differences, in parts of the largest number: as the exam's beside the engine and in f32."""
T = 0.37
Found = dict[str, np.ndarray]


def numbers(name: str, precision: str) -> Found:
    """U, every gradient, and how each changes along a random direction."""
    potential = state(name, precision)
    rng, fields = np.random.default_rng(8), set(potential.fields)
    along = {n: rng.normal(size=potential.shape(n)) for n in names(potential) if n in fields}
    found = {"U": np.array(potential.value(T))}
    for wrt in names(potential):
        found[f"d {wrt}"] = np.array(potential.gradient(wrt, T), float)
        found[f"dd {wrt}"] = np.array(potential.product(along, wrt, T), float)
    return found


def state(name: str, precision: str) -> Potential:
    """An energy, or a map with an energy that reads it, at a random state."""
    instance = ALL[name]
    return instance.potential(np.random.default_rng(5), instance.dimensions[-1], precision=precision)


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("names", [FEW, pytest.param(MORE, marks=pytest.mark.long)], ids=["few", "more"])
def test_numbers_are_those_of_the_cpu(names: tuple[str, ...], precision: str) -> None:
    found: dict[str, dict[str, Found]] = {}
    for arch in ("cpu", devices.ARCH):
        with devices.on(arch):
            assert runtime.arch() == arch
            found[arch] = {name: numbers(name, precision) for name in names}
            again = {name: numbers(name, precision) for name in names[:2]}
    for name in names:
        compared(found["cpu"][name], found[devices.ARCH][name], CLOSE[precision])
    for name, numbers_again in again.items():
        compared(found[devices.ARCH][name], numbers_again, 0.0)


def compared(wanted: Found, found: Found, close: float) -> None:
    """Differences are at most `close`, in parts of the largest number."""
    assert any(np.abs(w).max() > 0.0 for w in wanted.values())
    for key, values in wanted.items():
        atol = close * max(np.abs(values).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(found[key], values, rtol=0.0, atol=atol, err_msg=key)


def test_hessians() -> None:
    found = {}
    for arch in ("cpu", devices.ARCH):
        with devices.on(arch):
            found[arch] = {
                name: state(name, "f64").hessian("x", T).toarray() for name in ("spring", "neo_hookean")
            }
    for name, wanted in found["cpu"].items():
        close = 1e-12 * np.abs(wanted).max()
        np.testing.assert_allclose(found[devices.ARCH][name], wanted, rtol=0.0, atol=close)


def test_a_derivative_that_no_source_of_a_list_is_in() -> None:
    """d2U/d epsilon2 = 0: a loop over lists of neighbours that reads nothing of them."""
    x = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 60.0, 0.0]])
    with devices.on():
        fields = Fields({"x": x})
        given = {"epsilon": 1.0, "sigma": 1.0}
        potential = Potential(
            fields, [bind(lennard_jones, fields, parameters=given, cutoff=Cutoff(3.0, skin=0.3))]
        )
        along = {"lennard_jones.epsilon": 1.0}
        assert potential.product(along, "lennard_jones.epsilon") == 0.0
        by_sigma = potential.gradient("lennard_jones.sigma")
        assert potential.product(along, "lennard_jones.sigma") == pytest.approx(by_sigma, rel=1e-14)


def test_a_term_without_elements_is_refused() -> None:
    with devices.on():
        fields = Fields({"x": np.zeros((3, 2))})
        with pytest.raises(
            DeviceError, match=r"an array of shape \[0\]: needs at least one number, got arch ="
        ):
            Potential(fields, [bind(spring, fields, tuples=[], data={"rest": []})]).gradient("x")
