"""Elementary functions on a device without exact ones of its own: against mpmath, and at the ends."""

from collections.abc import Callable, Iterator

import mpmath
import numpy as np
import pytest

from minusgrad.engine import device_functions, storage
from minusgrad.engine.kernels import BoundKernel, Code
from tests.support import devices

pytestmark = devices.needed
DTYPES = {"f64": np.float64, "f32": np.float32}
ENDS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -3.0)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[None]:
    with devices.on():
        yield


def computed(text: str, *columns: np.ndarray) -> np.ndarray:
    """The values of an expression of a[i] and b[i] in a kernel on the device."""
    arrays = {name: storage.allocate(column) for name, column in zip("ab", columns, strict=False)}
    arrays["y"] = storage.allocate(np.zeros_like(columns[0]))
    BoundKernel(Code(f"for i in range(y.shape[0]):\n    y[i] = {text}\n", arrays))()
    return storage.host(arrays["y"])


def eps(found: np.ndarray, exact: list[mpmath.mpf]) -> np.ndarray:
    """Relative errors in units of eps."""
    errors = [
        abs(mpmath.mpf(float(y)) - w) / abs(w) if w else abs(float(y))
        for y, w in zip(found, exact, strict=True)
    ]
    return np.array([float(e) for e in errors]) / np.finfo(found.dtype).eps


def arguments(name: str, rng: np.random.Generator) -> np.ndarray:
    """Random ones, and those where digits are lost easily."""
    ends = 10.0 ** rng.uniform(-12.0, -1.0, 60)
    quarters = np.append(np.arange(1, 200), [49808764623, 67819071022]) * np.pi / 2
    return {
        "exp": np.concatenate([rng.uniform(-1.0, 1.0, 100), rng.uniform(-80.0, 88.0, 200), ends, [0.0]]),
        "log": np.concatenate([1.0 + rng.uniform(-0.01, 0.01, 150), 10.0 ** rng.uniform(-37.0, 37.0, 200)]),
        "tanh": np.concatenate([rng.uniform(-3.0, 3.0, 200), ends, -ends, [0.0, 30.0]]),
        "arc": np.concatenate([rng.uniform(-1.0, 1.0, 200), 1.0 - ends, ends - 1.0, ends, [0.0, 1.0]]),
    }.get(name, np.concatenate([rng.uniform(-9.0, 9.0, 200), quarters, 10.0 ** rng.uniform(-9.0, 11.9, 200)]))


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tan", "asin", "acos", "tanh"])
def test_functions_of_one_number(name: str, precision: str) -> None:
    rng = np.random.default_rng(3)
    x = arguments("arc" if name in ("asin", "acos") else name, rng).astype(DTYPES[precision])
    with mpmath.workprec(250):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
    assert eps(computed(f"ti.{name}(a[i])", x), exact).max() < (4.0 if precision == "f64" else 3.0)


@pytest.mark.parametrize("precision", DTYPES)
def test_the_angle_of_a_point(precision: str) -> None:
    rng = np.random.default_rng(4)
    y, x = (rng.normal(size=(2, 500)) * 10.0 ** rng.integers(-6, 6, (2, 500))).astype(DTYPES[precision])
    with mpmath.workprec(250):
        exact = [mpmath.atan2(float(p), float(q)) for p, q in zip(y, x, strict=True)]
    assert eps(computed("ti.atan2(a[i], b[i])", y, x), exact).max() < 3.0


@pytest.mark.parametrize("precision", DTYPES)
def test_powers(precision: str) -> None:
    rng = np.random.default_rng(5)
    a, b = 10.0 ** rng.uniform(-3.0, 3.0, 500), rng.uniform(-8.0, 8.0, 500)
    a, b = a.astype(DTYPES[precision]), b.astype(DTYPES[precision])
    with mpmath.workprec(250):
        exact = [mpmath.mpf(float(p)) ** mpmath.mpf(float(q)) for p, q in zip(a, b, strict=True)]
    assert (eps(computed("ti.pow(a[i], b[i])", a, b), exact) < 3.0 + np.abs(b) / 2.0).all()


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tan", "asin", "acos", "tanh"])
def test_ends_of_the_range(name: str, precision: str) -> None:
    x = np.array(ENDS, DTYPES[precision])
    with np.errstate(all="ignore"):
        exact = getattr(np, {"asin": "arcsin", "acos": "arccos"}.get(name, name))(x)
    np.testing.assert_allclose(computed(f"ti.{name}(a[i])", x), exact, rtol=1e-6, atol=1e-16)


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize(("name", "reference"), [("atan2", np.arctan2), ("pow", np.power)])
def test_ends_of_functions_of_two_numbers(name: str, reference: Callable, precision: str) -> None:
    """A NaN stays one, also where C99 has 1: nan^0 and 1^nan."""
    a, b = (column.ravel() for column in np.meshgrid(np.array(ENDS, DTYPES[precision]), ENDS))
    b = b.astype(a.dtype)
    with np.errstate(all="ignore"):
        exact = np.where(np.isnan(a) | np.isnan(b), np.nan, reference(a, b))
    np.testing.assert_allclose(computed(f"ti.{name}(a[i], b[i])", a, b), exact, rtol=1e-6)


def test_far_beyond_the_range_of_an_angle_there_is_no_number() -> None:
    assert np.isnan(computed("ti.sin(a[i])", np.array([2.0**41, -1e300]))).all()


def test_whole_powers_are_products_of_the_engine() -> None:
    x = np.array([1.5, -2.0])
    np.testing.assert_array_equal(computed("ti.pow(a[i], 3)", x), x**3)


def test_powers_of_numbers_of_python() -> None:
    x = np.array([1.5, 2.0])
    np.testing.assert_allclose(computed("ti.pow(a[i], 0.25)", x), x**0.25, rtol=1e-15)
    np.testing.assert_allclose(computed("ti.pow(1.5, a[i])", x), 1.5**x, rtol=1e-15)
    np.testing.assert_allclose(computed("ti.atan2(0.5, a[i])", x), np.arctan2(0.5, x), rtol=1e-15)


def test_other_architectures_keep_the_functions_of_the_engine() -> None:
    from minusgrad.engine import runtime

    assert device_functions.language(runtime.engine(), "cuda") is runtime.engine()
