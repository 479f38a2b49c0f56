"""Every new kernel is compared with its graph, and numbers that leave the range are refused.

Where digits cancel, no order of operations has more of them: such numbers are accepted.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.codegen.kept_traces import KEPT
from minusgrad.codegen.verification import element_samples, kernel_verification
from minusgrad.errors import MiscompiledError, RangeError
from minusgrad.symbolic.operations import OPERATIONS
from minusgrad_gravity.gravity import gravity
from tests.support.instances import CANONICAL

LANES = 20_000
CURE = 'use units in which such numbers are nearer to 1, or precision = "f64"'


@local_energy("atoms", over=2, x=Node("m", "d"), a=Parameter("m"), b=Parameter("J"))
def atoms(x, a, b):
    d = x[0] - x[1]
    q = (a * a / d.dot(d)) ** 3
    return 4.0 * b * (q * q - q)


@local_energy("confine", over="nodes", y=Node("m^-1"), hbar=Parameter("J s"), m=Parameter("kg"))
def confine(y, hbar, m):
    return hbar**2 / (2.0 * m) * y[0] ** 2


@local_energy("sinc", over="nodes", y=Node())
def sinc(y):
    return ti.select(y[0] != 0.0, ti.sin(y[0]) / y[0], 1.0)


@local_energy("haversine", over="nodes", y=Node())
def haversine(y):
    return (1.0 - ti.cos(y[0])) / y[0] ** 2


@local_energy("log_exp", over="nodes", y=Node())
def log_exp(y):
    return ti.log(ti.exp(y[0])) ** 2


def pairs(n: int, precision: str, r: float = 5e-10) -> Potential:
    x = np.zeros((2 * n, 3))
    x[1::2] = 0.8 * r, 0.6 * r, 0.0
    fields = Fields({"x": x}, precision=precision)
    rows = np.arange(2 * n).reshape(n, 2)
    return Potential(fields, [bind(atoms, fields, tuples=rows, parameters={"a": 3.4e-10, "b": 1.65e-21})])


def single(energy: object, n: int, precision: str, y: float, **parameters: float) -> Potential:
    fields = Fields({"y": np.full(n, y)}, precision=precision)
    return Potential(fields, [bind(energy, fields, parameters=parameters)])  # type: ignore[arg-type]


ASKED: dict[str, Callable[[Potential], object]] = {
    "value": lambda u: u.value(),
    "gradient": lambda u: u.gradient(next(iter(u.reads))),
    "hessian": lambda u: u.hessian(next(iter(u.reads))),
    "clamp": lambda u: u.hessian(next(iter(u.reads)), project="clamp"),
    "product": lambda u: u.product({(f := next(iter(u.reads))): _ramp(u.fields[f].values)}, f),
}


def _ramp(values: np.ndarray) -> np.ndarray:
    return np.linspace(1.0, 2.0, values.size).reshape(values.shape)


@pytest.mark.parametrize("asked", ["hessian", "clamp", "product"])
@pytest.mark.parametrize("n", [1, 24, LANES])
def test_second_derivatives_of_atoms_in_metres_are_refused_in_f32(n: int, asked: str, engine: None) -> None:
    """Products of a^2, b and distances underflow: finite Hessians were 40 to 100 % off."""
    with pytest.raises(RangeError) as refused:
        ASKED[asked](pairs(n, "f32"))
    text = str(refused.value)
    assert text.startswith("term 'atoms', element 0: ")
    assert "leaves the range of f32, 1.2e-38 to 3.4e+38, where " in text
    assert text.endswith(CURE)


@pytest.mark.parametrize("asked", ["value", "gradient"])
def test_energies_and_forces_of_atoms_in_metres_are_accepted(asked: str, engine: None) -> None:
    found, right = (np.asarray(ASKED[asked](pairs(3, precision))) for precision in ("f32", "f64"))
    assert found == pytest.approx(right, rel=1e-5, abs=1e-30)


@pytest.mark.parametrize("asked", ["value", "gradient", "product", "hessian"])
@pytest.mark.parametrize("n", [1, 24, LANES])
def test_a_term_that_underflows_altogether_is_refused(n: int, asked: str, engine: None) -> None:
    with pytest.raises(RangeError, match="term 'confine', element ") as refused:
        ASKED[asked](single(confine, n, "f32", 2.2e11, hbar=1.05e-34, m=9.1e-31))
    if asked == "gradient":
        assert str(refused.value) == (
            "term 'confine', element 0: du/dy leaves the range of f32, 1.2e-38 to 3.4e+38, where hbar * hbar"
            f" = 1.1e-68: got 0 in place of 2.66538e-27; {CURE}"
        )
    ASKED[asked](single(confine, n, "f64", 2.2e11, hbar=1.05e-34, m=9.1e-31))


@pytest.mark.parametrize("asked", ["value", "gradient", "product"])
@pytest.mark.parametrize("n", [24, LANES])
@pytest.mark.parametrize(("energy", "y"), [(sinc, 1e-9), (haversine, 1e-5)], ids=["sinc", "haversine"])
@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_cancellation_is_accepted(
    precision: str, energy: object, y: float, n: int, asked: str, engine: None
) -> None:
    ASKED[asked](single(energy, n, precision, y))


@local_energy("bump", over="nodes", y=Node())
def bump(y):
    return ti.exp(-y[0] * y[0])


@pytest.mark.parametrize("y", [26.7, 28.0, 80.0])
def test_an_energy_that_is_zero_by_underflow_is_accepted(y: float) -> None:
    """Python's floats underflow at 1e-308, where the reference in extended precision does not."""
    assert single(bump, 3, "f64", y).value() == pytest.approx(0.0, abs=1e-300)


@pytest.mark.parametrize("n", [24, LANES])
@pytest.mark.parametrize(("precision", "y"), [("f32", 80.0), ("f64", 700.0)])
def test_an_underflow_in_either_precision_is_refused(precision: str, y: float, n: int, engine: None) -> None:
    """1 / exp(y)^2 is 0; the change of the gradient, 2, was found to be 2 y."""
    potential = single(log_exp, n, precision, y)
    assert potential.gradient("y")[0] == pytest.approx(2.0 * y)
    with pytest.raises(RangeError, match=f"leaves the range of {precision}"):
        potential.product({"y": np.ones(n)}, "y")


@pytest.mark.parametrize("asked", ["value", "gradient", "product", "hessian"])
@pytest.mark.parametrize("name", ["spring", "gravity", "site"])
def test_a_small_kernel_that_is_translated_wrongly_is_not_used(
    name: str, asked: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """In scalar loops: over tuples, over targets, over single nodes."""

    def small() -> Potential:
        return CANONICAL[name].potential(np.random.default_rng(2), 3, n=9)

    with monkeypatch.context() as broken:
        broken.setitem(OPERATIONS, "mul", replace(OPERATIONS["mul"], text="({0} * {1} * {T}(1.5))"))
        with pytest.raises(MiscompiledError, match=f"^term '{name}', element .* its function: engine "):
            ASKED[asked](small())
    ASKED[asked](small())


def test_a_long_sample_is_rounded_in_parts(monkeypatch):
    """Its numbers are the same; what an eps moves them by is drawn for each part."""
    x = np.random.default_rng(0).normal(size=(50, 3))
    fields = Fields({"x": x, "m": np.ones(50)})
    term = bind(gravity, fields, parameters={"G": 1.0, "softening": 0.1})
    places = element_samples.at_rows(term, 0.0, {})
    value = [KEPT.of_term(term, "value").value]
    ((exact, moved),) = [sample.numbers_with_rounding(value) for sample in places.samples[:1]]
    monkeypatch.setattr(element_samples, "LONG", 8)
    again, drawn = places.samples[0].numbers_with_rounding(value)
    assert np.array_equal(again, exact)
    assert ((drawn > 0.1 * moved) & (drawn < 10.0 * moved)).all()


def test_a_harmless_underflow_is_accepted(engine: None) -> None:
    """Far away the twelfth power is 0 beside the sixth; a gaussian of everything far away is 0 altogether."""
    fields = Fields({"x": np.array([[0.0, 0.0, 0.0], [1e4, 0.0, 0.0]])}, precision="f32")
    u = Potential(fields, [bind(atoms, fields, tuples=[[0, 1]], parameters={"a": 1.0, "b": 1.0})])
    for asked in ("value", "gradient", "hessian", "product"):
        ASKED[asked](u)


def test_without_a_look_at_the_range_the_engine_is_blamed(
    monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    monkeypatch.setattr(kernel_verification, "MARGINS", ())
    with pytest.raises(MiscompiledError):
        single(confine, 24, "f32", 2.2e11, hbar=1.05e-34, m=9.1e-31).gradient("y")


def test_a_value_that_f32_cannot_hold_is_refused() -> None:
    """At binding and when it is set: 1e-46 became 0, and 1e39 infinite."""
    for hbar, shown in ((1e-46, "1e-46"), (1e39, "1e+39")):
        with pytest.raises(RangeError) as refused:
            single(confine, 3, "f32", 1.0, hbar=hbar, m=1.0)
        assert str(refused.value) == (
            f"confine.hbar: must lie in the range of f32, 1.2e-38 to 3.4e+38, got {shown}; use units in which"
            ' it is nearer to 1, or precision = "f64"'
        )
    potential = single(confine, 3, "f32", 1.0, hbar=0.0, m=1.0)
    with pytest.raises(RangeError, match=r"confine\.m: must lie in the range"):
        potential.set_parameter("confine.m", 1e-46)
    single(confine, 3, "f64", 1.0, hbar=1e-46, m=1.0)
