"""NaN in, NaN out: positions and boxes that are not finite, wherever a comparison would hide them."""

from functools import cache

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Cell, Fields, Grid, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.plugin import Cutoff


@local_energy("attraction", over="pairs", x=Node("m", ("d",)), k=Parameter(default=1.0))
def attraction(x, k):
    r = (x[0] - x[1]).norm(1e-2)
    return -k / r


@local_energy("arms", over="triples", x=Node("m", ("d",)))
def arms(x):
    a, b = x[1] - x[0], x[2] - x[0]
    return a.dot(b) * ti.exp(-a.norm_sqr() - b.norm_sqr())


@local_map("density", gives="rho", over="pairs", x=Node("m", ("d",)))
def density(x):
    return ti.exp(-(x[0] - x[1]).norm_sqr())


@local_map("order", gives="b", over="directed_pairs", x=Node("m", ("d",), of="node"))
def order(x):
    return ti.exp(-(x[1] - x[2]).norm_sqr())


@local_energy("bonds", over="directed_pairs", x=Node("m", ("d",), of="node"), b=Node(of="pair"))
def bonds(x, b):
    return b[0] * (x[1] - x[2]).norm_sqr()


@local_energy("embedding", over="nodes", rho=Node())
def embedding(rho):
    return rho[0] * rho[0]


@local_energy("rod", over=2, x=Node("m", ("d",)))
def rod(x):
    return (x[0] - x[1]).norm_sqr()


@local_energy("contact", over="pairs", x=Node("m", ("d",)))
def contact(x):
    return ti.max(1.5 - (x[0] - x[1]).norm(1e-2), 0.0) ** 2


@local_energy("wall", over="nodes", x=Node("m", ("d",)))
def wall(x):
    u = 0.0
    if x[0][0] < 1.0:
        u = (x[0][0] - 1.0) ** 2
    return u


@local_energy("limited", over="nodes", x=Node("m", ("d",)), most=Node("m"))
def limited(x, most):
    return ti.min(x[0].norm_sqr(), most[0])


def lattice(side):
    """A cubic lattice of side^3 nodes, a little displaced, with spacing 1.2."""
    x = np.array([*np.ndindex(side, side, side)], float) * 1.2
    return x + 0.1 * np.random.default_rng(7).normal(size=x.shape)


PARTS = {
    "pairs": lambda f, c: ([bind(attraction, f, cutoff=c)], []),
    "excluded": lambda f, c: ([bind(attraction, f, cutoff=c, exclude=[[0, 1], [1, 2]])], []),
    "triples": lambda f, c: ([bind(arms, f, cutoff=c)], []),
    "density": lambda f, c: (lambda m: ([bind(embedding, f)], [m]))(bind(density, f, cutoff=c)),
    "directed": lambda f, c: (lambda m: ([bind(bonds, f, cutoff=c)], [m]))(bind(order, f, cutoff=c)),
}


def potential(kind, side=3, box=True, precision="f64", **cutoff):
    x = lattice(side)
    values = {"x": x} | ({"box": np.eye(3)[None] * 1.2 * side} if box else {})
    fields = Fields(values, dict.fromkeys(values, "m"), precision=precision)
    terms, maps = PARTS[kind](fields, Cutoff(1.5, skin=0.2, **cutoff))
    return Potential(fields, terms, maps), x


def is_lost(p, name="x"):
    """True if U, dU/dx and a product are NaN."""
    w = np.ones(p.fields[name].shape)
    numbers = p.value(), p.gradient(name), p.product({name: w}, name)
    return all(np.isnan(one).any() for one in numbers)


BAD = (np.nan, np.inf, -np.inf)


@pytest.mark.parametrize(("kind", "bad"), [("pairs", b) for b in BAD] + [(k, np.nan) for k in PARTS][1:])
def test_positions_of_listed_elements(kind, bad):
    p, x = potential(kind)
    before = p.value(), p.gradient("x")
    broken = x.copy()
    broken[5, 1] = bad
    p.fields["x"].set(broken)
    assert is_lost(p)
    p.fields["x"].set(x)
    assert p.value() == before[0]
    assert np.array_equal(p.gradient("x"), before[1])


@pytest.mark.parametrize(("kind", "precision"), [("excluded", "f32"), ("density", "f64")])
def test_positions_of_pairs_in_lanes(kind, precision):
    p, x = potential(kind, side=8, precision=precision)
    assert p.value() != 0.0
    x[100] = np.nan
    p.fields["x"].set(x)
    assert is_lost(p)


def test_a_node_without_neighbours():
    """None of its pairs is listed, so that no kernel reads it."""
    p, x = potential("pairs", box=False, sharp=True)
    x[0] = 50.0
    p.fields["x"].set(x)
    assert np.isfinite(p.value())
    x[0] = np.nan
    p.fields["x"].set(x)
    assert is_lost(p)


def test_hessian_of_listed_pairs():
    p, x = potential("pairs")
    assert np.isfinite(p.hessian("x").data).all()
    x[3] = np.nan
    p.fields["x"].set(x)
    assert np.isnan(p.hessian("x").data).any()
    assert np.isnan(p.by_element("attraction")).any()
    assert np.isnan(p.gradient("box")).any()
    assert np.isnan(p.gradient("attraction.k"))


def test_far_pairs():
    x = lattice(6)
    far = {"opening_angle": 0.6, "order": 2}
    p = mg.Simulation(
        fields={"x": x, "m": np.ones(len(x))},
        energies=[attraction(k=1.0, far=far)],
        units="dimensionless",
        stepper=mg.Leapfrog(dt=0.001),
    ).potential
    assert np.isfinite(p.value())
    x[3, 0] = np.inf
    p.fields["x"].set(x)
    assert np.isnan(p.value())
    assert np.isnan(p.gradient("x")).any()


@pytest.mark.parametrize("energy", [contact, wall])
def test_comparisons_of_an_energy(energy):
    """max(a - r, 0) and `if` take the side of zero where a number is NaN."""
    x = lattice(2)
    fields = Fields({"x": x}, {"x": "m"})
    p = Potential(fields, [bind(energy, fields)])
    assert np.isfinite(p.value())
    x[3] = np.nan
    fields["x"].set(x)
    assert np.isnan(p.value())
    assert np.isnan(p.gradient("x")[3]).all()
    assert np.isnan(p.product({"x": np.ones_like(x)}, "x")[3]).all()
    assert np.isnan(p.hessian("x").toarray()).any()


def test_nodes_that_a_term_does_not_read():
    x = lattice(2)
    fields = Fields({"x": x}, {"x": "m"})
    p = Potential(fields, [bind(wall, fields, bodies=[mg.Body("left", [0, 1, 2])])])
    expected = p.value()
    x[3] = np.nan
    fields["x"].set(x)
    assert p.value() == expected


def test_a_limit_may_be_infinite():
    fields = Fields({"x": lattice(2), "most": np.full(8, np.inf)}, {"x": "m", "most": "m"})
    p = Potential(fields, [bind(limited, fields)])
    assert p.value() == pytest.approx((lattice(2) ** 2).sum())


def test_infinitely_far_apart():
    """1 / r of all pairs is 0 there, without a comparison."""
    x = lattice(2)
    fields = Fields({"x": x}, {"x": "m"})
    p = Potential(fields, [bind(attraction, fields)])
    x[3, 0] = np.inf
    fields["x"].set(x)
    assert np.isnan(p.value())
    assert np.isnan(p.gradient("x")).any()


def near(x):
    """The cells within 1 of a node."""
    return [x[0][1] - 1.0, x[0][0] - 1.0], [x[0][1] + 1.0, x[0][0] + 1.0]


@local_map("cloud", gives="c", over="nodes", x=Node("m", (2,)), cell=Cell(window=near))
def cloud(x, cell):
    return ti.exp(-((x[0][0] - cell[1]) ** 2) - (x[0][1] - cell[0]) ** 2)


@local_energy("squares", over="nodes", c=Node())
def squares(c):
    return c[0] * c[0]


def test_windows_of_a_grid():
    x = np.array([[2.2, 3.1], [4.0, 5.3], [3.7, 2.5]])
    fields = Fields({"x": x}, {"x": "m"})
    of_grid = bind(cloud, fields, grid=Grid((8, 8)))
    p = Potential(fields, [bind(squares, fields)], [of_grid])
    assert np.isfinite(p.value())
    x[1, 0] = np.nan
    fields["x"].set(x)
    assert np.isnan(p.value())  # a node that is nowhere makes cell 0 NaN, and no other
    assert np.flatnonzero(np.isnan(fields["c"].values)).tolist() == [0]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_lists_of_bad_positions_name_the_node(value):
    x = lattice(3)
    x[7, 1] = value
    fields = Fields({"x": x}, {"x": "m"})
    with pytest.raises(mg.UserError, match=r"attraction.cutoff: needs .*finite.* of node 7; correct"):
        bind(attraction, fields, cutoff=Cutoff(1.5))


def test_images_of_bad_positions_name_the_node():
    x = lattice(3)
    x[7, 1] = np.nan
    fields = Fields({"x": x, "box": np.eye(3)[None] * 3.6}, {"x": "m", "box": "m"})
    with pytest.raises(mg.UserError, match=r"rod.*needs finite positions.* of node 7; correct"):
        bind(rod, fields, tuples=[[0, 1], [7, 8]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_box_that_is_not_finite(value):
    p, _ = potential("pairs")
    p.value()
    box = p.fields["box"].values.copy()
    broken = box.copy()
    broken[0, 1, 1] = value
    with pytest.raises(mg.UserError, match="box: needs edge vectors that span a volume"):
        p.fields["box"].set(broken)
    assert np.array_equal(p.fields["box"].values, box)


def argon(**more):
    x = lattice(3)
    return mg.Simulation(
        fields={"x": x, "m": np.ones(len(x))},
        energies=[attraction(k=1.0, cutoff=1.5, skin=0.2)],
        units="dimensionless",
        stepper=mg.Leapfrog(dt=0.001),
        **{"box": [3.6] * 3} | more,
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_scene_with_such_a_box(value):
    with pytest.raises(mg.UserError, match="box"):
        argon(box=[3.6, value, 3.6])


@cache
def layer():
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    return torch, minusgrad.torch.energy(argon())


def test_tensors():
    torch, u = layer()
    x = u.start("x")
    x[3, 1] = np.nan
    x.requires_grad_()
    value = u(x=x)
    (gradient,) = torch.autograd.grad(value, x)
    assert torch.isnan(value)
    assert torch.isnan(gradient).any()


def test_frames_of_a_batch():
    torch, u = layer()
    frames = torch.stack([u.start("x") + 0.01 * k for k in range(3)])
    right = u(x=frames, batch=3)
    frames[1, 3, 1] = np.nan
    frames.requires_grad_()
    value = u(x=frames, batch=3)
    (gradient,) = torch.autograd.grad(value.sum(), frames)
    assert torch.isnan(value).tolist() == [False, True, False]
    assert torch.equal(value[[0, 2]], right[[0, 2]])
    assert torch.isnan(gradient).flatten(1).any(dim=1).tolist() == [False, True, False]


def test_a_box_of_tensors():
    _torch, u = layer()
    box = u.start("box")
    box[0, 0, 0] = np.nan
    with pytest.raises(mg.UserError, match="box: needs edge vectors that span a volume"):
        u(x=u.start("x"), box=box)
