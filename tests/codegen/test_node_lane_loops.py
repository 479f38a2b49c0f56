"""Energies over single nodes and maps to grids in lanes; and arrays that a sweep overwrites."""

import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from minusgrad import Body, Cell, Fields, Node, Parameter, Potential, Table, bind, local_energy, local_map, ti
from minusgrad.codegen.node_lanes import node_lane_loops as rooms
from minusgrad.codegen.node_lanes.node_lane_loops import NodeLanes
from minusgrad.codegen.term_loops import Emitter
from minusgrad.codegen.windows.scatter_lane_loops import WindowLanes
from minusgrad.energies.fields import Grid
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError, MiscompiledError, RangeError
from minusgrad.symbolic.operations import OPERATIONS
from minusgrad_gravity.gravity import gravity
from minusgrad_laser.dose.spots import stencil_dose
from minusgrad_laser.losses.pixel_differences import dose_l2
from tests.support.instances import CANONICAL, Instance
from tests.support.layouts import LIMITS, T, everything, in_lanes

NAMES = ["site", "readout", "dose_l2", "dose_l1"]
CASES = [pytest.param(CANONICAL[name], id=name) for name in NAMES]
SIZES = [16, 17, 64, 96, 101]
"""A vector, one and a bit, whole parts, and a last part that is longer and ends between vectors."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "PART", 32)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("instance", CASES)
def test_both_layouts_compute_the_same(
    instance: Instance, size: int, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    found = {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        potential = instance.potential(np.random.default_rng(7), 1, n=size, precision=precision)
        (name,) = potential.terms
        assert type(potential.kernels[name].emitter) is (NodeLanes if wanted else Emitter)
        found[wanted] = everything(potential) | asked_singly(potential)
    for what, expected in found[False].items():
        assert found[True][what].dtype == expected.dtype
        largest = max(float(np.abs(expected).max()), 1e-30)
        assert np.abs(found[True][what].astype(float) - expected).max() <= LIMITS[precision] * largest, what


def asked_singly(potential: Potential) -> dict[str, np.ndarray]:
    """What vectors compute: values, gradients and products of fields alone."""
    field = next(name for name in potential.reads)
    values = potential.fields[field].values
    out = storage.allocate(np.full_like(values, 7.0))
    value = potential.evaluate_into({field: out}, T)
    along = np.random.default_rng(5).normal(size=values.shape)
    return {
        "value and gradient": np.array([value, *storage.host(out)]),
        "gradient alone": potential.gradient(field, T),
        "product alone": potential.product({field: along}, field, T),
    }


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        potential = CANONICAL[name].potential(np.random.default_rng(5), 1, n=2111)
        bits[threads] = {what: values.tobytes() for what, values in asked_singly(potential).items()}
    assert bits[1] == bits[2]


@local_energy("well", over="nodes", q=Node(), k=Parameter(default="1"))
def well(q, k):
    return 0.5 * k * q[0] ** 2


@local_energy("hilly", over="nodes", q=Node(), heights=Table())
def hilly(q, heights):
    return heights[q[0]] * q[0]


@pytest.mark.parametrize("count", [37, 4096])
def test_several_terms_of_one_field_add_up(count: int, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """The first begins the array, the second adds to it, in vectors too; again and again."""
    in_lanes(monkeypatch, True)
    q = np.random.default_rng(1).normal(size=count)
    fields = Fields({"q": q})
    terms = [bind(well, fields, name=f"well_{k}", parameters={"k": k + 1.0}) for k in range(3)]
    potential = Potential(fields, terms)
    assert potential.in_lanes == ["well_0", "well_1", "well_2"]
    out = storage.allocate(np.full(count, np.nan))
    for _ in range(3):
        assert potential.evaluate_into({"q": out}) == pytest.approx(3.0 * (q * q).sum(), rel=1e-13)
        np.testing.assert_allclose(storage.host(out), 6.0 * q, rtol=1e-14)


def test_what_covers_some_nodes_begins_nothing(engine: None) -> None:
    """Terms of some nodes find zeros, in either order; so does what no term gives to."""
    rng = np.random.default_rng(2)
    x, m, q = rng.normal(size=(9, 2)), rng.uniform(1.0, 2.0, 9), rng.normal(size=9)
    fields = Fields({"x": x, "m": m, "q": q, "idle": q})
    some, others = Body("some", [1, 4, 5]), Body("others", [0, 7])
    pulls = {
        body.name: bind(
            gravity, fields, name=body.name, bodies=[body], parameters={"G": 1.0, "softening": 0.1}
        )
        for body in (some, others)
    }
    caught = bind(well, fields, bodies=[some], parameters={"k": 2.0})
    every = bind(well, fields, name="every", parameters={"k": 3.0})
    alone = {name: Potential(fields, [term]).gradient("x") for name, term in pulls.items()}
    expected = {"x": alone["some"] + alone["others"], "q": 3.0 * q, "idle": 0.0 * q}
    expected["q"][some.nodes] += 2.0 * q[some.nodes]
    for terms in ([*pulls.values(), caught, every], [every, caught, *reversed(pulls.values())]):
        potential = Potential(fields, terms)
        targets = {n: storage.allocate(np.full_like(fields[n].values, np.nan)) for n in expected}
        for _ in range(2):
            potential.gradient_into(targets)
            for name, values in expected.items():
                np.testing.assert_allclose(storage.host(targets[name]), values, rtol=1e-13, atol=1e-13)


@local_map("neighbours", gives="y", over="pairs", q=Node())
def neighbours(q):
    return q[1] / (1.0 + (q[0] - q[1]) ** 2)


def test_what_a_map_gives_to_some_nodes_does_not_pile_up(engine: None) -> None:
    """Pairs among some nodes give to these; the others find zeros, whatever stood there."""
    fields = Fields({"q": np.arange(6.0), "lean": np.zeros(6)})
    given = bind(neighbours, fields, bodies=[Body("some", [1, 4, 5])])
    potential = Potential(fields, [bind(CANONICAL["readout"].energy, fields)], [given])
    fields["y"].set(np.full(6, 3.0))
    pairs = {(i, j) for i in (1, 4, 5) for j in (1, 4, 5) if i != j}
    expected = [sum(j / (1.0 + (i - j) ** 2) for k, j in pairs if k == i) for i in range(6)]
    for _ in range(2):
        potential.refresh()
        np.testing.assert_allclose(fields["y"].values, expected, rtol=1e-15)


def test_only_nodes_side_by_side_with_one_number_each(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    fields = Fields({"q": np.ones(40)})
    assert type(rooms_of(bind(well, fields))) is NodeLanes
    assert type(rooms_of(bind(well, fields, bodies=[Body("back", np.arange(40)[::-1])]))) is Emitter
    assert type(rooms_of(bind(well, fields, bodies=[Body("some", np.arange(30))]))) is Emitter
    assert type(rooms_of(bind(well, fields, parameters={"k": np.arange(40.0)}))) is Emitter
    assert type(rooms_of(bind(well, Fields({"q": np.ones(7)})))) is Emitter


def rooms_of(term: object) -> object:
    from minusgrad.codegen.loop_choice import loops_of_energy

    return loops_of_energy(term)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["value", "gradient", "both"])
def test_a_kernel_that_computes_something_else_is_not_used(
    asked: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    in_lanes(monkeypatch, True)

    def ask(potential: Potential) -> None:
        out = storage.allocate(np.zeros(64))
        match asked:
            case "value":
                potential.value()
            case "gradient":
                potential.gradient_into({"dose": out})
            case "both":
                potential.evaluate_into({"dose": out})

    with monkeypatch.context() as broken:
        broken.setitem(OPERATIONS, "sub", replace(OPERATIONS["sub"], vectors="{} + {}"))
        wrong = CANONICAL["dose_l2"].potential(np.random.default_rng(2), 1, n=64)
        with pytest.raises(MiscompiledError, match=r"term 'dose_l2', element .* its function: engine "):
            ask(wrong)
    ask(CANONICAL["dose_l2"].potential(np.random.default_rng(2), 1, n=64))


def path(n: int = 40) -> Potential:
    """A map to a grid in lanes, and an energy of what it gives."""
    rng = np.random.default_rng(4)
    fields = Fields(
        {
            "x": rng.uniform(-3.0, 41.0, n),
            "y": rng.uniform(-3.0, 37.0, n),
            "power": rng.uniform(1.0, 2.0, n),
            "speed": rng.uniform(1.0, 2.0, n),
            "target": rng.normal(size=34 * 38),
            "share": np.full(34 * 38, 1.0),
        }
    )
    stencil = np.outer(np.hanning(9), np.hanning(9)) + 0.1 * rng.normal(size=(9, 9))
    segments = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    spots = bind(stencil_dose, fields, tuples=segments, tables={"stencil": stencil}, grid=Grid((34, 38)))
    potential = Potential(fields, [bind(dose_l2, fields)], [spots])
    assert potential.in_lanes == ["stencil_dose"]
    return potential


ASKED = {
    "forward": lambda potential: potential.refresh(),
    "adjoint": lambda potential: potential.gradient("x"),
    "parameter": lambda potential: potential.gradient("stencil_dose.peak"),
    "along": lambda potential: potential.map_output_tangents({"x": np.ones(40)}),
    "product": lambda potential: potential.product({"y": np.linspace(0.0, 1.0, 40)}, "x"),
}
WRONG = {
    "_sum_of_lanes": "adjoint parameter product",
    "_looked_up": "forward adjoint parameter along product",
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("piece", WRONG)
def test_a_map_that_is_compiled_wrongly_is_not_used(
    piece: str, asked: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """Lanes that are left out of a sum; tables that are read a place off."""
    written = getattr(WindowLanes, piece)

    def wrong(self: WindowLanes, *arguments: object) -> object:
        found = written(self, *arguments)
        if piece == "_sum_of_lanes":
            return [line.replace("[0] + ", "[1] + ") for line in found]
        at, text = found
        return at, text.replace(" + 1]", " + 2]")

    monkeypatch.setattr(WindowLanes, piece, wrong)
    potential = path()
    if asked not in WRONG[piece].split():
        ASKED[asked](potential)
        return
    with pytest.raises(MiscompiledError, match=r"term 'stencil_dose', element .* its function: engine "):
        ASKED[asked](potential)


@pytest.mark.parametrize("asked", ASKED)
def test_a_map_that_is_compiled_rightly_is_used(asked: str, engine: None) -> None:
    ASKED[asked](path())


# No false alarms ------------------------------------------------------------------------------------


@local_energy("hinge", over="nodes", q=Node(), k=Parameter(default="1"))
def hinge(q, k):
    return k * ti.abs(q[0] - 0.1) + ti.select(q[0] > 0.1, 3.0 * q[0], 0.0)


@pytest.mark.parametrize("energy", [well, hinge], ids=["well", "hinge"])
@pytest.mark.parametrize("size", [1e-25, 1e-22, 0.1, 1e25])
def test_right_kernels_are_used_at_the_ends_of_f32_and_at_ties(
    energy: LocalEnergy, size: float, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    in_lanes(monkeypatch, True)
    fields = Fields({"q": np.full(64, size)}, precision="f32")
    potential = Potential(fields, [bind(energy, fields, parameters={"k": 1.0})])
    out = storage.allocate(np.zeros(64, np.float32))
    overflows = energy is well and size > 1.0
    with pytest.raises(RangeError, match="leaves the range of f32") if overflows else nullcontext():
        potential.evaluate_into({"q": out})
    potential.product({"q": np.ones(64)}, "q")


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("asked", ASKED)
def test_points_that_reach_no_cell_prove_nothing(asked: str, wild: float, engine: None) -> None:
    potential = path()
    x = potential.fields["x"].values.copy()
    x[[0, 11, 39]] = wild
    potential.fields["x"].set(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ASKED[asked](potential)


def test_what_could_not_be_looked_at_is_looked_at_later(
    monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    written = WindowLanes._looked_up

    def wrong(self: WindowLanes, node: object) -> tuple[str, str]:
        at, text = written(self, node)  # type: ignore[arg-type]
        return at, text.replace(" + 1]", " + 2]")

    monkeypatch.setattr(WindowLanes, "_looked_up", wrong)
    potential = path()
    good = potential.fields["x"].values.copy()
    potential.fields["x"].set(np.where(np.arange(40) == 3, np.nan, good))
    potential.refresh()
    potential.fields["x"].set(good)
    for _ in range(2):
        with pytest.raises(MiscompiledError):
            potential.refresh()


def test_wrong_tangents_are_refused_again_and_again(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    potential = path()
    potential.refresh()
    written = WindowLanes._looked_up
    monkeypatch.setattr(
        WindowLanes,
        "_looked_up",
        lambda self, node: (written(self, node)[0], written(self, node)[1].replace(" + 1]", " + 2]")),
    )
    for _ in range(2):
        with pytest.raises(MiscompiledError):
            potential.map_output_tangents({"x": np.ones(40)})


def _around(p, q):
    return [p[0] - 2.0, q[0] - 2.0], [p[0] + 2.0, q[0] + 2.0]


@local_map("patch", gives="y", over="nodes", p=Node(), q=Node(), at=Cell(window=_around))
def patch(p, q, at):
    return (p[0] - at[0]) ** 2 * (q[0] - at[1])


def test_one_field_for_two_arguments_of_a_map(engine: None) -> None:
    x = np.random.default_rng(3).uniform(1.0, 18.0, 30)
    fields = Fields({"x": x, "lean": np.ones(20 * 24)})
    given = bind(patch, fields, renamed={"p": "x", "q": "x"}, grid=Grid((20, 24)))
    potential = Potential(fields, [bind(CANONICAL["readout"].energy, fields)], [given])
    assert potential.in_lanes == ["patch"]
    along = np.random.default_rng(4).normal(size=30)
    product, h = potential.product({"x": along}, "x"), 1e-5

    def slope(sign: float) -> np.ndarray:
        potential.fields["x"].set(x + sign * h * along)
        return potential.gradient("x")

    difference = (slope(1.0) - slope(-1.0)) / (2.0 * h)
    assert np.abs(product - difference).max() < 1e-5 * np.abs(difference).max()


def test_two_targets_need_two_arrays(engine: None) -> None:
    fields = Fields({"q": np.ones(4), "r": np.ones(4)})
    terms = [bind(well, fields), bind(well, fields, name="other", renamed={"q": "r"})]
    both = storage.allocate(np.zeros(4))
    with pytest.raises(EnergyError, match="one array is given for two derivatives; give each"):
        Potential(fields, terms).gradient_into({"q": both, "r": both})
