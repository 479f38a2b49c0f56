"""Frames and tangents of rods as maps: closed forms, exact forces of energies that read them."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad_rods.axes import rod_axes, rod_tangent
from minusgrad_rods.frames import axes_of


@local_energy("magnet", over="nodes", d1=Node(shape=(3,)), field=Parameter("J", (3,)))
def magnet(d1, field):
    """A magnet across the rod in a field."""
    return -field.dot(d1[0])


@local_energy("flow", over="nodes", tangent=Node(shape=(3,)), field=Parameter("J", (3,)))
def flow(tangent, field):
    """Something that aligns edges."""
    s = field.dot(tangent[0])
    return 0.5 * s * s


def slope_of(found: Potential, name: str, step: np.ndarray) -> float:
    """The derivative of U along a step by differences of the sixth order."""
    start, h = np.array(found.fields[name].values), 1e-3

    def energy(s: float) -> float:
        found.fields[name].set(start + s * step)
        return float(found.value())

    terms = [(1, 3 / 4), (2, -3 / 20), (3, 1 / 60)]
    slope = sum(w * (energy(k * h) - energy(-k * h)) for k, w in terms) / h
    found.fields[name].set(start)
    return slope


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_axes_are_the_columns_of_the_rotation(precision: str) -> None:
    """Also of quaternions that are not of unit length."""
    q = np.random.default_rng(0).normal(size=(7, 4))
    fields = Fields({"q": q}, precision=precision)
    Potential(fields, [], [bind(rod_axes, fields)]).refresh()
    expected = axes_of(q / np.linalg.norm(q, axis=1)[:, None])
    for k, name in enumerate(("d1", "d2", "d3")):
        close = 1e-14 if precision == "f64" else 2e-6
        assert np.abs(fields[name].values - expected[:, :, k]).max() < close


def test_torques_of_energies_that_read_frames_are_exact() -> None:
    """Against differences; along q, which changes no frame, there is none."""
    rng = np.random.default_rng(1)
    q, step = rng.normal(size=(2, 7, 4))
    fields = Fields({"q": q})
    maps = [bind(rod_axes, fields)]
    found = Potential(fields, [bind(magnet, fields, parameters={"field": [1.0, 2.0, -0.5]})], maps)
    gradient = np.array(found.gradient("q"))
    assert np.einsum("ei,ei->", gradient, step) == pytest.approx(slope_of(found, "q", step), rel=1e-8)
    assert np.abs(np.einsum("ei,ei->e", gradient, q)).max() < 1e-13


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_tangents_of_a_helix(precision: str) -> None:
    """Chords of a helix of radius 1 and pitch 2 pi c lean by tan = c angle / (2 sin(angle / 2))."""
    turn = np.linspace(0.0, 4.0 * np.pi, 41)
    x = np.column_stack([np.cos(turn), np.sin(turn), 0.3 * turn])
    rows = np.column_stack([np.arange(40), np.arange(40), np.arange(1, 41)])
    fields = Fields({"x": x, "q": np.tile([1.0, 0, 0, 0], (40, 1))}, {"x": "m"}, precision=precision)
    maps = [bind(rod_tangent, fields, tuples=rows, sizes={"rod_edge": 40})]
    found = Potential(fields, [bind(flow, fields, parameters={"field": [0.3, 1.0, 2.0]})], maps)
    found.refresh()
    angle = turn[1]
    up = 0.3 * angle / np.hypot(0.3 * angle, 2.0 * np.sin(0.5 * angle))
    assert fields["tangent"].values[:, 2] == pytest.approx(up, rel=1e-13 if precision == "f64" else 2e-6)
    if precision == "f32":
        return
    step = np.random.default_rng(2).normal(size=x.shape)
    gradient = np.array(found.gradient("x"))
    assert np.einsum("ni,ni->", gradient, step) == pytest.approx(slope_of(found, "x", step), rel=1e-8)
