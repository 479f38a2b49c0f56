"""Several sets of nodes in one term: layers of a network, muscles on springs, all derivatives and layouts."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Datum,
    Fields,
    Loss,
    Node,
    Output,
    Parameter,
    Potential,
    Rollout,
    Time,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.adjoint.checks.first_step import of_program
from minusgrad.check import single_precision, term_check
from minusgrad.codegen.canonical_trace import canonical_trace
from minusgrad.codegen.element_lanes.lane_loops import Lanes
from minusgrad.elements.node_tuples import NodeTuples
from minusgrad.energies.fields import Body, Grid, Motion
from minusgrad.energies.roles import Linear
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError, TraceError
from minusgrad.plugin import Evolution
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.layouts import LIMITS, everything, in_lanes
from tests.support.networks import (
    HIDDEN,
    INPUTS,
    OUTPUTS,
    PLACES,
    aim,
    controlled,
    in_numpy,
    perceptron,
    weigh,
    weights,
)
from tests.support.programs import differences
from tests.support.tiers import sampled


def by_hand(at: Mapping[str, np.ndarray]) -> tuple[Any, dict[str, np.ndarray]]:
    """The loss of the perceptron and its gradients."""
    h = np.tanh(at["w1"] @ at["s"] + at["b1"])
    y = np.tanh(at["w2"] @ h + at["b2"])
    left = y - at["goal"]
    of_output = left * (1.0 - y * y)
    of_hidden = (at["w2"].T @ of_output) * (1.0 - h * h)
    first, second = np.outer(of_hidden, at["s"]), np.outer(of_output, h)
    return 0.5 * (left @ left), {
        "w1": first,
        "b1": of_hidden,
        "w2": second,
        "b2": of_output,
        "s": at["w1"].T @ of_hidden,
    }


@pytest.mark.parametrize(("precision", "room"), [("f64", 1e-12), ("f32", 2e-5)])
def test_a_perceptron_against_numpy(precision: str, room: float) -> None:
    """Value and gradients by the formulas above; Hessian products by a complex step of them."""
    potential, at = perceptron(precision)
    value, gradients = by_hand(at)
    assert potential.value() == pytest.approx(value, rel=room)
    rng = np.random.default_rng(2)
    along = {name: rng.normal(size=at[name].shape) for name in PLACES}
    _, moved = by_hand({name: values + 1e-30j * along.get(name, 0.0) for name, values in at.items()})
    tangents = {PLACES[name]: step for name, step in along.items()}
    for name, place in PLACES.items():
        found, product = potential.gradient(place), potential.product(tangents, place)
        assert found.shape == product.shape == at[name].shape
        np.testing.assert_allclose(found, gradients[name], rtol=0, atol=room, err_msg=name)
        np.testing.assert_allclose(product, moved[name].imag / 1e-30, rtol=0, atol=10 * room, err_msg=name)


def test_weights_keep_the_shape_in_which_they_were_given() -> None:
    potential, at = perceptron()
    np.testing.assert_array_equal(potential.parameter("one.w"), at["w1"])
    assert potential.shape("two.w") == (OUTPUTS, HIDDEN)
    potential.set_parameter("one.w", 2.0 * at["w1"])
    assert potential.value() == pytest.approx(by_hand({**at, "w1": 2.0 * at["w1"]})[0], rel=1e-13)
    potential.set_parameter("one.w", np.arange(INPUTS))  # broadcast to every neuron
    rows = np.tile(np.arange(INPUTS), (HIDDEN, 1)).astype(float)
    twin = potential.twin()
    assert twin.value() == pytest.approx(by_hand({**at, "w1": rows})[0], rel=1e-13)
    assert twin.shape("one.w") == (HIDDEN, INPUTS)


@pytest.mark.parametrize(("given", "shape"), [(0.3, ()), (np.arange(6.0), (6,)), (np.ones((2, 3)), (2, 3))])
def test_one_weight_or_a_list_or_a_matrix(given: Any, shape: tuple[int, ...]) -> None:
    fields = Fields({"s": [1.0, 2.0, 4.0], "c": [1.0, -3.0]})
    of_map = bind(weigh, fields, gives="c2", parameters={"w": given}, sizes={"hidden": 2})
    potential = Potential(fields, [bind(aim, fields, renamed={"y": "c2", "goal": "c"})], [of_map])
    left = np.broadcast_to(np.ravel(given), 6).reshape(2, 3) @ fields["s"].values - fields["c"].values
    expected = np.outer(left, fields["s"].values)
    assert potential.parameter("weigh.w").shape == potential.gradient("weigh.w").shape == shape
    found = expected.sum() if shape == () else expected.reshape(shape)
    np.testing.assert_allclose(potential.gradient("weigh.w"), found, rtol=1e-14)


# A muscle: a spring whose length at rest a neuron sets ------------------------------------------------


@local_energy(
    "muscle",
    over=("spring", "mass", "mass"),
    x=Node("m", ("d",), of="mass"),
    act=Node(of="spring"),
    rest=Datum("m", differentiable=True),
    k=Parameter("N/m"),
    symmetries=("translation", "rotation"),
)
def muscle(x, act, rest, k):
    """A spring; the activation is that of the neuron in slot 0."""
    stretch = (x[1] - x[-1]).norm() - rest * (1.0 + 0.2 * act[0])
    return 0.5 * k * stretch * stretch


MASSES, SPRINGS = 9, 13


def muscles(precision: str = "f64", masses: int = MASSES, springs: int = SPRINGS) -> Potential:
    rng = np.random.default_rng(3)
    drawn = {"x": rng.normal(size=(masses, 2)), "act": rng.normal(size=springs)}
    fields = Fields({n: v.astype(np.float32) for n, v in drawn.items()}, {"x": "m"}, precision)
    pairs = np.array([rng.permutation(masses)[:2] for _ in range(springs)])
    tuples = np.column_stack([rng.permutation(springs), pairs])
    rest = {"rest": rng.uniform(0.5, 1.0, springs).astype(np.float32)}
    k = {"k": rng.uniform(1.0, 2.0, springs)}
    return Potential(fields, [bind(muscle, fields, tuples=tuples, data=rest, parameters=k)])


def of_muscles(potential: Potential, x: np.ndarray, act: np.ndarray) -> Any:
    """U, dU/dx, dU/dact and dU/dk for each element, by hand."""
    term = potential.terms["muscle"]
    spring, i, j = term.elements.tuples().T
    k, rest = potential.parameter("muscle.k"), np.asarray(term.data["rest"], float)
    d = x[i] - x[j]
    r = np.sqrt((d * d).sum(axis=1))
    e = r - rest * (1.0 + 0.2 * act[spring])
    of_x, of_act = np.zeros(x.shape, e.dtype), np.zeros(act.shape, e.dtype)
    pull = (k * e / r)[:, None] * d
    np.add.at(of_x, i, pull)
    np.add.at(of_x, j, -pull)
    np.add.at(of_act, spring, -k * e * 0.2 * rest)
    return (0.5 * k * e * e).sum(), of_x, of_act, 0.5 * e * e


def test_a_muscle_against_numpy() -> None:
    potential = muscles()
    x, act = potential.fields["x"].values.copy(), potential.fields["act"].values.copy()
    u, of_x, of_act, of_k = of_muscles(potential, x, act)
    assert potential.value() == pytest.approx(u, rel=1e-14)
    np.testing.assert_allclose(potential.gradient("x"), of_x, atol=1e-13)
    np.testing.assert_allclose(potential.gradient("act"), of_act, atol=1e-13)
    np.testing.assert_allclose(potential.gradient("muscle.k"), of_k, atol=1e-13)


@pytest.mark.parametrize("order", [("x", "act"), ("act", "x"), ("act",), ("x",)])
def test_the_hessian_over_fields_of_different_lengths(order: tuple[str, ...]) -> None:
    """Columns by a complex step of the gradients by hand."""
    potential = muscles()
    at = {n: potential.fields[n].values.copy() for n in ("x", "act")}
    columns = []
    for name in order:
        for k in range(at[name].size):
            step = np.zeros(at[name].size)
            step[k] = 1.0
            moved = at | {name: at[name] + 1e-30j * step.reshape(at[name].shape)}
            _, of_x, of_act, _ = of_muscles(potential, moved["x"], moved["act"])
            found = {"x": of_x, "act": of_act}
            columns.append(np.concatenate([np.ravel(found[n].imag) / 1e-30 for n in order]))
    matrix = potential.hessian(order)
    np.testing.assert_allclose(matrix.toarray(), np.array(columns), atol=1e-12)
    assert (matrix != matrix.T).nnz == 0
    w = {n: np.random.default_rng(4).normal(size=at[n].shape) for n in order}
    product = np.concatenate([np.ravel(potential.product(w, n)) for n in order])
    np.testing.assert_allclose(matrix @ np.concatenate([np.ravel(w[n]) for n in order]), product, atol=1e-12)
    rows = sum({"x": 4, "act": 1}[name] for name in order)
    assert potential.element_hessians("muscle", order).shape == (SPRINGS, rows, rows)


@pytest.fixture
def any_threads() -> Iterator[None]:
    """Leaves the engine as it was."""
    before = runtime._Running.options
    runtime.start(runtime.Options())
    yield
    runtime.start(before)


@local_energy("tied", over=("a", "b"), p=Node("m", ("d",), of="a"), q=Node("m", ("d",), of="b"))
def tied(p, q):
    """A stiff tie between nodes of two sets, both with vectors."""
    return (p[0] - q[1]).norm_sqr() ** 2


def ties(precision: str = "f64") -> Potential:
    rng = np.random.default_rng(8)
    fields = Fields({"p": rng.normal(size=(6, 3)), "q": rng.normal(size=(9, 3))}, precision=precision)
    return Potential(fields, [bind(tied, fields)])


def test_ties_against_numpy() -> None:
    potential = ties()
    d = potential.fields["p"].values[:, None] - potential.fields["q"].values[None]
    square = (d * d).sum(axis=2)
    assert potential.value() == pytest.approx((square**2).sum(), rel=1e-14)
    pull = 4.0 * square[..., None] * d
    np.testing.assert_allclose(potential.gradient("p"), pull.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(potential.gradient("q"), -pull.sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize(("made", "precision"), [(muscles, "f64"), (muscles, "f32"), (ties, "f64")])
def test_rows_and_lanes_compute_the_same(
    made: Callable, precision: str, monkeypatch: pytest.MonkeyPatch, any_threads: None
) -> None:
    found, hessians = {}, {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        potential = made(precision)
        (kernels,) = potential.kernels.values()
        assert isinstance(kernels.emitter, Lanes) == wanted
        found[wanted] = everything(potential)
        hessians[wanted] = potential.hessian(sorted(potential.reads)).toarray()
    for what, expected in {**found[False], "hessian": hessians[False]}.items():
        got = hessians[True] if what == "hessian" else found[True][what]
        assert got.shape == expected.shape
        assert np.abs(got - expected).max() <= LIMITS[precision] * np.abs(expected).max(), what


@pytest.mark.parametrize("lanes", sampled([False, True], [True]))
def test_bits_do_not_depend_on_threads(
    lanes: bool, monkeypatch: pytest.MonkeyPatch, any_threads: None
) -> None:
    """So many elements and nodes that two threads share them; and a run with its gradient."""
    in_lanes(monkeypatch, lanes)
    found = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        each = {what: one.tobytes() for what, one in everything(muscles(masses=1500, springs=2500)).items()}
        value, gradient = by_weights(controlled(), 3)
        found[threads] = each, value, [one.tobytes() for one in gradient.values()]
    assert found[1] == found[2]


def test_equal_names_are_one_set() -> None:
    """`of` may be left out, and the term is that of `over=2`, bodies included."""

    def u(x, k):
        return 0.5 * k * (x[0] - x[1]) ** 2

    plain = local_energy("pull", over=2, x=Node("m"), k=Parameter())(u)
    named = local_energy("pull", over=("mass", "mass"), x=Node("m"), k=Parameter())(u)
    said = local_energy("pull", over=("mass", "mass"), x=Node("m", of="mass"), k=Parameter())(u)
    found = []
    for energy in (plain, named, said):
        fields = Fields({"x": [0.0, 1.0, 3.0, 7.0]}, {"x": "m"})
        bodies = [Body("left", [0, 1, 2])]
        given = {"tuples": [[0, 1], [1, 2], [2, 3]], "bodies": bodies, "parameters": {"k": {"left": 2.0}}}
        potential = Potential(fields, [bind(energy, fields, **given)])
        found.append((potential.value(), potential.gradient("x").tolist()))
    assert found[0] == found[1] == found[2] == (5.0, [-2.0, -2.0, 4.0, 0.0])


def test_arguments_of_two_sets_may_be_one_field() -> None:
    """The first argument bound to a field may overwrite its array, whatever the order of the sets."""

    def u(p, q, r):
        return p[0] * q[1] * q[1] + ti.sin(r[0]) * q[1]

    roles = {"p": Node(of="a"), "q": Node(of="b"), "r": Node(of="a")}
    energy = local_energy("mixed", over=("a", "b"), **roles)(u)
    rng = np.random.default_rng(5)
    fields = Fields({"f": rng.normal(size=4), "g": rng.normal(size=4)})
    potential = Potential(fields, [bind(energy, fields, renamed={"p": "f", "q": "g", "r": "g"})])
    f, g = fields["f"].values, fields["g"].values
    expected = 2.0 * f.sum() * g + np.sin(g).sum() + np.cos(g) * g.sum()
    for _ in range(2):
        np.testing.assert_allclose(potential.gradient("g"), expected, atol=1e-14)
        np.testing.assert_allclose(potential.gradient("f"), np.full(4, (g * g).sum()), atol=1e-14)


def test_the_receivers_are_as_many_as_the_tuples_name() -> None:
    fields = Fields({"s": [1.0, 0.0, 0.0, 0.0, 0.0, 2.0]})
    of_map = bind(weigh, fields, tuples=[[3, 0], [1, 5], [3, 5]], parameters={"w": [10.0, 20.0, 30.0]})
    Potential(fields, [], [of_map]).refresh()
    assert fields["z"].values.tolist() == [0.0, 40.0, 0.0, 70.0]
    again = bind(weigh, fields, gives="z6", tuples=[[3, 0]], parameters={"w": 1.0}, sizes={"hidden": 6})
    assert len(again.gives) == 6


def near(x):
    """The cells around a spot."""
    return [x[0][0] - 1.5, x[0][1] - 1.5], [x[0][0] + 1.5, x[0][1] + 1.5]


@local_map(
    "deposit",
    gives="dose",
    over=("spot", "lamp"),
    x=Node(shape=(2,), of="spot"),
    power=Node(of="lamp"),
    at=Cell(window=near),
)
def deposit(x, power, at):
    """A lamp's power around a spot."""
    s, r = (at[0] - x[0][0]) / 1.5, (at[1] - x[0][1]) / 1.5
    inside = 1.0 - s * s - r * r
    return ti.select(inside > 0.0, power[1] * inside * inside * inside, 0.0)


def test_a_map_from_two_sets_to_cells() -> None:
    rng = np.random.default_rng(6)
    drawn = {
        "x": rng.uniform(1.0, 5.0, (4, 2)),
        "power": rng.uniform(1.0, 2.0, 3),
        "want": rng.normal(size=42),
    }
    fields = Fields(drawn)
    tuples = [[0, 2], [1, 0], [3, 2], [2, 1], [0, 1]]
    of_map = bind(deposit, fields, tuples=tuples, grid=Grid((6, 7)))
    u = Potential(fields, [bind(aim, fields, renamed={"y": "dose", "goal": "want"})], [of_map])
    cells, x, power = np.argwhere(np.ones((6, 7))), drawn["x"], drawn["power"]
    far = [((cells - place) ** 2).sum(axis=1) / 2.25 for place in x]
    bump = [np.maximum(1.0 - one, 0.0) ** 3 for one in far]
    left = sum(power[j] * bump[i] for i, j in tuples) - drawn["want"]
    assert u.value() == pytest.approx(0.5 * left @ left, rel=1e-14)
    of_power = np.zeros(3)
    for i, j in tuples:
        of_power[j] += left @ bump[i]
    np.testing.assert_allclose(u.gradient("power"), of_power, atol=1e-13)
    np.testing.assert_allclose(u.gradient("x"), differences(u.value, fields["x"].set, x), atol=1e-7)
    step = {"x": rng.normal(size=(4, 2)), "power": rng.normal(size=3)}

    def shifted(h: float, name: str) -> np.ndarray:
        for n, start in (("x", x), ("power", power)):
            fields[n].set(start + h * step[n])
        found = u.gradient(name)
        fields["x"].set(x)
        fields["power"].set(power)
        return found

    for name in step:
        about = (shifted(1e-6, name) - shifted(-1e-6, name)) / 2e-6
        np.testing.assert_allclose(u.product(step, name), about, atol=1e-6)


@local_map(
    "tides", gives="level", over=("gauge",), omega=Parameter("rad/s"), phase=Parameter("rad"), t=Time()
)
def tides(omega, phase, t):
    """Sines of time, which read no field."""
    return ti.sin(omega * t + phase)


@pytest.mark.parametrize("lanes", [False, True])
def test_a_map_that_reads_no_field(lanes: bool, monkeypatch: pytest.MonkeyPatch, any_threads: None) -> None:
    """Its set has the size that is given."""
    in_lanes(monkeypatch, lanes)
    phase, goal, omega, t = 0.3 * np.arange(5), np.arange(5.0), 2.0, 0.7
    fields = Fields({"goal": goal})
    given = {"omega": omega, "phase": phase}
    of_map = bind(tides, fields, sizes={"gauge": 5}, parameters=given)
    u = Potential(fields, [bind(aim, fields, renamed={"y": "level"})], [of_map])

    def gradients(omega: Any, phase: Any, t: Any) -> tuple[Any, dict[str, Any]]:
        left, slope = np.sin(omega * t + phase) - goal, np.cos(omega * t + phase)
        by_phase = left * slope
        found = {"tides.phase": by_phase, "tides.omega": t * by_phase.sum(), "t": omega * by_phase.sum()}
        return 0.5 * (left @ left), found

    value, expected = gradients(omega, phase, t)
    step = {"tides.phase": np.sin(np.arange(5.0)), "tides.omega": np.array(0.4), "t": np.array(1.3)}
    moves = [at + 1e-30j * step[n] for n, at in (("tides.omega", omega), ("tides.phase", phase), ("t", t))]
    _, moved = gradients(*moves)
    assert u.value(t) == pytest.approx(value, rel=1e-14)
    for name, gradient in expected.items():
        np.testing.assert_allclose(u.gradient(name, t), gradient, rtol=0, atol=1e-13)
        np.testing.assert_allclose(u.product(step, name, t), moved[name].imag / 1e-30, rtol=0, atol=1e-13)
    assert u.reads == {"goal"}


def test_a_map_that_reads_no_field_needs_the_size_of_its_set() -> None:
    fields, given = Fields({"goal": [0.0]}), {"omega": 1.0, "phase": 0.0}
    text = "tides: the number of nodes in 'gauge' is not known, got no field over it; give sizes = { gauge"
    with pytest.raises(EnergyError, match=re.escape(text)):
        bind(tides, fields, parameters=given)
    assert len(bind(tides, fields, parameters=given, tuples=[[0], [3]]).gives) == 4
    with pytest.raises(
        EnergyError, match=re.escape("energy 'constant': has no Node field; give one argument")
    ):
        local_energy("constant", over=("gauge",), phase=Parameter("rad"))(lambda phase: phase)


@local_map(
    "thrust",
    over=("mass", "jet"),
    gives={"push": Output(shape=("d",)), "near": Output()},
    x=Node(shape=("d",), of="mass"),
    y=Node(shape=("d",), of="jet"),
    w=Parameter(),
)
def thrust(x, y, w):
    """A vector and a number at each mass, of all jets."""
    d = x[0] - y[1]
    return w * d, ti.exp(-d.dot(d))


@local_energy("felt", over="nodes", push=Node(shape=("d",)), near=Node())
def felt(push, near):
    return 0.5 * push[0].norm_sqr() + 0.5 * near[0] * near[0]


def test_a_map_of_two_sets_to_a_vector_and_a_number() -> None:
    rng = np.random.default_rng(9)
    x, y, w = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    fields = Fields({"x": x, "y": y})
    of_map = bind(thrust, fields, parameters={"w": w})
    u = Potential(fields, [bind(felt, fields)], [of_map])

    def gradients(x: Any, y: Any, w: Any) -> tuple[Any, dict[str, Any]]:
        d = x[:, None] - y[None]
        bell = np.exp(-(d * d).sum(axis=2))
        push, near = (w[..., None] * d).sum(axis=1), bell.sum(axis=1)
        of_d = w[..., None] * push[:, None] - 2.0 * (near[:, None] * bell)[..., None] * d
        of_w = (push[:, None] * d).sum(axis=2)
        value = 0.5 * (push * push).sum() + 0.5 * (near * near).sum()
        return value, {"x": of_d.sum(axis=1), "y": -of_d.sum(axis=0), "thrust.w": of_w}

    value, expected = gradients(x, y, w)
    step = {
        "x": rng.normal(size=x.shape),
        "y": rng.normal(size=y.shape),
        "thrust.w": rng.normal(size=w.shape),
    }
    _, moved = gradients(x + 1e-30j * step["x"], y + 1e-30j * step["y"], w + 1e-30j * step["thrust.w"])
    assert u.value() == pytest.approx(value, rel=1e-13)
    for name, gradient in expected.items():
        np.testing.assert_allclose(u.gradient(name), gradient, rtol=0, atol=1e-12)
        np.testing.assert_allclose(u.product(step, name), moved[name].imag / 1e-30, rtol=0, atol=1e-11)


# In time ------------------------------------------------------------------------------------------------


@local_energy("where", over="nodes", x=Node())
def where(x):
    """A loss of places."""
    return ti.sin(x[0]) + 0.1 * x[0] * x[0]


@pytest.mark.parametrize(("precision", "room"), [("f64", 1e-13), ("f32", 1e-5)])
def test_a_controlled_program_against_numpy(precision: str, room: float) -> None:
    one = controlled(precision)
    fields = one.potential.fields
    start = fields["x"].values.astype(float), fields["v"].values.astype(float)
    one.advance(25)
    np.testing.assert_allclose(fields["x"].values, in_numpy(*start, weights(), 25), atol=room)


def by_weights(one: Evolution, steps: int) -> tuple[float, dict[str, np.ndarray]]:
    """The loss at the end of a run, and its gradient."""
    fields = one.potential.fields
    run = Rollout(one, [Loss(Potential(fields, [bind(where, fields)]), (steps,))], steps)
    return run.evaluate([place for name, place in PLACES.items() if name != "s"])


@pytest.mark.parametrize(("precision", "room"), [("f64", 1e-8), ("f32", 1e-4)])
def test_the_gradient_of_a_run_by_the_weights(precision: str, room: float) -> None:
    """By differences of the run in NumPy."""
    one, steps = controlled(precision), 15
    start = [one.potential.fields[n].values.astype(float) for n in "xv"]

    def loss(at: Mapping[str, np.ndarray]) -> float:
        x = in_numpy(*start, at, steps)
        return float((np.sin(x) + 0.1 * x * x).sum())

    value, found = by_weights(one, steps)
    at = weights()
    assert value == pytest.approx(loss(at), rel=1e-13 if precision == "f64" else 1e-5)
    for name, values in at.items():
        now = dict(at)
        expected = differences(
            lambda now=now: loss(now), lambda v, n=name, now=now: now.update({n: v}), values
        )
        assert found[PLACES[name]].shape == values.shape
        np.testing.assert_allclose(found[PLACES[name]], expected, rtol=0, atol=room, err_msg=name)


def test_a_step_of_a_controlled_program_is_checked() -> None:
    """Taylor, and tangents against the adjoint, by all weights."""
    findings = list(of_program(controlled()))
    assert findings
    assert [f.text for f in findings if not f.passed] == []


def test_a_muscle_in_a_kernel_of_many_steps() -> None:
    """Leapfrog of the masses, with the activations at rest, against NumPy."""
    potential, h = muscles(), 0.01
    x, act = (potential.fields[n].values.copy() for n in ("x", "act"))
    fields = potential.fields.extended({"v": np.zeros_like(x)})
    moving = Integrator(
        System(Potential(fields, [potential.terms["muscle"]]), [Motion("x", "v")]), SCHEMES["leapfrog"], h
    )
    assert moving.fused
    moving.advance(20)
    v = np.zeros_like(x)
    for _ in range(20):
        v = v - 0.5 * h * of_muscles(potential, x, act)[1]
        x = x + h * v
        v = v - 0.5 * h * of_muscles(potential, x, act)[1]
    np.testing.assert_allclose(fields["x"].values, x, atol=1e-13)
    np.testing.assert_array_equal(fields["act"].values, act)


# Checks -------------------------------------------------------------------------------------------------


def test_checks_of_energies_over_sets_pass() -> None:
    asked = set()
    for energy in (weigh, muscle, deposit):
        findings = list(term_check.of_energy(energy, 2))
        assert [f.text for f in findings if not f.passed] == [], energy.name
        asked |= {f.question for f in findings}
    assert {"taylor", "product", "path", "value", "translation", "rotation", "window"} <= asked


def test_a_check_finds_a_wrong_symmetry_over_sets() -> None:
    roles = {"x": Node(of="a", shape=("d",)), "y": Node(of="b")}

    def u(x, y):
        return y[1] * x[0].dot(x[0])

    wrong = local_energy("wrong", over=("a", "b"), symmetries=("translation",), **roles)(u)
    assert {f.question for f in term_check.of_energy(wrong, 2) if not f.passed} == {"translation"}


def test_single_precision_is_checked_over_sets() -> None:
    fields = Fields({"s": [1.0, 2.0, -1.5]}, precision="f32")
    of_map = bind(
        weigh, fields, parameters={"w": np.array([[0.5, 2.0, 1.0], [1.0, -0.7, 3.0]])}, sizes={"hidden": 2}
    )
    for potential in (muscles("f32"), Potential(fields, [], [of_map])):
        findings = list(single_precision.of_single(potential))
        assert findings
        assert [f.text for f in findings if not f.passed] == []


def test_the_canonical_text_names_the_sets() -> None:
    fields = Fields({"s": [1.0, 2.0]})
    text = canonical_trace(bind(weigh, fields, parameters={"w": 1.0}, sizes={"hidden": 2})).text
    assert text.startswith("over ('hidden', 'input')\nd None k 2\n")
    assert "'of': 'input'" in text


# Refused ------------------------------------------------------------------------------------------------


def declared(over: Any = ("hidden", "input"), function: Callable = lambda s: s[1], **roles: Any) -> Any:
    return local_map("m", gives="z", over=over, **(roles or {"s": Node(of="input")}))(function)


def bound(energy: Any = weigh, s: Any = (1.0, 2.0), **given: Any) -> Any:
    fields = Fields({"s": np.array(s), "q": np.ones(3), "x": np.zeros((4, 2))})
    if energy is weigh:
        given = {"parameters": {"w": 1.0}, **given}
    return bind(energy, fields, **given)


def of_two(s, q):
    return s[1] * q[1]


TWO = {"s": Node(of="input"), "q": Node(of="input")}
REFUSED: dict[str, Callable[[], Any]] = {
    "map 'm': over must be 'nodes', 'pairs', 'triples', 'directed_pairs', 'directed_triples', 'tuples',"
    " 'cells', a number of nodes or names of sets, got ('a', 2); choose one": lambda: declared(("a", 2)),
    "map 'm': s needs the set of nodes that it is a field of, got none; give Node of='hidden' or"
    " of='input'": lambda: declared(s=Node()),
    "map 'm': s: no set of nodes named 'inputs'; did you mean 'input'? (there are: hidden, input)": (
        lambda: declared(s=Node(of="inputs"))
    ),
    "map 'm': s is a field of 'input', but `over` names no sets of nodes; leave `of` out, or name the set of"
    " each slot": lambda: declared(2),
    "map 'm': F is Linear in the nodes of an element, got nodes of several sets (hidden, input); write the"
    " sum in the function": lambda: declared(
        function=lambda F: F[0], s=Node(of="input"), w=Datum("1", ("k", 2)), F=Linear("s", "w")
    ),
    "weigh: the number of nodes in 'hidden' is not known, got no field over it; give sizes = {"
    " hidden = ... }": bound,
    "weigh.sizes: no set of nodes named 'hiden'; did you mean 'hidden'? (there are: hidden, input)": lambda: (
        bound(sizes={"hiden": 3})
    ),
    "weigh.sizes: 'input' has 2 nodes by its fields, got 3; correct it, or leave it out": lambda: bound(
        sizes={"hidden": 3, "input": 3}
    ),
    "weigh.sizes: 'hidden' has one node at least, got 0; correct it, or leave it out": lambda: bound(
        sizes={"hidden": 0}
    ),
    "aim.sizes: the elements are over one set without a name; leave `sizes` out": lambda: bound(
        aim, renamed={"y": "q", "goal": "q"}, sizes={"input": 3}
    ),
    "m: the fields over 'input' must have one length, but s has 2, q has 3; give one row for each node": (
        lambda: bound(declared(function=of_two, **TWO), sizes={"hidden": 2})
    ),
    "weigh.tuples: row 1 = [0, 2] names a node outside 0..1 of 'input', got 2 in slot 1; correct it": (
        lambda: bound(tuples=[[5, 1], [0, 2]])
    ),
    (
        "weigh.tuples: row 0 = [3, 1] names a node outside 0..2 of 'hidden', got 3 in slot 0; correct it, or"
        " the size of 'hidden' in `sizes`"
    ): (lambda: bound(tuples=[[3, 1]], sizes={"hidden": 3})),
    "weigh.tuples: row 0 = [-1, 1] names a node outside 0.. of 'hidden', got -1 in slot 0; correct it": (
        lambda: bound(tuples=[[-1, 1]])
    ),
    "weigh.tuples: needs rows of 2 node numbers, got int64 of shape [1, 3]": lambda: bound(
        tuples=[[0, 1, 1]]
    ),
    "m: needs its elements, nodes of a, b, b in each, got none; give `tuples`": lambda: bound(
        declared(("a", "b", "b"), s=Node(of="b"))
    ),
    "weigh: a body is part of one set of nodes, got bodies for elements over hidden, input; list the tuples"
    " that take part": lambda: bound(bodies=[Body("left", [0])], sizes={"hidden": 3}),
    "weigh.w: a body is part of one set of nodes, got values of bodies for elements over hidden, input; give"
    " one value for each element": lambda: bound(parameters={"w": {"left": 1.0}}, sizes={"hidden": 3}),
    "weigh.elements: elements over several sets of nodes (hidden, input) are listed, got NodeTuples; give"
    " `tuples`": lambda: bound(elements=NodeTuples(np.array([[0, 1]], np.int32))),
    "weigh.w: needs shape [], [6] or [3, 2], got [2, 3]; reshape it": lambda: bound(
        parameters={"w": np.ones((2, 3))}, sizes={"hidden": 3}
    ),
}


@pytest.mark.parametrize(("text", "call"), REFUSED.items())
def test_refused_in_so_many_words(text: str, call: Callable[[], Any]) -> None:
    with pytest.raises(EnergyError) as caught:
        call()
    assert str(caught.value) == text


def first(s):
    return s[0]


def last_but_one(s):
    return s[-2]


def beyond(s):
    return s[2]


def all_of_them(s):
    a, b = s
    return a + b


def none_of_them(s):
    return 2.0 * s


HIDDEN_SLOT = "s is a field of 'input', but slot 0 of an element is a node of 'hidden'; read s[1]"
READS = [
    (first, f"s[0]: {HIDDEN_SLOT}"),
    (last_but_one, f"s[-2]: {HIDDEN_SLOT}"),
    (beyond, "s[2]: s is a field of 'input', but slot 2 of an element does not exist; read s[1]"),
    (all_of_them, f"s[0]: {HIDDEN_SLOT}"),
    (none_of_them, "s: is the list of the element's nodes, got no index; write s[1]"),
]


@pytest.mark.parametrize(("function", "text"), READS)
def test_a_field_is_read_at_the_slots_of_its_set_alone(function: Callable, text: str) -> None:
    fields = Fields({"s": [1.0]})
    of_map = bind(declared(function=function), fields, sizes={"hidden": 1})
    with pytest.raises(TraceError, match=re.escape(text)) as caught:
        Potential(fields, [], [of_map])
    assert re.match(r".*test_node_sets\.py:\d+: ", str(caught.value))
