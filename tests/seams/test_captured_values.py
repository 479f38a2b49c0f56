"""A bound energy is frozen: constants that its function read then stay in U and all derivatives.

The references are closed forms: U = sum of C y^2 over y = 2, 3: U = 13 C, dU/dy = 2 C y, d2U/dy2 = 2 C.
"""

import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti, vector_potential
from minusgrad.plugin import EnergyError

Y = np.array([2.0, 3.0])
C = 1.0
LIST, ARRAY, TABLE, NESTED = [1.0], np.array([1.0]), {"C": 1.0}, {"deep": [{"C": np.array([1.0, 9.0])}]}
VECTOR = ti.Vector([1.0, 2.0])
settings = types.ModuleType("settings")
settings.C = 1.0
settings.inner = types.SimpleNamespace(C=1.0)


class Config:
    C = 1.0

    @classmethod
    def doubled(cls):
        return 2.0 * cls.C


@dataclass
class Law:
    C: float = 1.0

    def of(self, y):
        return self.C * y**2


law, other_law = Law(), Law()


def helper(y):
    return C * y**2


@ti.func
def compiled_helper(y):
    return C * y**2


def _global(y):
    return C * y[0] ** 2


def _list(y):
    return LIST[0] * y[0] ** 2


def _array(y):
    return ARRAY[0] * y[0] ** 2


def _dict(y):
    return TABLE["C"] * y[0] ** 2


def _nested(y):
    return NESTED["deep"][0]["C"][0] * y[0] ** 2


def _vector(y):
    return VECTOR[0] * y[0] ** 2


def _module(y):
    return settings.C * y[0] ** 2


def _module_deep(y):
    return settings.inner.C * y[0] ** 2


def _class(y):
    return Config.C * y[0] ** 2


def _class_method(y):
    return 0.5 * Config.doubled() * y[0] ** 2


def _object(y):
    return law.C * y[0] ** 2


def _method(y):
    return other_law.of(y[0])


def _computed_name(y):
    return getattr(law, "".join(["", "C"])) * y[0] ** 2


def _helper(y):
    return helper(y[0])


def _compiled_helper(y):
    return compiled_helper(y[0])


def _set(name: str) -> Callable[[float], Any]:
    return lambda value: globals().__setitem__(name, value)


def _redefine(value: float) -> None:
    globals()["helper"] = _thrice if value == 5.0 else _once


def _once(y):
    return 1.0 * y**2


def _thrice(y):
    return 5.0 * y**2


def closure() -> tuple[Callable, Callable]:
    factor = 1.0

    def energy(y):
        return factor * y[0] ** 2

    def change(value):
        nonlocal factor
        factor = value

    return energy, change


CLOSED, change_closed = closure()
KINDS = {
    "global": (_global, _set("C")),
    "closure": (CLOSED, change_closed),
    "list": (_list, lambda c: LIST.__setitem__(0, c)),
    "array": (_array, lambda c: ARRAY.__setitem__(0, c)),
    "dict": (_dict, lambda c: TABLE.update(C=c)),
    "nested": (_nested, lambda c: NESTED["deep"][0]["C"].__setitem__(0, c)),
    "vector": (_vector, lambda c: VECTOR.__setitem__(0, c)),
    "module": (_module, lambda c: setattr(settings, "C", c)),
    "module.object": (_module_deep, lambda c: setattr(settings.inner, "C", c)),
    "class": (_class, lambda c: setattr(Config, "C", c)),
    "class method": (_class_method, lambda c: setattr(Config, "C", c)),
    "object": (_object, lambda c: setattr(law, "C", c)),
    "method": (_method, lambda c: setattr(other_law, "C", c)),
    "computed name": (_computed_name, lambda c: setattr(law, "C", c)),
    "helper's global": (_helper, _set("C")),
    "compiled helper's global": (_compiled_helper, _set("C")),
    "helper defined again": (_helper, _redefine),
}


def declared(function: Callable) -> Any:
    return local_energy("glob", over="nodes", y=Node())(function)


def potential_of(energy: Any, precision: str = "f64") -> Potential:
    fields = Fields({"y": Y}, precision=precision)
    return Potential(fields, [bind(energy, fields)])


def assert_constant(potential: Potential, c: float) -> None:
    tolerance = 1e-6 if potential.fields["y"].values.dtype == np.float32 else 1e-12
    assert potential.value() == pytest.approx(13.0 * c, rel=tolerance)
    np.testing.assert_allclose(potential.gradient("y"), 2.0 * c * Y, rtol=tolerance)
    np.testing.assert_allclose(potential.product({"y": np.ones(2)}, "y"), 2.0 * c, rtol=tolerance)
    np.testing.assert_allclose(potential.hessian("y").diagonal(), 2.0 * c, rtol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_that_changes_after_the_energy_was_bound(kind: str) -> None:
    function, change = KINDS[kind]
    energy = declared(function)
    before, begun = potential_of(energy), potential_of(energy)
    try:
        begun.gradient("y")
        change(5.0)
        after = potential_of(energy)
        assert_constant(begun, 1.0)
        assert_constant(before, 1.0)
        assert_constant(after, 5.0)
    finally:
        change(1.0)


def test_potentials_of_a_loop_in_single_precision() -> None:
    energy, several = declared(_global), []
    try:
        for c in (1.0, 2.0, 3.0):
            _set("C")(c)
            several.append(potential_of(energy, "f32"))
        for c, potential in zip((1.0, 2.0, 3.0), several, strict=True):
            assert_constant(potential, c)
    finally:
        _set("C")(1.0)


class Uncopied:
    """A container that cannot be copied, and changes."""

    def __init__(self) -> None:
        self.values = [1.0]

    def __getitem__(self, place: int) -> float:
        return self.values[place]

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("no copies")


uncopied = Uncopied()


def test_a_value_that_cannot_be_copied_is_refused_once_it_changed() -> None:
    def energy(y):
        return uncopied[0] * y[0] ** 2

    potential = potential_of(declared(energy))
    assert potential.value() == 13.0
    uncopied.values[0] = 5.0
    try:
        with pytest.raises(EnergyError, match=r"glob.*has changed since it was bound.*bind it again"):
            potential.gradient("y")
        assert potential.value() == 13.0
        assert_constant(potential_of(declared(energy)), 5.0)
    finally:
        uncopied.values[0] = 1.0


def test_a_simulation_keeps_the_constants_of_its_start() -> None:
    """x'' = -2 C x: after half a period of C = 1 the ball is at -1."""

    def spring(x):
        return C * x[0].norm_sqr()

    energy = local_energy("pull", over="nodes", x=Node("m", ("d",)))(spring)
    fields = {"x": np.array([[1.0, 0.0]]), "m": np.array([1.0])}
    dt = math.pi / math.sqrt(2.0) / 400
    simulation = mg.Simulation(
        fields=fields, energies=[energy()], stepper=mg.Leapfrog(dt=dt), units="dimensionless"
    )
    try:
        _set("C")(5.0)
        simulation.step(400)
    finally:
        _set("C")(1.0)
    np.testing.assert_allclose(simulation.fields["x"].values, [[-1.0, 0.0]], atol=1e-4)
    assert simulation.potential.value() == pytest.approx(1.0, abs=1e-4)


def test_friction_and_vector_potentials_keep_theirs() -> None:
    """v' = -C v, and a charge turns at the rate C: both for C = 1, though C is 5 from then on."""

    @local_energy("drag", over="nodes", v=Node("m/s", ("d",)))
    def drag(v):
        return 0.5 * C * v[0].norm_sqr()

    @vector_potential("turning", x=Node("m", ("d",)), B0=Parameter("T"))
    def turning(x, B0):
        return 0.5 * B0 * C * ti.Vector([-x[0][1], x[0][0]])

    @local_energy("flat", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
    def flat(x, k):
        return 0.5 * k * x[0].norm_sqr()

    dt, start = 1e-3, {"x": np.array([[1.0, 0.0]]), "v": np.array([[0.0, 1.0]]), "m": np.array([1.0])}
    common: dict[str, Any] = {
        "stepper": mg.Leapfrog(dt=dt),
        "units": "dimensionless",
        "energies": [flat(k=0.0)],
    }
    slowed = mg.Simulation(fields=start, dissipations=[drag()], **common)
    turned = mg.Simulation(fields=start, magnetic=[turning(B0=1.0, charge=1.0)], **common)
    try:
        _set("C")(5.0)
        slowed.step(500)
        turned.step(500)
        again = mg.Simulation(fields=start, magnetic=[turning(B0=1.0, charge=1.0)], **common)
        again.step(500)
    finally:
        _set("C")(1.0)
    np.testing.assert_allclose(slowed.fields["v"].values, [[0.0, math.exp(-0.5)]], atol=1e-5)
    np.testing.assert_allclose(turned.fields["v"].values, [[math.sin(0.5), math.cos(0.5)]], atol=1e-5)
    np.testing.assert_allclose(again.fields["v"].values, [[math.sin(2.5), math.cos(2.5)]], atol=1e-5)
