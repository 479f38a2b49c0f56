"""Outputs of maps that are refused; outputs over cells, repeated, and between sets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Fields,
    Node,
    Output,
    Parameter,
    Potential,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.energies.fields import Grid
from minusgrad.energies.repeated_maps import repeated
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError, TraceError
from minusgrad.potential.slope import Slope
from tests.support.map_outputs import (
    GRIDS,
    X,
    balls,
    differences,
    error,
    impact,
    particles,
    scatter,
    setter_of,
    values_of,
)

runtime.start()


# What is refused ----------------------------------------------------------------------------------------


def a_number(x):
    return x[0][0]


def a_vector(x):
    return x[0]


def two_numbers(x):
    return x[0][0], x[0][1]


def three_numbers(x):
    return x[0][0], x[0][1], x[0][0]


def a_comparison(x):
    return x[0][0] < 1.0, x[0][1]


TWO = {"a": Output(), "b": Output()}


@pytest.mark.parametrize(
    ("function", "outputs", "message"),
    [
        (
            a_number,
            {"gives": "y", "shape": ("d",)},
            "map 'odd': must return values of shape [2] for 'y', got a number; return a ti.Vector or"
            " ti.Matrix of that shape, or correct the output",
        ),
        (
            a_vector,
            {"gives": "y", "shape": (3,)},
            "map 'odd': must return values of shape [3] for 'y', got shape [2]; return a ti.Vector or"
            " ti.Matrix of that shape, or correct the output",
        ),
        (
            a_vector,
            {"gives": {"y": Output("m", ("d", "d"))}},
            "map 'odd': must return values of shape [2, 2] for 'y', got shape [2]; return a ti.Vector or"
            " ti.Matrix of that shape, or correct the output",
        ),
        (
            two_numbers,
            {"gives": {"a": Output(), "b": Output(shape=("d",))}},
            "map 'odd': must return values of shape [2] for 'b', got a number; return a ti.Vector or"
            " ti.Matrix of that shape, or correct the output",
        ),
        (
            three_numbers,
            {"gives": TWO},
            "map 'odd': must return 2 values (a, b), got 3; return one for each output, in their order",
        ),
        (
            a_number,
            {"gives": TWO},
            "map 'odd': must return 2 values (a, b), got a number; return one for each output, in their"
            " order",
        ),
        (
            a_vector,
            {"gives": TWO},
            "map 'odd': must return 2 values (a, b), got shape [2]; return one for each output, in their"
            " order",
        ),
        (
            a_comparison,
            {"gives": TWO},
            "map 'odd': must return one real number for 'a', got a comparison; return a number of that shape,"
            " or correct the output",
        ),
    ],
)
def test_functions_that_return_something_else(function: Callable, outputs: dict, message: str) -> None:
    fields = Fields({"x": np.ones((3, 2))}, {"x": "m"})
    term = bind(local_map("odd", over="nodes", x=X, **outputs)(function), fields)
    with pytest.raises(TraceError) as caught:
        Potential(fields, [], [term])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gives": {}}, "map 'odd': gives no field; name at least one"),
        (
            {"gives": {"y": "m"}},
            "map 'odd': 'y' needs an Output, got a str; write Output(\"m/s\", (\"d\",))",
        ),
        (
            {"gives": TWO, "unit": "m"},
            "map 'odd': has `unit` or `shape` beside outputs; give them to each `Output`",
        ),
        (
            {"gives": "y", "shape": (2, 2, 2)},
            'map \'odd\': \'y\' needs the shape () of a number, ("d",) of a vector or ("d", "d") of a matrix,'
            " got (2, 2, 2); correct it",
        ),
        (
            {"gives": "y", "shape": "d"},
            'map \'odd\': \'y\' needs the shape () of a number, ("d",) of a vector or ("d", "d") of a matrix,'
            " got 'd'; correct it",
        ),
    ],
)
def test_outputs_that_are_none(options: dict, message: str) -> None:
    with pytest.raises(EnergyError) as caught:
        local_map("odd", over="nodes", x=X, **options)(lambda x: x[0])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (
            "push",
            "impact: gives 3 fields (dv, dx, hits), got one name 'push'; write gives = { dv = \"...\", dx ="
            ' "...", hits = "..." }',
        ),
        ({"dw": "push"}, "impact: no output named 'dw' (there are: dv, dx, hits)"),
        ({"dv": "dx"}, "impact: gives 'dx' twice; name each output differently"),
    ],
)
def test_names_that_do_not_fit(gives: Any, message: str) -> None:
    with pytest.raises(EnergyError) as caught:
        bind(impact, balls(2), gives=gives)
    assert str(caught.value) == message


def test_a_vector_without_a_space() -> None:
    fields = Fields({"m": np.ones(3)})
    lonely = local_map("lonely", gives="y", shape=("d",), over="nodes", m=Node())(lambda m: m[0])
    with pytest.raises(EnergyError) as caught:
        bind(lonely, fields)
    assert str(caught.value) == (
        "lonely: 'y': the dimension of space is unknown; bind a node field of shape ('d',)"
    )


def test_the_one_output_of_several() -> None:
    fields = balls(2)
    with pytest.raises(EnergyError) as caught:
        _ = bind(impact, fields).gives
    assert str(caught.value) == "impact: gives 3 fields; take them from `outputs`"


def test_pairs_in_different_units() -> None:
    fields = particles(2)
    energy = Potential(fields, [], [bind(scatter, fields, grid=GRIDS[2])], frozen=True)
    Slope("both", energy, {"v": "g"}, paired={"p": "V", "mass": "W"})  # both in joules
    with pytest.raises(EnergyError) as caught:
        Slope("odd", energy, {"v": "f"}, paired={"p": "V", "mass": "mass"})
    assert str(caught.value) == (
        "slope 'odd': sums p . V in m^2 kg s^-2 and mass . mass in kg^2; make a slope of each"
    )


# Over cells, repeated, and between sets -----------------------------------------------------------------


@local_map(
    "spread", gives="q", shape=(2,), over="cells", edges="zero", q=Node(shape=(2,)), k=Parameter(default=0.2)
)
def spread(q, k):
    """A stencil of vectors, which turns them."""
    around = q[1, 0] + q[-1, 0] + q[0, 1] + q[0, -1]
    return q[0, 0] + k * ti.Vector([around[1], -around[0]])


def spread_out(q: np.ndarray, k: float, times: int) -> np.ndarray:
    for _ in range(times):
        p = np.pad(q.reshape(4, 5, 2), ((1, 1), (1, 1), (0, 0)))
        around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        q = p[1:-1, 1:-1] + k * np.stack([around[..., 1], -around[..., 0]], axis=-1)
    return q.reshape(-1, 2)


@local_energy("sharp", over="nodes", q=Node(shape=(2,)))
def sharp(q):
    """|q|^4."""
    return q[0].norm_sqr() ** 2


def test_sweeps_of_vectors_over_cells() -> None:
    start = np.random.default_rng(0).normal(size=(20, 2))
    fields = Fields({"start": start})
    maps = repeated(spread, fields, 3, begin="start", grid=Grid((4, 5)))
    potential = Potential(fields, [bind(sharp, fields)], maps)
    value = potential.value()
    assert error(fields["q"].values, spread_out(start, 0.2, 3)) < 1e-14
    assert value == pytest.approx(
        (spread_out(start, 0.2, 3) ** 2).sum(axis=1) @ (fields["q"].values ** 2).sum(1)
    )
    for n in ("start", "spread.k"):
        expected = differences(potential.value, values_of(potential, n), setter_of(potential, n))
        assert error(potential.gradient(n), expected) < 1e-8, n


def test_a_map_with_several_outputs_is_not_repeated() -> None:
    with pytest.raises(EnergyError) as caught:
        repeated(impact, balls(2), 3)
    assert str(caught.value) == "impact.repeat: needs a map with one output, got 3; leave `repeat` out"


@local_map(
    "pull",
    over=("hand", "puppet"),
    gives={"f": Output("N", ("d",)), "count": Output()},
    x=Node("m", ("d",), of="hand"),
    y=Node("m", ("d",), of="puppet"),
    k=Parameter("N/m", default=2.0),
)
def pull(x, y, k):
    """The force of all puppets on a hand, and their number."""
    return k * (y[1] - x[0]), 1.0


def test_vectors_between_two_sets() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    fields = Fields({"x": x, "y": y, "V": rng.normal(size=(3, 2))}, {"x": "m", "y": "m"})
    given = bind(pull, fields)
    slope = Slope("back", Potential(fields, [], [given], frozen=True), {"y": "g"}, paired={"f": "V"})
    Potential(fields, [], [given, slope]).refresh()
    assert error(fields["f"].values, 2.0 * (y.sum(axis=0) - 4 * x)) < 1e-14
    assert error(fields["count"].values, np.full(3, 4.0)) == 0.0
    assert error(fields["g"].values, np.tile(2.0 * fields["V"].values.sum(axis=0), (4, 1))) < 1e-14
