"""`check` finds gradients that are wrong, and says nothing against those that are right."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from minusgrad import (
    Between,
    Datum,
    Fields,
    Linear,
    Node,
    Parameter,
    Potential,
    Stage,
    Time,
    bind,
    bind_staged,
    local_energy,
    staged_energy,
    ti,
)
from minusgrad.app.runs import build, run
from minusgrad.check import questions, term_check
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError, SceneError
from minusgrad_gravity.gravity import gravity
from minusgrad_mpm.transfer import to_particles

SCENES = Path(__file__).parents[2] / "scenes"
X = Node("m", ("d",))


@local_energy("pixel", over="nodes", x=X, k=Parameter(default=1.0))
def pixel(x, k):
    """A trap: the coordinate is cast to an integer, as in the seed's laser path."""
    p = ti.cast(3.0 * x[0][0], ti.i32)
    return k * p * p + x[0].norm_sqr()


@local_energy("bilinear", over="nodes", x=X)
def bilinear(x):
    """Its twin: the offset within the pixel is kept, so the value moves with the coordinate."""
    cell = ti.floor(3.0 * x[0][0])
    offset = 3.0 * x[0][0] - cell
    return (1.0 - offset) * cell * cell + offset * (cell + 1.0) * (cell + 1.0)


@local_energy("floor", over="nodes", x=X, k=Parameter(default=1.0))
def hinge(x, k):
    """A floor as a penalty: zero above, and not dead."""
    depth = ti.max(0.2 - x[0][0], 0.0)
    return k * depth * depth * depth


@local_energy("driven", over=2, x=X, rest=Datum("m", differentiable=True), k=Parameter(default=2.0), t=Time())
def driven(x, rest, k, t):
    """A spring whose stiffness swings, with a differentiable rest length for each."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * k * (1.0 + 0.3 * ti.sin(t)) * stretch * stretch


@local_energy("cusp", over="nodes", x=X)
def undefined(x):
    """Not a number wherever the coordinate is negative."""
    return ti.log(x[0][0])


ASKED = {"value", "taylor", "path", "product"}
"""Of every local energy."""


def failed(findings) -> set[tuple[str, str]]:
    return {(f.argument, f.question) for f in findings if not f.passed}


@pytest.mark.parametrize("energy", [gravity, bilinear, hinge, driven], ids=lambda e: e.name)
def test_right_gradients_are_left_in_peace(energy) -> None:
    for seed in range(3):
        findings = list(term_check.of_energy(energy, seed=seed))
        assert failed(findings) == set()
        symmetric = {"translation", "rotation"} if energy in (gravity, driven) else set()
        symmetric |= {"permutation"} if energy.over in ("nodes", "pairs") else set()
        assert {a for f in findings for a in f.argument.split(", ")} == {"", *energy.differentiable}
        assert {f.question for f in findings if not f.warning} == ASKED | symmetric


def test_orders_are_fitted_and_not_assumed() -> None:
    orders = [f.figure for f in term_check.of_energy(driven) if f.question == "taylor" and f.argument == "x"]
    assert len(orders) == 4
    assert all(1.9 < order < 2.1 for order in orders)


H = 0.5 ** np.arange(30)
LATE = np.array(
    [1.09e-5, 1.23e-6, 1.39e-7, 1.52e-8, 1.41e-9, 5.75e-11, -2.21e-11, -1.01e-11, -3.08e-12, 0.84e-12]
)


@pytest.mark.parametrize(
    ("remainders", "floor", "order"),
    [
        (H**2, 1e-11, 2.0),
        (H**3 - 0.01 * H**2, 5e-9, 2.0),  # changes its sign on the way, and the slopes dip
        (0.01 * H - H**2, 5e-6, 1.0),  # so does a wrong one
        (0.01 * H - H**2, 1e-5, None),  # and where rounding follows at once, nobody can tell
        (np.abs(H**3 - 0.01 * H**2), 5e-9, 2.0),  # a norm has no sign
        (LATE, 1.35e-12, None),  # the slope across the change is none
        (H**2 + 1e-5 * H, 1e-11, 1.35),
        (H**2 + 3e-10, 1e-11, 2.0),  # rounds more than it is said to
        (H**2 + 0.1, 1e-11, 0.0),  # jumps just here
    ],
    ids=["right", "sign", "wrong sign", "too few", "norm", "late", "wrong", "rounding", "jump"],
)
def test_orders_of_remainders(remainders: np.ndarray, floor: float, order: float | None) -> None:
    above = np.abs(remainders) > floor
    until = len(above) if above.all() else int(np.argmin(above)) + 1
    found = questions._measured_order(list(map(float, remainders[:until])), floor)
    assert found == (None if order is None else pytest.approx(order, abs=0.15))


def test_a_cast_coordinate_is_seen_by_the_path_alone() -> None:
    findings = list(term_check.of_energy(pixel))
    assert failed(findings) == {("x", "path")}
    text = next(f.text for f in findings if not f.passed)
    assert text.startswith("U changes by ")
    assert "its gradient accounts for" in text
    assert "cast, cut off or frozen" in text


def test_a_map_has_windows_with_as_many_axes_as_space() -> None:
    """A map between particles and cells, which is checked without a scene."""
    assert failed(term_check.of_energy(to_particles, 3)) == set()


@pytest.mark.parametrize("argument", ["x", "rest", "k", "t"])
def test_a_wrong_gradient_is_seen_by_both(monkeypatch: pytest.MonkeyPatch, argument: str) -> None:
    """One per cent too much, for each argument in turn."""
    right = Potential.gradient

    def wrong(self, wrt, t=0.0):
        return right(self, wrt, t) * (1.01 if wrt.split(".")[-1] == argument else 1.0)

    monkeypatch.setattr(Potential, "gradient", wrong)
    linear = argument == "k"  # its gradient does not change with it
    asked = {(argument, question) for question in ("taylor", "path", "product")[: 2 if linear else 3]}
    assert failed(term_check.of_energy(driven)) - {(argument, "translation"), (argument, "rotation")} == asked


def test_a_miscompiled_value_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Potential.by_term
    monkeypatch.setattr(
        Potential, "by_term", lambda self, t=0.0: {n: 1.001 * v for n, v in right(self, t).items()}
    )
    assert ("", "value") in failed(term_check.of_energy(driven))


def test_a_state_without_a_finite_energy_is_named() -> None:
    findings = [f for f in term_check.of_energy(undefined) if not f.passed]
    assert findings
    assert all(f.text.startswith("U is not finite at ") for f in findings if f.figure is None)


def test_a_scene_is_left_as_it_was_and_every_term_is_asked() -> None:
    simulation = build(SCENES / "two_body.toml")
    before = {n: f.values.copy() for n, f in simulation.fields.items()}
    findings = list(term_check.of_potential(simulation.potential))
    assert failed(findings) == set()
    assert {f.term for f in findings} == {"gravity"}
    assert all(np.array_equal(before[n], f.values) for n, f in simulation.fields.items())
    json.dumps([f.as_dict() for f in findings])


def test_a_parameter_at_its_bound_is_turned_inwards() -> None:
    fields = Fields({"x": np.random.default_rng(0).normal(size=(4, 3)), "m": np.ones(4)})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.0})])
    assert failed(term_check.of_potential(potential)) == set()


def test_many_elements_are_judged_by_a_part() -> None:
    rng = np.random.default_rng(0)
    fields = Fields({"x": rng.normal(size=(3000, 3)), "m": np.ones(3000)})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.1})])
    assert failed(term_check.of_potential(potential)) == set()


@local_energy("unguarded", over=2, x=X)
def unguarded(x):
    """Its gradient is 0 / 0 where the nodes coincide."""
    return (x[0] - x[1]).norm()


def test_an_unguarded_root_is_named_as_such() -> None:
    fields = Fields({"x": np.zeros((2, 3))})
    findings = list(term_check.of_potential(Potential(fields, [bind(unguarded, fields, tuples=[[0, 1]])])))
    assert {(f.argument, f.question) for f in findings if not f.passed} == {("x", "taylor")}
    assert "a root or norm of zero without a guard" in next(f.text for f in findings if not f.passed)


@local_energy("elastic_band", over=2, x=X, k=Parameter(default=1.3))
def band(x, k):
    """A force that does not weaken with the length: U has a cusp where the nodes meet, and there no force."""
    square = (x[0] - x[1]).norm_sqr()
    return k * ti.select(square > 0.0, ti.sqrt(square), 0.0) + 0.1 * x[1].norm_sqr()


def test_a_kink_at_the_very_state_is_no_wrong_gradient(monkeypatch) -> None:
    """The second edge has no length: U grows like |h| to both sides of it."""
    fields = Fields({"x": [[0.0, 0.1], [1.0, 0.3], [1.0, 0.3], [0.4, 2.0]]})
    potential = Potential(fields, [bind(band, fields, tuples=[[0, 1], [1, 2], [2, 3]])])
    found = list(term_check.of_potential(potential))
    assert failed(found) == set()
    here = next(f for f in found if (f.argument, f.question) == ("x", "taylor"))
    assert here.text == "a kink here: the gradient is the mean of both sides at the given state"
    right = term_check.Potential.gradient
    monkeypatch.setattr(term_check.Potential, "gradient", lambda *args: 1.001 * right(*args))
    assert ("x", "taylor") in failed(f for f in term_check.of_potential(potential) if "given state" in f.text)


def test_a_wrong_hessian_product_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Potential.product
    monkeypatch.setattr(Potential, "product", lambda *args: 1.01 * right(*args))
    assert {question for _, question in failed(term_check.of_energy(driven))} == {"product"}


def test_a_second_derivative_that_jumps_is_no_wrong_product() -> None:
    """The floor's stiffness begins at its surface, where a node lies."""
    fields = Fields({"x": [[0.2, 0.0], [0.1, 0.3], [0.7, 0.1]]})
    assert failed(term_check.of_potential(Potential(fields, [bind(hinge2, fields)]))) == set()


@local_energy("spring_floor", over="nodes", x=X)
def hinge2(x):
    """Zero above, quadratic below."""
    depth = ti.max(0.2 - x[0][0], 0.0)
    return depth * depth + 0.01 * x[0].norm_sqr()


def test_forces_that_break_a_symmetry_of_the_energy_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other questions see, too, is left out: here each node is pulled a little."""
    right = Potential.gradient

    def pulled(self, wrt, t=0.0):
        return right(self, wrt, t) + (1e-6 if wrt == "x" else 0.0)

    monkeypatch.setattr(Potential, "gradient", pulled)
    assert {("x", "translation"), ("x", "rotation")} <= failed(term_check.of_energy(gravity))


def test_nodes_that_change_places_take_their_forces_along(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Potential.gradient

    def pulled(self, wrt, t=0.0):
        return right(self, wrt, t) * (1.0 + 1e-6 * (np.arange(6) == 2)[:, None] if wrt == "x" else 1.0)

    monkeypatch.setattr(Potential, "gradient", pulled)
    assert ("x, m", "permutation") in failed(term_check.of_energy(gravity))


def test_nodes_that_are_alike_by_chance_are_no_symmetry() -> None:
    """A side under a load: its nodes have one x, and carry shares of their own."""
    fields = Fields({"x": [[1.0, 0.0], [1.0, 0.5], [1.0, 1.0], [1.0, 1.7]]})
    shares = bind(loaded, fields, parameters={"share": [0.25, 0.5, 0.6, 0.35]})
    assert failed(term_check.of_potential(Potential(fields, [shares]))) == set()


@local_energy("loaded", over="nodes", x=X, share=Parameter("N"))
def loaded(x, share):
    return -share * x[0][0]


UNKNOWN = r"energy 'lean': no symmetry named 'time' \(there are: translation, rotation,"


@local_energy("leaning", over="nodes", symmetries=("rotation",), x=X)
def leaning(x):
    return x[0].norm_sqr() + 0.1 * x[0][1]


def test_a_symmetry_that_an_energy_is_declared_to_keep_is_asked_of_it() -> None:
    wrong = [f for f in term_check.of_energy(leaning) if not f.passed]
    assert {f.question for f in wrong} == {"rotation"}
    assert wrong[0].text.startswith("U is declared invariant under rotation, but changes by 0.")
    with pytest.raises(EnergyError, match=UNKNOWN):
        local_energy("lean", over="nodes", symmetries=("time",), x=X)(lambda x: x[0][0])
    with pytest.raises(EnergyError, match=UNKNOWN):
        staged_energy("lean", x=Node(), stages=[Stage(fourth, writes=("U",))], symmetries=("time",))


def test_a_state_at_rest_has_forces_of_rounding_alone_and_breaks_no_symmetry() -> None:
    """A square of struts in balance: its forces cancel, and what is left depends on the order of the sum."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    fields = Fields({"x": 0.1 + corners @ turn.T})
    struts = bind(balance, fields)
    potential = Potential(fields, [struts])
    assert 0.0 < np.abs(potential.gradient("x")).max() < 1e-14
    found = [f for f in term_check.of_potential(potential) if f.question in SYMMETRIC]
    assert len(found) == 12
    assert [f.text for f in found if not f.passed] == []


SYMMETRIC = ("translation", "rotation", "permutation")


@local_energy("balance", over="pairs", symmetries=SYMMETRIC, x=X)
def balance(x):
    """Sides of a unit square push, and its diagonals pull as much."""
    r = (x[0] - x[1]).norm()
    return r * r - 4.0 * ti.sqrt(2.0) / (1.0 + ti.sqrt(2.0)) * r


def test_where_nodes_meet_a_norm_is_told_as_a_warning() -> None:
    kinks = [f for f in term_check.of_energy(driven) if f.question == "kink"]
    assert [(f.argument, f.passed, f.warning) for f in kinks] == [("x", True, True)]
    assert kinks[0].text == (
        "U of 'driven' is finite and its gradient is not: guard a root or norm of zero, norm(eps),"
        " where two nodes coincide"
    )


@local_energy(
    "taut",
    over="tuples",
    symmetries=("translation",),
    x=X,
    gradients=Datum("m^-1", ("k", "d")),
    F=Linear("x", "gradients"),
)
def taut(F):
    """Never zero strain without a kink: its force has no direction at rest."""
    strain = F.transpose() @ F - ti.Matrix.identity(ti.f64, F.n)
    return ti.sqrt((strain * strain).sum())


def test_a_solid_is_looked_at_where_it_is_at_rest() -> None:
    """No random state meets it, nor the place where two nodes coincide."""
    kinks = [f for f in term_check.of_energy(taut) if f.question == "kink"]
    assert [(f.argument, f.passed, f.warning) for f in kinks] == [("x", True, True)]
    assert kinks[0].text.endswith("where an element is at rest")


def test_a_cast_is_told_with_its_line() -> None:
    found = [f for f in term_check.of_energy(pixel, seed=1) if not f.passed]
    line = inspect.getsourcelines(pixel.function)[1] + 3
    assert {f.where for f in found} == {f"{Path(__file__)}:{line}"}
    assert f"line {line}: a value is cast to an integer" in found[0].text


A = ti.types.ndarray


@ti.kernel
def fourth(x: A(dtype=ti.f64, ndim=1), U: A(dtype=ti.f64, ndim=0)):
    for i in range(x.shape[0]):
        U[None] += x[i] ** 4


@ti.kernel
def back_of_a_cube(x: A(dtype=ti.f64, ndim=1), d_U: A(dtype=ti.f64, ndim=0), d_x: A(dtype=ti.f64, ndim=1)):
    for i in range(x.shape[0]):
        d_x[i] += 4.0 * x[i] ** 2 * d_U[None]


@ti.kernel
def back(x: A(dtype=ti.f64, ndim=1), d_U: A(dtype=ti.f64, ndim=0), d_x: A(dtype=ti.f64, ndim=1)):
    for i in range(x.shape[0]):
        d_x[i] += 4.0 * x[i] ** 3 * d_U[None]


@ti.kernel
def weighed(
    x: A(dtype=ti.f64, ndim=1),
    k: A(dtype=ti.f64, ndim=0),
    bins: A(dtype=ti.f64, ndim=1),
    U: A(dtype=ti.f64, ndim=0),
):
    for i in range(bins.shape[0]):
        bins[i] = k[None] * x[i % x.shape[0]] ** 2
        U[None] += k[None] * x[i % x.shape[0]] ** 2


def example(rng: np.random.Generator) -> dict:
    return {"x": rng.uniform(0.1, 1.5, size=4), "k": 0.3, "bins": 6}


@pytest.mark.parametrize("reverse", [back_of_a_cube, back], ids=["trap", "twin"])
def test_a_staged_energy_is_asked_with_its_example_stage_by_stage(reverse) -> None:
    stages = [Stage(weighed, writes=("bins", "U")), Stage(fourth, writes=("U",), backward=reverse)]
    roles = {"x": Node("m"), "k": Parameter(), "between": {"bins": Between(("bins",))}}
    found = list(term_check.of_energy(staged_energy("growth", stages=stages, example=example, **roles)))
    asked = {(a, q) for a in ("x", "k") for q in ("reverse", "taylor", "path")}
    assert asked <= {(f.argument, f.question) for f in found}
    wrong = {(f.argument, f.question) for f in found if not f.passed}
    assert wrong == (
        {("x", q) for q in ("reverse", "taylor", "path")} if reverse is back_of_a_cube else set()
    )
    for finding in (f for f in found if f.question == "reverse" and not f.passed):
        assert finding.text.endswith(": stage 'fourth': its `backward` is not its adjoint")
        assert finding.where == f"{Path(__file__)}:{inspect.getsourcelines(fourth.__wrapped__)[1]}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "a staged energy is checked at its example, and this one has none; give staged_energy an"),
        (lambda rng: {}, "example: has no x"),
        (lambda rng: {"x": np.ones((4, 2))}, "growth.x: has shape [4, 2], needs [4]"),
    ],
)
def test_a_staged_energy_that_cannot_be_asked_is_not_called_true(given, message: str) -> None:
    energy = staged_energy("growth", x=Node("m"), stages=[Stage(fourth, writes=("U",))], example=given)
    (finding,) = term_check.of_energy(energy)
    assert (finding.question, finding.passed) == ("example", False)
    assert message in finding.text


STAIRS = '''
from minusgrad import Node, Parameter, hookimpl, local_energy, ti


@local_energy("stairs", over="nodes", x=Node("m", ("d",)), k=Parameter(default=1.0))
def stairs(x, k):
    """Every step is flat."""
    p = ti.floor(3.0 * x[0][0])
    return k * p * p


@hookimpl
def register_energies():
    return [stairs]
'''


def test_a_run_refuses_a_dead_field(tmp_path: Path) -> None:
    """Nothing would move it; a smooth scene is not even asked."""
    (tmp_path / "stairs.py").write_text(STAIRS)
    scene = tmp_path / "walk.toml"
    scene.write_text(
        '[state]\nkind = "random_points"\nn = 5\nside = 2.0\nmass = 1.0\n\n[[energy]]\nkind = "stairs"\n\n'
        '[stepper]\nkind = "leapfrog"\ndt = 0.01\n\n[run]\nsteps = 2\n'
    )
    with pytest.raises(SceneError) as error:
        run(scene, out=tmp_path / "a", plugins=[tmp_path / "stairs.py"])
    assert str(error.value).startswith(
        f"{scene}:7:3: energy.0: U changes with 'x', and its gradient is zero all"
    )
    assert not (tmp_path / "a").exists()
    done = run(scene, ["run.allow_dead=true"], out=tmp_path / "b", plugins=[tmp_path / "stairs.py"])
    assert done.outcome == "finished"


@local_energy("two_sum", over="nodes", y=Node(), z=Node())
def two_sum(y, z):
    s = y[0] + z[0]
    b = s - y[0]
    return (y[0] - (s - b)) + (z[0] - b)


def test_a_rounding_error_that_fast_math_folds_away_has_a_cure() -> None:
    """The error of a sum (Knuth's two-sum) is 0 in a compiled kernel, unless fast math is off."""
    before = runtime._Running.options
    fields = Fields({"y": [0.1, 0.3, 0.7], "z": [0.2, 0.4, 1e-3]})
    pairs = zip(fields["y"].values, fields["z"].values, strict=True)
    exact = sum(two_sum.evaluator()({"y": [y], "z": [z]}) for y, z in pairs)
    try:
        for fast in (True, False):
            runtime.start(runtime.Options(fast_math=fast))
            potential = Potential(fields, [bind(two_sum, fields)])
            assert potential.value() == (0.0 if fast else exact)
            value = next(f for f in term_check.of_potential(potential) if f.question == "value")
            assert value.passed is not fast
            assert ("set [runtime] fast_math = false to keep the order of sums, at" in value.text) is fast
    finally:
        runtime.start(before)


@ti.kernel
def add_roots(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    ti.loop_config(serialize=True)
    for n in range(x.shape[0]):
        U[None] += ti.sqrt(ti.abs(x[n]))


@pytest.mark.parametrize(("lowest", "asked"), [(-2.0, True), (2.0, False)])
def test_stages_are_asked_at_zero_within_the_given_range_only(lowest: float, asked: bool) -> None:
    """A kernel that uses positions as indices would write outside its arrays, and the process crash."""
    fields = Fields({"x": np.array([3.0, lowest, 5.0])})
    roots = staged_energy("roots", x=Node("m"), stages=[Stage(add_roots, ("U",))])
    made = Potential(fields, [bind_staged(roots, fields)])
    kinks = [f for f in term_check.of_potential(made) if f.question == "kink"]
    assert len(kinks) == asked
    assert all(f.text.endswith("where a node is at zero") for f in kinks)
