"""Lanes over parts of elements: the numbers of plain loops, bits that no threads change, verification."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy
from minusgrad.codegen.element_lanes import part_lanes
from minusgrad.codegen.element_lanes.lane_loops import Lanes
from minusgrad.codegen.element_lanes.part_lanes import PartLanes
from minusgrad.engine import runtime
from minusgrad.errors import MiscompiledError
from minusgrad_elastic import generators
from minusgrad_elastic.hyperelastic import neo_hookean
from tests.support.layouts import LIMITS, everything, in_lanes

MESH = generators.box((1.0, 1.0, 1.0), (8, 8, 8))
CELLS = MESH.cells[:-1]
"""3071 tetrahedra: the last block is not full."""


def solid(precision: str, seed: int = 0) -> Potential:
    rng = np.random.default_rng(seed)
    fields = Fields({"x": MESH.points + 0.003 * rng.normal(size=MESH.points.shape)}, precision=precision)
    data = {"gradients": MESH.gradients()[:-1], "volume": MESH.volumes()[:-1]}
    given = {"youngs_modulus": 2.0, "poissons_ratio": 0.3}
    return Potential(fields, [bind(neo_hookean, fields, tuples=CELLS, data=data, parameters=given)])


@local_energy("drag", over=4, x=Node("m", ("d",)), v=Node("m/s", ("d",)))
def drag(x, v):
    """Two fields over one set."""
    d, w = x[0] - x[3], v[1] - v[2]
    return 0.5 * d.dot(d) * w.dot(w) + v[0].dot(x[1])


def dragged(precision: str, seed: int = 1) -> Potential:
    rng = np.random.default_rng(seed)
    fields = Fields({k: rng.normal(size=(len(MESH.points), 2)) for k in ("x", "v")}, precision=precision)
    return Potential(fields, [bind(drag, fields, tuples=CELLS)])


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("made", [solid, dragged], ids=["solid", "drag"])
def test_the_numbers_of_plain_loops(
    made: Any, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    found = {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        potential = made(precision)
        (name,) = potential.terms
        assert (type(potential.kernels[name].emitter) is PartLanes) == wanted
        found[wanted] = everything(potential)
    for what, expected in found[False].items():
        size = max(float(np.abs(expected).max()), 1e-30)
        assert np.abs(found[True][what].astype(float) - expected).max() <= LIMITS[precision] * size, what


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        potential = solid("f32")
        assert type(potential.kernels["neo_hookean"].emitter) is PartLanes
        bits[threads] = [potential.gradient("x").tobytes() for _ in range(2)]
    assert bits[1] == bits[2]
    assert bits[1][0] == bits[1][1]


def test_scattered_elements_keep_their_slots(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    rng = np.random.default_rng(3)
    fields = Fields({k: rng.normal(size=(len(MESH.points), 2)) for k in ("x", "v")})
    potential = Potential(fields, [bind(drag, fields, tuples=rng.permutation(CELLS))])
    assert type(potential.kernels["drag"].emitter) is Lanes


@pytest.mark.parametrize("request_of", ["gradient", "product"])
def test_a_wrong_sum_is_noticed_at_a_node(
    request_of: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """A slot that is added to the row of another one."""
    in_lanes(monkeypatch, True)
    added = PartLanes._added_to_rows

    def damaged(self: PartLanes, buffer: str, texts: Any) -> list[str]:
        return [line.replace("n1[", "n2[") for line in added(self, buffer, texts)]

    monkeypatch.setattr(part_lanes.PartLanes, "_added_to_rows", damaged)
    potential = solid("f64")
    ask = {
        "gradient": lambda: potential.gradient("x"),
        "product": lambda: potential.product(
            {"x": np.random.default_rng(2).normal(size=MESH.points.shape)}, "x"
        ),
    }
    with pytest.raises(MiscompiledError, match=r"term 'neo_hookean', node \d+: "):
        ask[request_of]()


def test_a_part_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    gathered = PartLanes._gather_loop

    def damaged(self: PartLanes, places: Any) -> list[str]:
        return [line.replace("[n + 1]):", "[n + 1] - 1):") for line in gathered(self, places)]

    monkeypatch.setattr(part_lanes.PartLanes, "_gather_loop", damaged)
    with pytest.raises(MiscompiledError, match=r"node \d+: du/dx"):
        solid("f32").gradient("x")
