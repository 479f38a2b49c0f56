"""Maps over the cells of a grid in lanes, without lists: as plain loops and NumPy compute them."""

from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Datum,
    Fields,
    Grid,
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
from minusgrad.check import term_check
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.codegen.map_loops import MapLoops
from minusgrad.codegen.node_lanes import stencil_lane_loops
from minusgrad.codegen.node_lanes.stencil_lane_loops import StencilLanes
from minusgrad.engine import runtime, storage
from minusgrad.errors import MiscompiledError
from minusgrad.plugin import Evolution
from minusgrad.steppers.systems.system import System
from tests.support.tiers import sampled

EDGES = ["clamped", "zero", "periodic", ("zero", "periodic")]
LIMITS = {"f64": 1e-12, "f32": 2e-4}
T = 0.37


@local_map(
    "crooked",
    over="cells",
    gives={"y": Output(), "z": Output(shape=("d",))},
    q=Node(),
    p=Node(),
    v=Node(shape=("d",)),
    a=Parameter(),
    k=Parameter(),
    b=Datum(differentiable=True),
    t=Time(),
)
def crooked(q, p, v, a, k, b, t):
    """Not linear in anything, not symmetric, with a branch, vectors, and numbers of each cell."""
    s = a * q[0, 0] * q[-1, 2] + k * v[1, 0][0] * q[0, -1] + b * p[-2, 0] * p[0, 0] + t * q[0, 1]
    w = ti.Vector([s + v[0, 0][1], v[-1, -1][0] * s])
    if q[0, 0] > 0.3:
        s += a * q[2, 0] * (q[0, 0] - 0.3) * (q[0, 0] - 0.3)
    return s, w


@local_energy("weighed", over="nodes", y=Node(), z=Node(shape=("d",)), s=Node())
def weighed(y, z, s):
    """Not linear in the outputs."""
    return s[0] * (y[0] + 0.5 * y[0] * y[0] + z[0][0] * z[0][1])


@local_energy("picture", over="nodes", q=Node())
def picture(q):
    return 0.5 * q[0] * q[0]


@local_map("fdtd", gives="q_next", over="cells", p=Node(), q=Node(), k=Parameter(default=0.2))
def fdtd(p, q, k):
    """A wave in leapfrog form."""
    return 2.0 * q[0, 0] - p[0, 0] + k * (q[1, 0] + q[-1, 0] + q[0, 1] + q[0, -1] - 4.0 * q[0, 0])


@local_map("spread", gives="y", over="cells", edges="zero", q=Node(), w=Node())
def spread(q, w):
    """In space."""
    return w[0, 0, 0] * (q[1, 0, 0] + 2.0 * q[-1, 0, 0] + 3.0 * q[0, 1, 0]) + q[0, 0, -1] * q[0, 0, 1]


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Switches lanes on for small grids, or off."""
    return lambda on: monkeypatch.setattr(stencil_lane_loops, "LEAST_CELLS", 1 if on else np.inf)


def bent(edges: Any, precision: str = "f64", shape: tuple[int, int] = (19, 41)) -> Potential:
    rng, n = np.random.default_rng(3), shape[0] * shape[1]
    of = Fields({x: rng.normal(size=n) for x in "qps"} | {"v": rng.normal(size=(n, 2))}, None, precision)
    parameters = {"a": 0.7, "k": rng.normal(size=n)}
    made = bind(
        crooked, of, parameters=parameters, data={"b": rng.normal(size=n)}, grid=Grid(shape), edges=edges
    )
    return Potential(of, [bind(weighed, of)], [made])


def loops(u: Potential) -> MapLoops:
    (only,) = u.chain.loops.values()
    return only


def everything(u: Potential, fields: list[str], others: list[str]) -> dict[str, np.ndarray]:
    """Outputs, gradients and products along a direction of everything, in one pass."""
    rng = np.random.default_rng(5)
    zeros = [{n: storage.allocate(np.zeros_like(u.fields[n].values)) for n in fields} for _ in range(2)]
    along: dict[str, Any] = {
        n: storage.allocate(rng.normal(size=u.fields[n].shape).astype(u.fields.dtype)) for n in fields
    }
    (term,) = u.maps.values()
    along |= {n: rng.normal(size=() if n == "t" else loops(u).term.data["b"].shape if n.endswith(".b")
                            else u.parameter(n).shape) for n in others}  # fmt: skip
    asked = DerivativeRequest(
        value=True, gradient=zeros[0], slopes=others, product=zeros[1], changes=others, tangents=along
    )
    swept = u.sweep(asked, T)
    hosts = [{n: storage.host(array).copy() for n, array in some.items()} for some in zeros]
    found = {"value": swept.value} | {n: f.values for n, f in term.outputs.items()}
    for what, some in (("gradient", hosts[0] | swept.slopes), ("product", hosts[1] | swept.changes)):
        found |= {f"{what} {n}": values for n, values in some.items()}
    return {what: np.array(values) for what, values in found.items()}


ROWS = [*((e, "f64") for e in EDGES), ("zero", "f32")]


@pytest.mark.parametrize("row", sampled(ROWS, ROWS[-2:]), ids=str)
def test_lanes_give_what_plain_loops_give(row: tuple[Any, str], lanes: Any) -> None:
    edges, precision = row
    found = {}
    for on in (True, False):
        lanes(on)
        u = bent(edges, precision)
        assert isinstance(loops(u), StencilLanes) is on
        found[on] = everything(u, ["q", "p", "v"], ["crooked.a", "crooked.k", "crooked.b", "t"])
    assert {k: v.shape for k, v in found[True].items()} == {k: v.shape for k, v in found[False].items()}
    for what, values in found[False].items():
        size = max(np.abs(values).max(), 1.0)
        assert np.abs(found[True][what] - values).max() <= LIMITS[precision] * size, what


def test_two_maps_add_to_one_gradient(lanes: Any) -> None:
    """And two arguments of one map, bound to one field."""
    found, shape = {}, (11, 23)
    for on in (True, False):
        lanes(on)
        rng = np.random.default_rng(2)
        of = Fields({"q": rng.normal(size=11 * 23)})
        maps = [bind(fdtd, of, name=n, renamed={"p": "q"}, gives=n, grid=Grid(shape), edges=e)
                for n, e in (("y", "clamped"), ("z", "periodic"))]  # fmt: skip
        u = Potential(of, [bind(picture, of, name=f"of_{n}", renamed={"q": n}) for n in "yz"], maps)
        assert all(isinstance(one, StencilLanes) is on for one in u.chain.loops.values())
        found[on] = u.gradient("q")
    np.testing.assert_allclose(found[True], found[False], rtol=1e-13, atol=1e-13)


def test_long_derivatives_are_stored_by_elements(lanes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lanes(True)
    names = ["q", "p", "v"], ["crooked.a"]
    gathered = everything(bent("zero"), *names)
    monkeypatch.setattr(stencil_lane_loops, "MOST_OPERATIONS", 3)
    stored = everything(bent("zero"), *names)
    for what, values in stored.items():
        size = max(np.abs(values).max(), 1.0)
        assert np.abs(gathered[what] - values).max() <= 1e-12 * size, what


def test_in_space(lanes: Any) -> None:
    found, shape = {}, (7, 6, 21)
    for on in (True, False):
        lanes(on)
        rng = np.random.default_rng(1)
        of = Fields({x: rng.normal(size=int(np.prod(shape))) for x in "qws"})
        made = bind(spread, of, grid=Grid(shape))
        u = Potential(of, [bind(picture, of, renamed={"q": "y"})], [made])
        assert isinstance(loops(u), StencilLanes) is on
        found[on] = everything(u, ["q", "w"], [])
    q, w = found_fields(shape)
    wide = np.pad(q, 1)
    inner = (slice(1, -1),) * 3
    expected = w * (wide[2:, 1:-1, 1:-1] + 2 * wide[:-2, 1:-1, 1:-1] + 3 * wide[1:-1, 2:, 1:-1])
    expected += wide[1:-1, 1:-1, :-2] * wide[1:-1, 1:-1, 2:]
    assert wide[inner].shape == shape
    np.testing.assert_allclose(found[True]["y"].reshape(shape), expected, rtol=1e-13, atol=1e-13)
    for what, values in found[False].items():
        np.testing.assert_allclose(found[True][what], values, rtol=1e-12, atol=1e-12, err_msg=what)


def found_fields(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    q, w, _ = (rng.normal(size=int(np.prod(shape))).reshape(shape) for _ in "qws")
    return q, w


def waves(precision: str, edges: str, shape: tuple[int, int]) -> tuple[Fields, Evolution]:
    rng = np.random.default_rng(0)
    of = Fields({x: rng.normal(size=shape[0] * shape[1]) for x in "pq"}, None, precision)
    made = bind(fdtd, of, grid=Grid(shape), edges=edges)
    return of, Evolution(System(Potential(of, [], [made])), {"p": "q", "q": "q_next"})


def test_a_wave_on_a_large_grid_is_that_of_numpy_and_its_gradient_that_of_the_transpose() -> None:
    shape = (128, 130)
    of, program = waves("f64", "periodic", shape)
    assert isinstance(loops(program.potential), StencilLanes)
    p, q = (of[x].values.reshape(shape).copy() for x in "pq")
    value, found = Rollout(program, [Loss(Potential(of, [bind(picture, of)]), (6,))], 6).evaluate(["q", "p"])

    def step(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        around = sum(np.roll(q, s, axis) for s in (1, -1) for axis in (0, 1))
        return q, 2.0 * q - p + 0.2 * (around - 4.0 * q)

    for _ in range(6):
        p, q = step(p, q)
    assert value == pytest.approx(0.5 * (q**2).sum(), rel=1e-13)
    lp, lq = np.zeros(shape), q  # the map is linear and symmetric: back by the same stencil
    for _ in range(6):
        around = sum(np.roll(lq, s, axis) for s in (1, -1) for axis in (0, 1))
        lp, lq = -lq, lp + 2.0 * lq + 0.2 * (around - 4.0 * lq)
    np.testing.assert_allclose(found["q"].reshape(shape), lq, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found["p"].reshape(shape), lp, rtol=0.0, atol=1e-12)


def test_the_bits_do_not_depend_on_threads(any_threads, lanes: Any) -> None:
    lanes(True)
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        numbers = everything(bent("zero"), ["q", "v"], ["crooked.a", "crooked.k"])
        found.append({what: values.tobytes() for what, values in numbers.items()})
    assert found[0] == found[1]


def test_the_checks_pass(lanes: Any) -> None:
    lanes(True)
    _, program = waves("f64", "clamped", (9, 20))
    assert isinstance(loops(program.potential), StencilLanes)
    findings = [*term_check.of_potential(program.potential), *of_program(program)]
    assert findings
    assert [f.text for f in findings if not f.passed] == []


def test_which_grids_have_them(lanes: Any) -> None:
    lanes(True)
    large = {"f64": (5, 12), "f32": (5, 20)}
    small = {"f64": (4, 12), "f32": (5, 19)}
    for shapes, expected in ((large, True), (small, False)):
        for precision, shape in shapes.items():
            _, program = waves(precision, "zero", shape)
            assert isinstance(loops(program.potential), StencilLanes) is expected


def test_wrong_kernels_are_noticed(lanes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads another neighbour, and one that gathers from the wrong side."""
    lanes(True)
    of, program = waves("f64", "clamped", (11, 20))
    made = list(program.potential.maps.values())
    u = Potential(of, [bind(picture, of, renamed={"q": "q_next"})], made)
    first = loops(u).shifts[1]
    loops(u).shifts[1] = 0
    with pytest.raises(MiscompiledError):
        u.chain.loops["fdtd"].verify_forward(loops(u).forward_loops(overwrite=["q_next"]), {}, 0.0)
    loops(u).shifts[1] = first
    u.value()
    right = StencilLanes._shifted_graph
    monkeypatch.setattr(
        StencilLanes, "_shifted_graph", lambda self, value, shift: right(self, value, -2 * shift)
    )
    with pytest.raises(MiscompiledError):
        u.gradient("q")
