"""What was given is traced: decorators of energies and of functions that they call keep what they do.

Each energy below is 3 (1/2) k |x|^2 in Python: for k = 2, x = (1, 0) U = 3, dU/dx = 3 k x, dU/dk = 3/2.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Cell, Fields, Grid, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.plugin import EnergyError, MinusgradError


def compiled(function: Callable) -> Callable:
    """`ti.func` of a decorated function, which Quadrants itself refuses."""
    return function if ti.__name__.startswith("quadrants") else ti.func(function)


ROLES = {"x": Node("m", ("d",)), "k": Parameter("N/m")}


def scaled(factor: float) -> Callable:
    def decorator(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return factor * f(*args, **kwargs)

        return wrapper

    return decorator


def named(f):
    @functools.wraps(f)
    def wrapper(x, k):
        return 3.0 * f(x, k)

    return wrapper


def without_wraps(f):
    def wrapper(x, k):
        return 3.0 * f(x, k)

    return wrapper


def by_keyword(f):
    @functools.wraps(f)
    def wrapper(*, x, k):
        return 3.0 * f(x=x, k=k)

    return wrapper


def keywords(f):
    @functools.wraps(f)
    def wrapper(**kwargs):
        return 3.0 * f(**kwargs)

    return wrapper


def first_named(f):
    @functools.wraps(f)
    def wrapper(x, *args):
        value = f(x, *args)
        return value + 2.0 * value

    return wrapper


class Scaled:
    """A decorator that is a class."""

    def __init__(self, function: Callable):
        functools.update_wrapper(self, function)
        self.function, self.factor = function, 3.0

    def __call__(self, *args, **kwargs):
        return self.factor * self.function(*args, **kwargs)


class Law:
    """An object whose method is an energy, and which can be called itself."""

    factor = 3.0

    def energy(self, x, k):
        return self.factor * half(x, k)

    def __call__(self, x, k):
        return self.energy(x, k)

    @scaled(3.0)
    def decorated(self, x, k):
        return half(x, k)


def half(x, k):
    return 0.5 * k * ti.sqrt(x[0].dot(x[0])) ** 2


def with_factor(x, k, factor):
    return factor * half(x, k)


def factor_first(factor, x, k):
    return factor * half(x, k)


@scaled(3.0)
def decorated_helper(x, k):
    return half(x, k)


@compiled
@scaled(3.0)
def below_the_compiler(x, k):
    return half(x, k)


@scaled(3.0)
@ti.func
def above_the_compiler(x, k):
    return half(x, k)


@functools.lru_cache(maxsize=8)
def coefficient(n):
    return 1.0 + n


def calls_decorated(x, k):
    return decorated_helper(x, k)


def calls_below(x, k):
    return below_the_compiler(x, k)


def calls_above(x, k):
    return above_the_compiler(x, k)


def calls_cached(x, k):
    return coefficient(2) * half(x, k)


thrice = functools.partial(with_factor, factor=3.0)


def calls_partial(x, k):
    return thrice(x, k)


LAW = Law()


def calls_object(x, k):
    return LAW(x, k)


KINDS: dict[str, Any] = {
    "*args, **kwargs": scaled(3.0)(half),
    "stacked": scaled(1.5)(scaled(2.0)(half)),
    "names": named(half),
    "without wraps": without_wraps(half),
    "by keyword": by_keyword(half),
    "keywords": keywords(half),
    "first by name": first_named(half),
    "class": Scaled(half),
    "class over a function": Scaled(functools.lru_cache(half)),
    "partial by name": functools.partial(with_factor, factor=3.0),
    "partial by place": functools.partial(factor_first, 3.0),
    "partial of a decorated": functools.partial(scaled(3.0)(with_factor), factor=1.0),
    "method": LAW.energy,
    "decorated method": LAW.decorated,
    "object": LAW,
    "above the compiler": scaled(3.0)(ti.func(half)),
    "below the compiler": compiled(scaled(3.0)(half)),
    "helper": calls_decorated,
    "helper below the compiler": calls_below,
    "helper above the compiler": calls_above,
    "cached helper": calls_cached,
    "partial helper": calls_partial,
    "object as a helper": calls_object,
}


def declared(function: Any) -> Any:
    return local_energy("trap", over="nodes", **ROLES)(function)


def bound(energy: Any, precision: str = "f64") -> Potential:
    fields = Fields({"x": np.array([[1.0, 0.0]])}, {"x": "m"}, precision=precision)
    return Potential(fields, [bind(energy, fields, parameters={"k": 2.0})])


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_decorator_does_is_part_of_the_energy(kind: str) -> None:
    energy = declared(KINDS[kind])
    assert energy.arguments == ("x", "k")
    assert energy.evaluator()({"x": [np.array([1.0, 0.0])], "k": 2.0}) == pytest.approx(3.0)
    potential = bound(energy)
    assert potential.value() == pytest.approx(3.0)
    np.testing.assert_allclose(potential.gradient("x"), [[6.0, 0.0]])
    np.testing.assert_allclose(potential.gradient("trap.k"), 1.5)
    np.testing.assert_allclose(potential.product({"x": np.array([[1.0, 1.0]])}, "x"), [[6.0, 6.0]])


def counted(f):
    @functools.wraps(f)
    def wrapper(*args):
        wrapper.calls += 1
        return 3.0 * f(*args)

    wrapper.calls = 0
    return wrapper


def guarded(f):
    @functools.wraps(f)
    def wrapper(*args):
        try:
            return 3.0 * f(*args)
        except ValueError:
            return 0.0

    return wrapper


def renamed(f):
    @functools.wraps(f)
    def wrapper(place, stiffness):
        return 3.0 * f(place, stiffness)

    return wrapper


@pytest.mark.parametrize(
    ("decorator", "text"),
    [
        (counted, "'wrapper': is outside of the energy"),
        (guarded, "`try`: has no meaning in an energy"),
    ],
)
def test_a_decorator_without_meaning_in_an_energy_is_refused_by_its_line(decorator: Any, text: str) -> None:
    with pytest.raises(MinusgradError, match=rf"test_decorated_functions.py:\d+: {text}.*; "):
        bound(declared(decorator(half))).value()


def test_the_arguments_are_those_of_the_decorated_function() -> None:
    with pytest.raises(EnergyError, match="place, stiffness"):
        declared(renamed(half))


def test_the_window_of_a_map_may_be_decorated() -> None:
    """The window reaches one cell further than the function below the decorator says."""

    def wider(f):
        @functools.wraps(f)
        def wrapper(*args):
            low, high = f(*args)
            return [low[0] - 1.0], [high[0] + 1.0]

        return wrapper

    @wider
    def reached(x):
        return [x[0]], [x[0]]

    @local_map("spread", gives="rho", over="nodes", x=Node(), at=Cell(window=reached))
    def spread(x, at):
        return 1.0 + 0.0 * at[0] * x[0]

    @local_energy("sum", over="nodes", rho=Node())
    def total(rho):
        return rho[0]

    fields = Fields({"x": np.array([4.0])})
    spread_term = bind(spread, fields, grid=Grid((9,), 1.0))
    potential = Potential(fields, [bind(total, fields)], maps=[spread_term])
    assert potential.value() == pytest.approx(3.0)


PLUGIN = """
import functools
from minusgrad import Node, Parameter, local_energy

def scaled(f):
    @functools.wraps(f)
    def wrapper(*args):
        return FACTOR * f(*args)
    return wrapper

@local_energy("held", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
@scaled
def held(x, k):
    return 0.5 * k * x[0].norm_sqr()
"""


def test_a_run_is_not_resumed_with_another_factor(tmp_path: Any) -> None:
    plugin = tmp_path / "held.py"
    plugin.write_text(PLUGIN.replace("FACTOR", "3.0"))
    scene = tmp_path / "scene.toml"
    scene.write_text(
        '[state]\nkind = "network"\nnodes = [["1 m", "0 m"], ["2 m", "0 m"]]\n'
        'springs = [[0, 1]]\nmass = "1 kg"\n'
        '[[energy]]\nkind = "held"\nk = "1 N/m"\n'
        '[stepper]\nkind = "leapfrog"\ndt = "1 ms"\n[run]\nsteps = 4\n'
    )
    mg.run(scene, out=tmp_path / "run", plugins=[plugin])
    plugin.write_text(PLUGIN.replace("FACTOR", "4.0"))
    with pytest.raises(MinusgradError, match="has changed"):
        mg.resume(tmp_path / "run", plugins=[plugin])


def test_what_is_not_declared_is_refused_by_bind():
    """A decorator above `@local_energy` gives a plain function: refused with the cure."""

    @local_energy("bare", over="nodes", **ROLES)
    def bare(x, k):
        return 0.5 * k * x[0].dot(x[0])

    fields = Fields({"x": np.ones((1, 2))})
    for given in (named(bare), bare(k=1.0), "bare"):
        with pytest.raises(EnergyError, match=f"needs a declared energy or map, got {type(given).__name__}"):
            bind(given, fields, parameters={"k": 1.0})
