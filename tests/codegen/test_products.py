"""The one product: tangents of any subset of fields and parameters in, cotangents of any subset out.

References: the engine's own gradients, which the exam holds against three others, a little way along the
tangents (differences of sixth order); Taylor's remainder; symmetry.
"""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError
from minusgrad_elastic.springs import spring
from tests.support import instances
from tests.support.energies import readout
from tests.support.instances import CANONICAL, MAPS, of_each_class
from tests.support.tiers import alternating, sampled
from tests.support.variables import drawn, names, shape

EPS = float(np.finfo(np.float64).eps)
T = 0.37
SEEDS = (1, 2)
ALL = CANONICAL | MAPS
CASES = {f"{name}-{d}d": (instance, d) for name, instance in ALL.items() for d in instance.dimensions}
FEW = ("gravity", "spring", "neo_hookean", "flicker", "gaussian_dose", "electron_density", "bonds")
"""One for each kind of loop, and one that changes in time."""
KINDS = [f"{name}-{ALL[name].dimensions[-1]}d" for name in FEW]
"""The rows of these."""
STENCIL = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}


def gradients(potential: Potential, t: float = T) -> dict[str, np.ndarray]:
    return swept(potential, {}, t)[1]


def products(potential: Potential, tangents: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return swept(potential, tangents, T)[2]


def swept(potential: Potential, tangents: dict[str, np.ndarray], t: float):
    """U; gradients and products with respect to everything, in one pass."""
    every, dtype = list(names(potential)), potential.fields.dtype
    fields = [n for n in every if n in set(potential.fields)]
    others = [n for n in every if n not in fields]
    gradient, product, moved = _arrays(potential)
    for name, values in tangents.items():
        if name in fields:
            storage.store(moved[name], values.astype(dtype))
    along = {n: moved[n] if n in fields else w for n, w in tangents.items()}
    if not tangents:
        found = potential.sweep(DerivativeRequest(True, gradient, others), t)
        return found.value, _double(_on_host(gradient) | found.slopes, every), {}
    found = potential.sweep(DerivativeRequest(True, gradient, others, product, others, along), t)
    slopes, changes = _on_host(gradient) | found.slopes, _on_host(product) | found.changes
    return found.value, _double(slopes, every), _double(changes, every)


def _arrays(potential: Potential):
    """Targets and tangents of the fields, the same ones at each call: kernels are made for them."""
    if not hasattr(potential, "_of_tests"):
        fields = [n for n in names(potential) if n in set(potential.fields)]
        like = {n: potential.fields[n].values for n in fields}
        potential._of_tests = [
            {n: storage.allocate(np.zeros_like(v)) for n, v in like.items()} for _ in range(3)
        ]
    return potential._of_tests


def _on_host(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    return {n: storage.host(array) for n, array in arrays.items()}


def _double(found: dict[str, np.ndarray], every: list[str]) -> dict[str, np.ndarray]:
    return {n: np.array(found[n], np.float64) for n in every}


class Line:
    """A potential along a straight line through its fields, parameters and time."""

    def __init__(self, potential: Potential, tangents: dict[str, np.ndarray]):
        self.potential, self.tangents = potential, tangents
        self.start = {n: self._here(n).copy() for n in tangents if n != "t"}

    def _here(self, name: str) -> np.ndarray:
        fields = self.potential.fields
        return fields[name].values if name in set(fields) else self.potential.parameter(name)

    def go(self, h: float) -> float:
        """To the place h tangents away; returns the time there."""
        for name, start in self.start.items():
            if name in set(self.potential.fields):
                self.potential.fields[name].set(start + h * self.tangents[name])
            else:
                self.potential.set_parameter(name, start + h * self.tangents[name])
        return T + h * float(self.tangents.get("t", 0.0))

    def value(self, h: float) -> float:
        return self.potential.value(self.go(h))

    def change(self, h: float) -> dict[str, np.ndarray]:
        """How the gradients change, by differences of sixth order."""
        total = {n: np.zeros(shape(self.potential, n)) for n in names(self.potential)}
        for k, weight in STENCIL.items():
            for sign in (1.0, -1.0):
                found = gradients(self.potential, self.go(sign * k * h))
                total = {n: v + sign * weight / h * found[n] for n, v in total.items()}
        self.go(0.0)
        return total


@pytest.mark.parametrize("case", sampled(CASES, {*alternating(CASES)[::2], *KINDS}))
@pytest.mark.parametrize("seed", sampled(SEEDS, SEEDS[:1]))
def test_products_are_how_gradients_change(seed: int, case: str) -> None:
    instance, d = CASES[case]
    rng = np.random.default_rng(seed)
    potential = instance.potential(rng, d)
    tangents = drawn(potential, rng)
    found, expected = products(potential, tangents), Line(potential, tangents).change(2.0**-9)
    sizes = gradients(potential)
    for name in found:
        scale = max(np.abs(expected[name]).max(), 1e-3 * np.abs(sizes[name]).max())
        assert np.abs(found[name] - expected[name]).max() <= 1e-7 * scale + 1e-12, name


@pytest.mark.parametrize("case", sampled(of_each_class(ALL, FEW), [n for n in FEW if n != "gaussian_dose"]))
def test_tangents_of_one_name_at_a_time_add_up(case) -> None:
    """The product is linear, and each name's part of it stands alone."""
    instance, rng = ALL[case], np.random.default_rng(1)
    potential = instance.potential(rng, instance.dimensions[0])
    tangents = drawn(potential, rng)
    whole = products(potential, tangents)
    parts = [products(potential, {n: w}) for n, w in tangents.items()]
    for name in whole:
        size = sum(np.abs(part[name]) for part in parts).max()
        assert np.abs(whole[name] - sum(part[name] for part in parts)).max() <= 1e-12 * size


@pytest.mark.parametrize("case", sampled(CASES, {*[*CASES][::8], *KINDS}))
def test_products_are_symmetric(case) -> None:
    """|w.Hv - v.Hw| <= 1e-13 sum |w_i (Hv)_i|, H over all fields, parameters and the time."""
    instance, d = CASES[case]
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        potential = instance.potential(rng, d)
        v, w = drawn(potential, rng), drawn(potential, rng)
        hv, hw = products(potential, v), products(potential, w)
        one, other = (sum(float((a[n] * b[n]).sum()) for n in a) for a, b in ((w, hv), (v, hw)))
        size = sum(float(np.abs(w[n] * hv[n]).sum()) + float(np.abs(v[n] * hw[n]).sum()) for n in v)
        assert abs(one - other) <= 1e-13 * size


@pytest.mark.parametrize("case", sampled(CASES, {*[*CASES][1::8], *KINDS}))
def test_the_taylor_remainder_is_of_third_order(case) -> None:
    """|U(x + h w) - U(x) - h g.w - h^2/2 w.Hw| ~ h^3, w in all fields, parameters and the time."""
    instance, d = CASES[case]
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        potential = instance.potential(rng, d)
        w = drawn(potential, rng)
        gradient, product = gradients(potential), products(potential, w)
        slope = sum(float((w[n] * gradient[n]).sum()) for n in w)
        bend = sum(float((w[n] * product[n]).sum()) for n in w)
        line = Line(potential, w)
        start, steps, remainders = line.value(0.0), [], []
        for h in 2.0 ** -np.arange(8.0, 16.0, 0.5):
            remainder = abs(line.value(h) - start - h * slope - 0.5 * h * h * bend)
            if remainder > 100.0 * EPS * potential.magnitude(T):
                steps.append(h)
                remainders.append(remainder)
        if len(steps) >= 4:
            order = np.polyfit(np.log(steps), np.log(remainders), 1)[0]
            assert abs(order - 3.0) < 0.15, (order, remainders)


@pytest.mark.parametrize("case", sampled(CASES, {*[*CASES][::12], *KINDS}))
def test_single_precision_follows_double(case) -> None:
    instance, d = CASES[case]
    double = instance.potential(np.random.default_rng(3), d)
    single = instance.potential(np.random.default_rng(3), d, precision="f32")
    tangents = drawn(double, np.random.default_rng(4))
    expected = products(double, tangents)
    for name, found in products(single, tangents).items():
        scale = max(np.abs(expected[name]).max(), 1e-3 * np.abs(gradients(double)[name]).max())
        assert np.abs(found - expected[name]).max() <= 1e-4 * scale, name


@pytest.mark.parametrize("few", sampled([3, len(FEW)], [3]))
def test_the_bits_do_not_depend_on_the_number_of_threads(few: int) -> None:
    before, bits = runtime._Running.options, {}
    try:
        for threads in (1, 2):
            runtime.start(runtime.Options(threads=threads))
            bits[threads] = {name: _bits(ALL[name]) for name in FEW[:few]}
    finally:
        runtime.start(before)
    assert bits[1] == bits[2]


def _bits(instance) -> list[bytes]:
    potential = instance.potential(np.random.default_rng(5), instance.dimensions[-1], n=300, e=900)
    found = products(potential, drawn(potential, np.random.default_rng(6)))
    return [p.tobytes() for p in found.values()]


@pytest.mark.parametrize("case", sampled(FEW, [name for name in FEW if name != "gaussian_dose"]))
def test_one_pass_gives_all(case) -> None:
    """Value, gradients and products of one sweep are those of single questions, to rounding."""
    instance, rng = ALL[case], np.random.default_rng(7)
    potential = instance.potential(rng, instance.dimensions[-1])
    tangents = drawn(potential, rng)
    value, gradient, product = swept(potential, tangents, T)
    assert abs(value - potential.value(T)) <= 8.0 * EPS * potential.magnitude(T)
    for name in names(potential):
        for one, alone in (
            (gradient[name], potential.gradient(name, T)),
            (product[name], potential.product(tangents, name, T)),
        ):
            assert one.shape == alone.shape
            assert np.abs(one - alone).max() <= 1e-13 * np.abs(alone).max(), name


def test_a_guarded_root_has_a_finite_product() -> None:
    @local_energy("guarded", over="nodes", s=Node(), k=Parameter(default=2.0))
    def guarded(s, k):
        return k * ti.select(s[0] > 0.0, ti.sqrt(s[0]) ** 3, 0.0)

    fields = Fields({"s": [-1.0, 0.0, 4.0]})
    potential = Potential(fields, [bind(guarded, fields)])
    found = potential.product({"s": np.ones(3)}, "s")
    assert found.tolist() == [0.0, 0.0, pytest.approx(2.0 * 0.75 / 2.0)]
    assert potential.product({"s": np.ones(3)}, "guarded.k") == pytest.approx(1.5 * 2.0)


def test_what_cannot_be_asked() -> None:
    fields = Fields({"y": [1.0, 2.0], "lean": [0.5, 0.5]})
    potential = Potential(fields, [bind(readout, fields)])
    with pytest.raises(EnergyError, match="no field named 'z'"):
        potential.product({"z": np.ones(2)}, "y")
    with pytest.raises(EnergyError, match="the tangent of 'y' has shape"):
        potential.product({"y": np.ones(3)}, "y")
    with pytest.raises(EnergyError, match="no term named 'spring'"):
        potential.product({"y": np.ones(2)}, "spring.k")
    with pytest.raises(EnergyError, match="no derivative with respect to 'k'"):
        potential.product({"readout.k": 1.0}, "y")


def test_a_map_output_has_no_tangent_of_its_own() -> None:
    potential = instances.MAPS["electron_density"].potential(np.random.default_rng(1), 2)
    (output,) = potential.map_outputs
    text = rf"'{output}' is computed by a map and has no tangent of its own; give tangents of its inputs"
    with pytest.raises(EnergyError, match=text):
        potential.product({output: np.ones(6)}, "x")


def two_terms() -> Potential:
    """Springs with a stiffness each, as a term that reads x, and one that does not."""
    fields = Fields({"x": np.arange(6.0).reshape(3, 2) ** 2, "y": [1.0, 2.0, 3.0], "lean": [0.5, 0.5, 0.5]})
    rows = {"tuples": [[0, 1], [1, 2]], "data": {"rest": 1.0}, "parameters": {"stiffness": [1.0, 2.0]}}
    return Potential(fields, [bind(spring, fields, **rows), bind(readout, fields)])


def test_a_field_is_asked_for_by_an_array_of_its_shape() -> None:
    potential = two_terms()
    for asked in (
        DerivativeRequest(slopes=("x",)),
        DerivativeRequest(changes=("x",), tangents={"x": np.ones((3, 2))}),
    ):
        with pytest.raises(
            EnergyError, match="'x' is a field: its derivatives go into an array of its shape"
        ):
            potential.sweep(asked)
    with pytest.raises(EnergyError, match="no field named 'typo'"):
        potential.gradient_into({"typo": np.zeros(3)})
    with pytest.raises(
        EnergyError, match=r'tangents: must be given by name; write potential\.product\({"x": w}, "x"\)'
    ):
        potential.product(np.ones((3, 2)), "x")


def test_tangents_have_the_shape_of_their_values() -> None:
    potential = two_terms()
    for wrong in (np.ones(3), np.ones((2, 1)), np.ones((1, 2))):
        with pytest.raises(
            EnergyError, match=r"the tangent of 'spring\.stiffness' has shape \[.*\], its values"
        ):
            potential.product({"spring.stiffness": wrong}, "x")
    for wrong in ("1", 1j, np.ones(2, complex)):
        with pytest.raises(EnergyError, match=r"the tangent of 'spring\.stiffness' needs real numbers"):
            potential.product({"spring.stiffness": wrong}, "x")
    with pytest.raises(EnergyError, match="the tangent of 't' has shape"):
        potential.product({"t": np.ones(3)}, "x")
    one, all_alike = (potential.product({"spring.stiffness": w}, "x") for w in (2.0, [2.0, 2.0]))
    np.testing.assert_array_equal(one, all_alike)


def test_what_nothing_moves_has_a_product_of_zeros_of_its_shape() -> None:
    potential = two_terms()
    assert potential.product({"y": np.ones(3)}, "spring.stiffness").tolist() == [0.0, 0.0]
    assert potential.product({"y": np.ones(3)}, "x").tolist() == np.zeros((3, 2)).tolist()


def test_products_by_parameters_leave_no_kernels_behind() -> None:
    potential = two_terms()
    for k in range(20):
        potential.product({"spring.stiffness": float(k)}, "x")
        potential.product({"spring.stiffness": np.full(2, float(k)), "x": np.ones((3, 2))}, "x")
    assert len(potential.kernels["spring"]._sweeps) == 2


def test_the_time_is_no_field() -> None:
    with pytest.raises(EnergyError, match="a field cannot be called 't', which is the time"):
        Fields({"t": [1.0]})


def test_who_sets_a_parameter_sets_it_for_every_potential_of_the_term() -> None:
    potential = two_terms()
    twin = Potential(potential.fields, list(potential.terms.values()))
    before = twin.value()
    potential.set_parameter("spring.stiffness", [3.0, 5.0])
    assert twin.value() == potential.value() != before
    np.testing.assert_array_equal(twin.gradient("x"), potential.gradient("x"))
