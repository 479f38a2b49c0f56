"""Normals of surfaces as maps: closed forms, exact forces of energies that read them, refusals."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import EnergyError, UserError
from minusgrad.plugin import State
from minusgrad_elastic.cells import reference_cells
from minusgrad_elastic.loads import pressure
from minusgrad_elastic.normals import NormalsBlock, area_vector, corner_rows, facet_area, unit_normal

SUN = np.array([0.3, -0.4, 0.866])


@local_energy(
    "light",
    over="nodes",
    normal=Node(shape=(3,)),
    sun=Parameter("1", (3,)),
    power=Parameter("J"),
)
def light(normal, sun, power):
    """What a light gives to the side of a sheet that it meets, smoothly nothing behind."""
    s = normal[0].dot(sun)
    return -power * s * s * s


@local_energy("wind", over="nodes", area_vector=Node("m^2", (3,)), pull=Parameter("N/m^2", (3,)))
def wind(area_vector, pull):
    """An energy that is linear in areas."""
    a = area_vector[0]
    return pull.dot(a) + 0.1 * a.dot(a)


def ball() -> tuple[np.ndarray, np.ndarray]:
    """A unit ball of 200 nodes, spread evenly, and its facets, outwards."""
    from scipy.spatial import ConvexHull

    i = np.arange(200) + 0.5
    up, around = np.arccos(1 - 2 * i / 200), np.pi * (1 + 5**0.5) * i
    x = np.stack([np.cos(around) * np.sin(up), np.sin(around) * np.sin(up), np.cos(up)], axis=1)
    facets = ConvexHull(x).simplices
    normal = np.cross(x[facets[:, 1]] - x[facets[:, 0]], x[facets[:, 2]] - x[facets[:, 0]])
    inward = np.einsum("fi,fi->f", normal, x[facets[:, 0]]) < 0.0
    facets[inward] = facets[inward][:, ::-1]
    return x, facets.astype(np.int32)


def potential(x, facets, reads, precision="f64", **parameters) -> Potential:
    fields = Fields({"x": x}, {"x": "m"}, precision=precision)
    maps = [bind(area_vector, fields, tuples=corner_rows(facets)), bind(unit_normal, fields)]
    return Potential(fields, [bind(reads, fields, parameters=parameters)], maps)


def cylinder(around: int, along: int) -> tuple[np.ndarray, np.ndarray]:
    """A piece of a cylinder of radius 1 and length 2 along z, outwards."""
    a, z = np.meshgrid(2 * np.pi * np.arange(around) / around, np.linspace(-1, 1, along + 1), indexing="ij")
    x = np.stack([np.cos(a), np.sin(a), z], axis=-1).reshape(-1, 3)
    number = np.arange(len(x)).reshape(around, along + 1)
    one, other = number, np.roll(number, -1, axis=0)
    quads = np.stack([one[:, :-1], other[:, :-1], other[:, 1:], one[:, 1:]], axis=-1).reshape(-1, 4)
    return x, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_normals_of_a_cylinder_point_from_its_axis(precision: str) -> None:
    """Between its ends the facets around a node are symmetric: n = (x, y, 0), |a| = s h cos(pi / N)."""
    x, facets = cylinder(16, 8)
    found = potential(x, facets, light, precision, sun=SUN, power=1.0)
    found.refresh()
    within = np.abs(x[:, 2]) < 0.99
    close = 1e-14 if precision == "f64" else 5e-7
    assert np.abs(found.fields["normal"].values - x * [1.0, 1.0, 0.0])[within].max() < close
    area = np.linalg.norm(found.fields["area_vector"].values[within], axis=1)
    side, height = 2.0 * np.sin(np.pi / 16), 2.0 / 8
    assert area == pytest.approx(side * height * np.cos(np.pi / 16), rel=10 * close)


def test_areas_of_a_closed_surface_sum_to_zero_and_to_three_volumes() -> None:
    """sum a_i = 0 and sum a_i . x_i = 3 V by the divergence theorem; a node of no facet has normal 0."""
    x, facets = ball()
    found = potential(np.vstack([x, [[5.0, 5.0, 5.0]]]), facets, light, sun=SUN, power=1.0)
    found.refresh()
    a, n = found.fields["area_vector"].values[:-1], found.fields["normal"].values
    volume = np.einsum("fi,fi->", x[facets[:, 0]], np.cross(x[facets[:, 1]], x[facets[:, 2]])) / 6.0
    assert np.abs(a.sum(axis=0)).max() < 1e-14
    assert np.einsum("ni,ni->", a, x) == pytest.approx(3.0 * volume, rel=1e-13)
    assert np.abs(n[:-1] - x).max() < 0.06
    assert np.array_equal(n[-1], np.zeros(3))


def test_a_pressure_pushes_along_these_areas() -> None:
    """The gradient of the pressure's energy is p a_i on a closed surface: one normal for loads and maps."""
    x, facets = ball()
    kind = reference_cells.facets()[3, 3]
    places, weights = kind.rule
    data = {
        "shares": np.tile(kind.values(places), (len(facets), 1)),
        "tangents": np.tile(kind.slopes(places), (len(facets), 1, 1)),
        "weight": np.full(len(facets), weights[0] / kind.parts),
    }
    fields = Fields({"x": x}, {"x": "m"})
    maps = [bind(area_vector, fields, tuples=corner_rows(facets))]
    pushed = bind(pressure, fields, tuples=facets, data=data, parameters={"pressure": 3.0})
    found = Potential(fields, [pushed], maps)
    found.refresh()
    assert np.array(found.gradient("x")) == pytest.approx(3.0 * fields["area_vector"].values, abs=1e-14)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_facets_have_their_own_normals(precision: str) -> None:
    x, facets = ball()
    fields = Fields({"x": x}, {"x": "m"}, precision=precision)
    rows = np.column_stack([np.arange(len(facets)), facets]).astype(np.int32)
    made = bind(facet_area, fields, tuples=rows, sizes={"facet": len(facets)})
    Potential(fields, [], [made]).refresh()
    expected = 0.5 * np.cross(x[facets[:, 1]] - x[facets[:, 0]], x[facets[:, 2]] - x[facets[:, 0]])
    close = 1e-15 if precision == "f64" else 1e-7
    assert fields["facet_area"].values == pytest.approx(expected, abs=close)


@pytest.mark.parametrize(
    ("reads", "given"), [(light, {"sun": SUN, "power": 2.0}), (wind, {"pull": [1.0, 2.0, 3.0]})]
)
def test_forces_of_energies_that_read_normals_are_exact(reads, given) -> None:
    """Against differences of the energy of the fifth order, in a random direction; forces sum to zero."""
    x, facets = ball()
    rng = np.random.default_rng(1)
    x, step = x + 0.02 * rng.normal(size=x.shape), rng.normal(size=x.shape)
    found = potential(x, facets, reads, **given)
    found.refresh()
    gradient = np.asarray(found.gradient("x"))
    h = 1e-3

    def energy(s: float) -> float:
        found.fields["x"].set(x + s * step)
        return float(found.value())

    terms = [(1, 3 / 4), (2, -3 / 20), (3, 1 / 60)]
    slope = sum(w * (energy(k * h) - energy(-k * h)) for k, w in terms) / h
    assert np.einsum("ni,ni->", gradient, step) == pytest.approx(slope, rel=1e-8)
    assert np.abs(gradient.sum(axis=0)).max() < 1e-12 * np.abs(gradient).max() * len(x)


def test_products_with_the_hessian_pass_through_normals() -> None:
    """Against differences of the gradient, of the fourth order."""
    x, facets = ball()
    rng = np.random.default_rng(2)
    x, step = x + 0.02 * rng.normal(size=x.shape), rng.normal(size=x.shape)
    found = potential(x, facets, light, sun=SUN, power=2.0)
    product = np.asarray(found.product({"x": step}, "x"))
    h = 1e-4

    def gradient(s: float) -> np.ndarray:
        found.fields["x"].set(x + s * step)
        return np.array(found.gradient("x"))

    slope = (8 * (gradient(h) - gradient(-h)) - gradient(2 * h) + gradient(-2 * h)) / (12 * h)
    assert np.abs(product - slope).max() < 1e-8 * np.abs(product).max()


def test_single_precision_follows_double() -> None:
    x, facets = ball()
    both = [potential(x, facets, light, kind, sun=SUN, power=2.0) for kind in ("f64", "f32")]
    one, other = (np.asarray(p.gradient("x"), float) for p in both)
    assert np.abs(one - other).max() < 2e-5 * np.abs(one).max()


def test_a_block_needs_facets_in_space() -> None:
    class Around:
        state = State(
            fields={"x": np.zeros((3, 2))}, units={"x": "m"}, tuples={"boundary": np.array([[0, 1]])}
        )
        fields = Fields({"x": np.zeros((3, 2))}, {"x": "m"})

    with pytest.raises(UserError, match="no list named 'skin'"):
        NormalsBlock(list="skin").make(Around())  # type: ignore[arg-type]
    with pytest.raises(UserError, match="must have three nodes a facet in space, got 2 in 2 dimensions"):
        NormalsBlock().make(Around())  # type: ignore[arg-type]


def test_hessians_are_refused_by_name() -> None:
    x, facets = ball()
    found = potential(x, facets, light, sun=SUN, power=2.0)
    with pytest.raises(EnergyError, match="'light' reads 'normal', which a map computes from"):
        found.hessian("x")
