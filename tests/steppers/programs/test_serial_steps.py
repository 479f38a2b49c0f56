"""Many steps in one kernel: the bits of launches, forward and back, in any batches, at any threads."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Datum,
    Fields,
    Loss,
    Node,
    Parameter,
    Potential,
    Rollout,
    Time,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.adjoint.programs.program import ProgramAdjoint
from minusgrad.elements.node_tuples import NodeTuples
from minusgrad.energies.fields import Grid, Hold, Motion
from minusgrad.energies.misfit import misfit
from minusgrad.engine import runtime
from minusgrad.errors import MiscompiledError, NonFiniteError
from minusgrad.plugin import Evolution, Holds, Output, Slope
from minusgrad.potential.fused_code import FusedSweep
from minusgrad.steppers.programs.state_tape import StateTape
from minusgrad.steppers.systems.system import System
from minusgrad.symbolic.operations import OPERATIONS
from tests.support.programs import DT, LINKS, UPDATES, K, chain, drift, fields, kick, link, program
from tests.support.tiers import sampled

STEPS = 300
"""More than a launch takes."""


@pytest.fixture
def restarted() -> Iterator[Callable[..., None]]:
    """Starts the engine with other options; afterwards with those of before."""
    runtime.engine()
    before = runtime._Running.options
    yield lambda **options: runtime.start(runtime.Options(**options))
    runtime.start(before)


# Programs -------------------------------------------------------------------------------------------


def held_chain(precision: str) -> Evolution:
    """Slopes of an energy, maps over nodes, an explicit time, a moving support and a pinned velocity."""
    of = fields(precision)
    holds = Holds(of, [Hold("pin", "x", np.array([0]), velocity=(0.5,))], [Motion("x", "v")])
    return program(of, holds=holds, t0=0.3)


@local_map("wave", gives="q_next", over=3, p=Node(), q=Node(), c=Parameter(), gain=Datum(differentiable=True))
def wave(p, q, c, gain):
    """A wave on a ring; the element is a node with its neighbours."""
    return 2.0 * q[0] - p[0] + c * gain * (q[1] + q[2] - 2.0 * q[0]) / (1.0 + q[1] * q[1])


@local_map("damped", gives="q_next", over="nodes", p=Node(), q=Node(), a=Parameter(), t=Time())
def damped(p, q, a, t):
    """The second map into a field."""
    return a * ti.exp(-t) * (p[0] - q[0])


@local_energy("well", over="nodes", q=Node(), k=Parameter())
def well(q, k):
    """By node, with a square root."""
    return k * ti.sqrt(1.0 + q[0] * q[0])


@local_map("pulled", gives="q_next", over="nodes", g=Node())
def pulled(g):
    """The third."""
    return g[0] / 3.0


def ring(precision: str) -> Evolution:
    """Several maps into one field, swaps, a parameter of elements, a datum, two slopes of one energy."""
    rng, n = np.random.default_rng(2), 7
    of = Fields({name: 0.3 * rng.normal(size=n) for name in "pq"}, precision=precision)
    nodes = np.array([[k, (k + 1) % n, (k - 1) % n] for k in range(n)])
    c, gain = 0.2 + 0.1 * rng.random(n), 1.0 + 0.1 * rng.random(n)
    to = bind(wave, of, tuples=nodes, parameters={"c": c}, data={"gain": gain})
    energy = Potential(of, [bind(well, of, parameters={"k": 0.1})], frozen=True)
    slope, again = (Slope(n, energy, {"q": g}, {"q": f}) for n, g, f in (("s", "g", -0.5), ("r", "h", 2.0)))
    maps = [slope, again, to, bind(damped, of, parameters={"a": 0.1})]
    maps += [bind(pulled, of, renamed={"g": g}, name=f"pulled_{g}") for g in "gh"]
    return Evolution(System(Potential(of, [], maps)), {"p": "q", "q": "q_next"}, 0.01)


@local_map("shoved", gives="dv", over="pairs", x=Node("m", ("d",)), r=Parameter("m"))
def shoved(x, r):
    """Between all pairs."""
    d = x[0] - x[1]
    return r * ti.exp(-d.norm_sqr() / (r * r)) / ti.sqrt(0.1 + d.norm_sqr()) * d[0]


@local_map("shifted", gives="s_next", over="nodes", s=Node(), dv=Node("m"))
def shifted(s, dv):
    """By what was summed."""
    return s[0] + 0.1 * dv[0]


@local_energy("spread", over="nodes", x=Node("m", ("d",)), s=Node())
def spread(x, s):
    """Of two fields, one of vectors."""
    return 0.5 * x[0].norm_sqr() * s[0] + 0.01 * x[0][0] * s[0] * s[0]


@local_map("split", gives="unused", over="nodes", s=Node(), f=Node("1", ("d",)))
def split(s, f):
    """Reads a slope of vectors."""
    return s[0] * f[0][0] + f[0][1]


@local_map("eased", gives="s_next", over="nodes", unused=Node())
def eased(unused):
    """The second into a field."""
    return 0.01 * ti.sin(unused[0])


def crowd(precision: str) -> Evolution:
    """A map over pairs with loops over targets; a slope by two fields, one of vectors."""
    rng, n = np.random.default_rng(3), 6
    of = Fields({"x": rng.normal(size=(n, 2)), "s": rng.normal(size=n)}, {"x": "m"}, precision)
    push = bind(shoved, of, parameters={"r": 0.8})
    energy = Potential(of, [bind(spread, of)], frozen=True)
    slope = Slope("slope", energy, {"x": "f", "s": "e"}, {"x": 1.5, "s": -1.0}, unit="1")
    maps = [push, bind(shifted, of), slope, bind(split, of), bind(eased, of)]
    return Evolution(System(Potential(of, [], maps)), {"s": "s_next"}, 0.1)


def _foot(x, h):
    low = [ti.floor(x[0][a] / h - 0.5) for a in ti.static(range(2))]
    return low, [a + 2.0 for a in low]


@local_map(
    "splat",
    gives="mass",
    over="nodes",
    x=Node("m", ("d",)),
    s=Node(),
    at=Cell(window=_foot, spacing="h"),
    h=Parameter("m"),
)
def splat(x, s, at, h):
    """s times a product of quadratic B-splines."""
    weight = s[0]
    for a in ti.static(range(2)):
        u = ti.abs(x[0][a] / h - at[a])
        weight *= ti.select(u < 0.5, 0.75 - u * u, 0.5 * ti.max(1.5 - u, 0.0) ** 2)
    return weight


@local_map("forced", gives="V", over="nodes", mass=Node(), a=Parameter())
def forced(mass, a):
    """On the grid."""
    return a * mass[0] / (0.2 + mass[0] * mass[0])


@local_map("relaxed", gives="s_next", over="nodes", s=Node(), got=Node())
def relaxed(s, got):
    """From the grid."""
    return 0.9 * s[0] + 0.1 * ti.cos(got[0])


@local_energy("led", over="nodes", x=Node("m", ("d",)), s=Node())
def led(x, s):
    """Its slope by x is x and a small step."""
    return 0.5 * x[0].norm_sqr() + 0.01 * s[0] * (x[0][0] - x[0][1])


def cloud(precision: str) -> Evolution:
    """A scatter to a grid, a map over its cells, and the gather back to particles that move."""
    rng, n = np.random.default_rng(4), 9
    start = {"x": rng.uniform(1.0, 8.0, (n, 2)), "s": rng.uniform(0.5, 1.5, n)}
    of = Fields(start, {"x": "m"}, precision)
    to = bind(splat, of, grid=Grid((10, 10)), outside="cut")
    there = bind(forced, of, parameters={"a": 0.7})
    back = Slope("gather", Potential(of, [], [to], frozen=True), {"s": "got"}, 1.0, {"mass": "V"}, "1")
    lead = Slope("lead", Potential(of, [bind(led, of)], frozen=True), {"x": "x_next"}, unit="m")
    maps = [to, there, back, bind(relaxed, of), lead]
    return Evolution(System(Potential(of, [], maps)), {"s": "s_next", "x": "x_next"}, 0.1)


@local_map(
    "paired",
    over=2,
    gives={"dy": Output("m", ("d",)), "ds": Output()},
    y=Node("m", ("d",)),
    s=Node(),
    k=Parameter(shape=("d",)),
)
def paired(y, s, k):
    """A vector and a number for the first node."""
    d = y[1] - y[0]
    w = ti.exp(-d.norm_sqr()) / (1.0 + s[1] * s[1])
    return w * k * d, w * (s[1] - s[0]) * k[0]


@local_map(
    "led_on", gives="y_next", over="nodes", shape=("d",), unit="m", y=Node("m", ("d",)), dy=Node("m", ("d",))
)
def led_on(y, dy):
    """A vector."""
    return y[0] + 0.1 * dy[0]


@local_map("drawn", gives="s_next", over="nodes", s=Node(), ds=Node())
def drawn(s, ds):
    """A number."""
    return s[0] + 0.1 * ti.tanh(ds[0])


def flock(precision: str) -> Evolution:
    """A map that gives a vector and a number, and one that gives a vector; a parameter of two components."""
    rng, n = np.random.default_rng(7), 5
    of = Fields({"y": rng.normal(size=(n, 2)), "s": rng.normal(size=n)}, {"y": "m"}, precision)
    every = np.array([[a, b] for a in range(n) for b in range(n) if a != b])
    to = bind(paired, of, tuples=every, parameters={"k": [0.7, 0.4]})
    maps = [to, bind(led_on, of), bind(drawn, of)]
    return Evolution(System(Potential(of, [], maps)), {"y": "y_next", "s": "s_next"}, 0.1)


NAMES = {
    flock: ["y", "s", "paired.k"],
    held_chain: ["x", "v", "link.k", "kick.push", "kick.omega"],
    ring: ["p", "q", "wave.c", "wave.gain", "damped.a", "well.k"],
    crowd: ["s", "x", "shoved.r"],
    cloud: ["s", "x", "forced.a"],
}
Made = Callable[[str], Evolution]


def table(*kept: tuple[Made, str]) -> pytest.MarkDecorator:
    """All programs in both precisions; those that are not kept are long."""
    rows = [(made, precision) for made in NAMES for precision in ("f64", "f32")]
    ids = [f"{made.__name__}-{precision}" for made, precision in rows]
    return pytest.mark.parametrize("row", sampled(rows, kept), ids=ids)


def by_launches(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("minusgrad.steppers.programs.serial_steps.SMALL", -1)
    patch.setattr("minusgrad.steppers.programs.serial_steps.LEAST_WORK", -1)


def states(made: Made, precision: str, *runs: list[int]) -> list[list[bytes]]:
    """The states after runs of so many steps in each call."""
    found = []
    for batches in runs:
        one = made(precision)
        for steps in batches:
            one.advance(steps)
        found.append([field.values.tobytes() for field in one.moving])
    return found


def gradient(made: Made, precision: str, **budget: int) -> list[np.ndarray]:
    """The value of a run's loss, and its gradient by all names."""
    one = made(precision)
    of = one.potential.fields
    terms = [
        bind(misfit(f), of, name=f.name, renamed={"x": f.name}, data={"target": np.zeros(f.shape)})
        for f in one.moving
    ]
    run = Rollout(one, [Loss(Potential(of, terms), (3, 17, 30))], 30, **budget)
    value, found = run.evaluate(NAMES[made])
    (back,) = run._adjoints.values()
    assert back.fused == one.fused
    assert all(np.abs(values).max() > 0.0 for values in found.values())
    return [np.array(value), *found.values()]


def bits(found: list[np.ndarray]) -> list[bytes]:
    return [values.tobytes() for values in found]


@table((ring, "f64"), (held_chain, "f32"), (flock, "f64"))
def test_the_bits_are_those_of_launches(
    row: tuple[Made, str], restarted: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without fast math, which lets the compiler reorder products and sums inside of one loop."""
    made, precision = row
    restarted(fast_math=False, threads=2)
    assert made(precision).fused
    found = states(made, precision, [STEPS]), bits(gradient(made, precision))
    by_launches(monkeypatch)
    assert not made(precision).fused
    assert found == (states(made, precision, [STEPS]), bits(gradient(made, precision)))


@table((cloud, "f64"))
def test_the_bits_depend_neither_on_batches_nor_on_threads(
    row: tuple[Made, str], restarted: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fast math; and the numbers are those of launches to rounding."""
    made, precision = row
    found, gradients = [], []
    for threads in (1, 2):
        restarted(threads=threads)
        found += states(made, precision, [STEPS], [1, 70, STEPS - 71])
        gradients += [gradient(made, precision), gradient(made, precision, budget=2000)]
    assert all(one == found[0] for one in found)
    assert all(bits(one) == bits(gradients[0]) for one in gradients)
    by_launches(monkeypatch)
    room = {"f64": 1e-13, "f32": 2e-5}[precision]
    for one, other in zip(gradients[0], gradient(made, precision), strict=True):
        np.testing.assert_allclose(one, other, rtol=room, atol=room * np.abs(other).max())


@local_map("mixed", gives="m_next", over="nodes", a=Node(), b=Node(), k=Parameter())
def mixed(a, b, k):
    """Of two fields."""
    return a[0] + k * ti.sin(b[0])


def long_chain(precision: str) -> Evolution:
    """Eighty maps in a row: more arrays than a kernel may have, of parameters alone."""
    of = Fields({"q": np.linspace(0.1, 0.9, 5)}, precision=precision)
    names = ["q", *(f"y{k}" for k in range(80))]
    maps = []
    for k, (a, y) in enumerate(pairwise(names)):
        renamed = {"a": a, "b": names[max(k - 1, 0)]}
        maps.append(bind(mixed, of, name=f"m{k}", renamed=renamed, gives=y, parameters={"k": 0.01 * (k + 1)}))
    return Evolution(System(Potential(of, [], maps)), {"q": "y79"}, 0.1)


@local_map("grown", gives="q_next", over="nodes", q=Node())
def grown(q):
    """Doubles the exponent."""
    return q[0] * q[0]


NAMES[long_chain] = ["q", "m3.k", "m79.k"]


def test_more_arrays_than_a_kernel_may_have_are_divided(
    restarted: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    restarted(fast_math=False)
    one = long_chain("f64")
    assert one._steps is not None
    assert one._steps.launches > 1
    found = states(long_chain, "f64", [7], [1, 6]), bits(gradient(long_chain, "f64"))
    assert found[0][0] == found[0][1]
    by_launches(monkeypatch)
    assert found[0][1:] == states(long_chain, "f64", [7])
    assert found[1] == bits(gradient(long_chain, "f64"))


class Renewed(NodeTuples):
    """Elements that may change between steps."""

    fixed = False


def test_elements_that_are_rebuilt_take_launches() -> None:
    of = fields()
    links = bind(link, of, elements=Renewed(LINKS.astype(np.int32)), parameters={"k": K})
    force = Slope("force", Potential(of, [links], frozen=True), {"x": "f"}, factor=-1.0)
    maps = [force, bind(kick, of), bind(drift, of, renamed={"v": "v_next"})]
    one, other = Evolution(System(Potential(of, [], maps)), UPDATES, DT), program(fields())
    one.advance(5)
    other.advance(5)
    assert (one.fused, other.fused) == (False, True)
    for name in UPDATES:
        np.testing.assert_allclose(of[name].values, other.potential.fields[name].values, rtol=1e-14)


def test_large_programs_take_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    most = FusedSweep(chain(fields()))
    most.refresh()
    assert 100 < most.statements < 2000
    patched = "minusgrad.steppers.programs.serial_steps.SMALL"
    for limit, fused in ((most.statements, True), (most.statements - 1, False)):
        monkeypatch.setattr(patched, limit)
        assert program(fields()).fused is fused


def test_kernels_are_verified_before_their_loops_run_in_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine translates a product wrongly, no step is taken, forward or back."""
    wrong = replace(OPERATIONS["mul"], text="({0} * {1} * {T}(1.5))")
    with monkeypatch.context() as broken:
        broken.setitem(OPERATIONS, "mul", wrong)
        one = program(fields())
        with pytest.raises(MiscompiledError, match=r"^term 'link', element .* its function: engine "):
            one.advance(1)
        assert one.step == 0
    one = program(fields())
    recorded = one.with_tape(StateTape(one.moving, 1))
    recorded.begin_tape(0)
    recorded.advance(1)
    with monkeypatch.context() as broken:
        broken.setitem(OPERATIONS, "mul", wrong)
        back = ProgramAdjoint(recorded, ["link.k"])
        back.clear()
        back.add({"v": np.ones(len(fields()["v"]))})
        with pytest.raises(MiscompiledError, match=r"^term '.*', element .*: engine "):
            back.back(1, 1)


def test_a_step_in_the_middle_of_a_launch_that_is_not_finite_is_named() -> None:
    """The state before it is that of a run that ends there."""
    of = Fields({"q": [1.0, 1.5], "p": [0.0, 0.0]})
    square = bind(grown, of)
    one = Evolution(System(Potential(of, [], [square])), {"q": "q_next"})
    assert one.fused
    message = "^step 11: map 'grown', output 'q_next', node 1 is not finite$"
    with pytest.raises(NonFiniteError, match=message):
        one.advance(40)
    assert one.step == 10
    expected = 1.5
    for _ in range(10):
        expected *= expected
    assert of["q"].values.tolist() == [1.0, expected]
