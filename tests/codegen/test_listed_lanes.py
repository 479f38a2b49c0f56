"""Lanes over lists of neighbours: the same numbers as the loops over one target at a time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Output, Parameter, Potential, Time, bind, local_energy, local_map, ti
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.codegen.neighbours.listed_lanes import ListedLanes
from minusgrad.codegen.neighbours.listed_map_lanes import ListedMapLanes
from minusgrad.codegen.term_loops import Emitter
from minusgrad.energies.pairs.cutoff import Cutoff
from minusgrad.engine import kernels, runtime, storage
from minusgrad.errors import MiscompiledError
from minusgrad.symbolic.operations import OPERATIONS
from tests.support.layouts import LIMITS, T, in_lanes
from tests.support.tiers import sampled

X = Node("m", ("d",))


@local_energy(
    "lennard_jones", over="pairs", x=X, epsilon=Parameter(default=1.0), sigma=Parameter(default=1.0)
)
def lennard_jones(x, epsilon, sigma):
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6)."""
    s6 = (sigma * sigma / (x[0] - x[1]).norm_sqr()) ** 3
    return 4.0 * epsilon * (s6 * s6 - s6)


@local_energy("charges", over="pairs", x=X, q=Node(), k=Parameter(default=1.5), t=Time())
def charges(x, q, k, t):
    """k q_0 q_1 exp(-r) / r, with a strength that oscillates."""
    r = (x[0] - x[1]).norm()
    return k * (1.0 + 0.5 * ti.cos(t)) * q[0] * q[1] * ti.exp(-r) / r


@local_map(
    "surroundings",
    over="pairs",
    gives={"density": Output(), "drift": Output(shape=("d",))},
    x=X,
    q=Node(),
    h=Parameter(default=1.1),
)
def surroundings(x, q, h):
    """q_1 (1 - r^2 / (9 h^2))^3, and x_0 - x_1 times the sum of both q."""
    apart = x[0] - x[1]
    near = 1.0 - apart.norm_sqr() / (9.0 * h * h)
    return q[1] * near * near * near, apart * (q[0] + q[1])


@local_energy("embedding", over="nodes", density=Node(), drift=Node(shape=("d",)), c=Parameter(default=0.7))
def embedding(density, drift, c):
    """c (density^2 + |drift|^2 / 10)."""
    return c * (density[0] * density[0] + 0.1 * drift[0].norm_sqr())


BOX = np.array([[7.2, 0.0, 0.0], [1.2, 7.2, 0.0], [0.3, -0.6, 7.2]])
ENERGIES = {energy.name: energy for energy in (lennard_jones, charges)}
CASES = {
    "box": ("lennard_jones", Cutoff(2.5, skin=0.5), BOX),
    "images": ("charges", Cutoff(3.9, skin=0.3, sharp=True, images=True), BOX),
    "plane": ("charges", Cutoff(2.0), 1.2 * BOX[:2, :2]),
    "free": ("lennard_jones", Cutoff(2.1, switch=1.5), None),
    "molecules": ("lennard_jones", Cutoff(2.5, skin=0.5), BOX),
    "images of molecules": ("charges", Cutoff(3.9, skin=0.3, sharp=True, images=True), BOX),
    "molecules in a plane": ("charges", Cutoff(2.0), 1.2 * BOX[:2, :2]),
}
"""An energy, its cutoff, and the box; of molecules some pairs are excluded."""


def lattice(box: np.ndarray | None, seed: int = 0) -> np.ndarray:
    """A disturbed lattice of 6^d nodes, some of them boxes away."""
    rng, d = np.random.default_rng(seed), 3 if box is None else len(box)
    x = np.stack(np.meshgrid(*[np.arange(6)] * d, indexing="ij"), axis=-1).reshape(-1, d) / 6.0
    noise = 0.07 * rng.normal(size=x.shape)
    if box is None:
        return 7.5 * x + noise
    return (x + rng.integers(-2, 3, size=x.shape)) @ box + noise


def bonded(x: np.ndarray, box: np.ndarray, far: int = 16) -> np.ndarray:
    """Half of the pairs that are nearest to each other, across the boundary, too, and some at random."""
    rng = np.random.default_rng(7)
    apart = x[:, None] - x[None]
    apart -= np.rint(apart @ np.linalg.inv(box)) @ box
    near = np.argwhere(np.triu(np.linalg.norm(apart, axis=2) < 1.3, 1))
    apart = np.stack([np.arange(far), rng.permutation(far) + far], axis=1)
    return np.concatenate([near[rng.uniform(size=len(near)) < 0.5], apart])


def made(case: str, precision: str = "f64", seed: int = 0) -> Potential:
    name, cutoff, box = CASES[case]
    x = lattice(box, seed)
    values: dict[str, Any] = {"x": x, "q": np.random.default_rng(1).normal(size=len(x))}
    if box is not None:
        values["box"] = box[None]
    fields = Fields(values, precision=precision)
    excluded = bonded(lattice(box), box) if "molecules" in case and box is not None else None
    return Potential(fields, [bind(ENERGIES[name], fields, cutoff=cutoff, exclude=excluded)])


def everything(potential: Potential) -> dict[str, np.ndarray]:
    """U, also of each target; gradients and products by all fields and parameters, in one pass."""
    (term,), fields, rng = potential.terms, potential.fields, np.random.default_rng(3)
    nodal = [name for name in fields if name in potential.reads]
    others = [f"{name}.{a}" for name, part in potential.parts.items() for a in part.parameters]
    gradient, product = ({n: storage.allocate(0.0 * fields[n].values) for n in nodal} for _ in range(2))
    along: Mapping[str, Any] = {
        n: storage.allocate(0.1 * rng.normal(size=fields[n].shape).astype(fields.dtype)) for n in nodal
    }
    along = {**along, **{n: np.asarray(0.1 * rng.normal()) for n in others}}
    asked = DerivativeRequest(
        value=True, gradient=gradient, slopes=others, product=product, changes=others, tangents=along
    )
    swept = potential.sweep(asked, T)
    found = {"value": swept.value, "alone": potential.value(T), "each": potential.by_element(term, T)}
    for what, some in (("gradient", gradient | swept.slopes), ("product", product | swept.changes)):
        found |= {f"{what} {n}": values for n, values in some.items()}
    return {what: np.array(values) for what, values in found.items()}


def emitter(potential: Potential) -> Emitter:
    return next(iter(potential.kernels.values())).emitter  # type: ignore[union-attr]


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
@pytest.mark.parametrize("case", CASES)
def test_both_layouts_compute_the_same(
    case: str, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    found = {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        potential = made(case, precision)
        assert isinstance(emitter(potential), ListedLanes) == wanted
        found[wanted] = everything(potential)
    agree(found[True], found[False], LIMITS[precision])


def agree(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], limit: float) -> None:
    assert found.keys() == wanted.keys()
    for what, expected in wanted.items():
        assert found[what].dtype == expected.dtype
        size = max(float(np.abs(expected).max()), 1e-30)
        assert np.abs(found[what].astype(float) - expected).max() <= limit * size, what


@local_energy("likes", over="pairs", x=X, q=Node())
def likes(x, q):
    """exp(-r), a quarter of it for nodes of different signs."""
    are_alike = ((q[0] > 0.0) & (q[1] > 0.0)) | ((q[0] < 0.0) & (q[1] < 0.0))
    return ti.select(are_alike, 1.0, 0.25) * ti.exp(-(x[0] - x[1]).norm())


@pytest.mark.parametrize("wanted", [False, True])
def test_conditions_on_each_node_alone(wanted: bool, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """Numbers of the sources are packed, conditions on them are not numbers. Beside a sum in NumPy."""
    in_lanes(monkeypatch, wanted)
    x, q = lattice(None), np.random.default_rng(1).normal(size=216)
    fields = Fields({"x": x, "q": q})
    potential = Potential(fields, [bind(likes, fields, cutoff=Cutoff(2.1, sharp=True))])
    assert isinstance(emitter(potential), ListedLanes) == wanted
    r = np.linalg.norm(x[:, None] - x[None], axis=2)
    factor = np.where(np.sign(q)[:, None] == np.sign(q)[None], 1.0, 0.25)
    expected = (factor * np.exp(-r))[np.triu(r < 2.1, 1)].sum()
    assert potential.value() == pytest.approx(expected, rel=1e-12)
    shift = np.random.default_rng(2).normal(size=x.shape)
    h, values = 1e-6, []
    for sign in (1.0, -1.0):
        r = np.linalg.norm((x + sign * h * shift)[:, None] - (x + sign * h * shift)[None], axis=2)
        values.append((factor * np.exp(-r))[np.triu(r < 2.1, 1)].sum())
    slope = (potential.gradient("x") * shift).sum()
    assert slope == pytest.approx((values[0] - values[1]) / (2.0 * h), rel=1e-6)


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
@pytest.mark.parametrize("case", sampled(["molecules in a plane", "box"], ["molecules in a plane"]))
def test_maps_in_both_layouts(
    case: str, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """Outputs, gradients through them, products with their tangents."""
    found = {}
    _, cutoff, box = CASES[case]
    assert box is not None
    excluded = bonded(lattice(box), box) if "molecules" in case else None
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        x = lattice(box)
        values = {"x": x, "q": np.random.default_rng(1).normal(size=len(x)), "box": box[None]}
        fields = Fields(values, precision=precision)
        of_map = bind(surroundings, fields, cutoff=cutoff, exclude=excluded)
        potential = Potential(fields, [bind(embedding, fields)], [of_map])
        assert isinstance(potential.chain.loops["surroundings"], ListedMapLanes) == wanted
        found[wanted] = everything(potential)
        found[wanted] |= {name: fields[name].values.copy() for name in ("density", "drift")}
    agree(found[True], found[False], LIMITS[precision])


def test_maps_with_functions_that_vectors_lack_keep_scalar_loops(
    monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    in_lanes(monkeypatch, True)

    @local_map("ripple", over="pairs", gives="density", x=X)
    def ripple(x):
        """sin(r)."""
        return ti.sin((x[0] - x[1]).norm())

    fields = Fields({"x": lattice(None)})
    (loops,) = Potential(fields, [], [bind(ripple, fields, cutoff=Cutoff(2.0))]).chain.loops.values()
    assert not isinstance(loops, ListedMapLanes)


def test_all_pairs_within_the_cutoff(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """The energy and the forces in a box by NumPy, from all images of all pairs."""
    in_lanes(monkeypatch, True)
    fields = Fields({"x": lattice(BOX), "box": BOX[None]})
    potential = Potential(fields, [bind(lennard_jones, fields, cutoff=Cutoff(2.5, skin=0.5, sharp=True))])
    x = fields["x"].values
    apart = x[:, None] - x[None]
    steps = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    near = -np.rint(apart @ np.linalg.inv(BOX))
    energy, gradient = 0.0, np.zeros_like(x)
    for step in steps:
        r = apart + (near + step) @ BOX
        r2 = (r * r).sum(axis=2)
        inside = (r2 < 2.5**2) & (r2 > 0.0)
        i2 = np.where(inside, 1.0 / np.where(inside, r2, 1.0), 0.0)
        energy += 0.5 * (4.0 * (i2**6 - i2**3)).sum()
        gradient += (-(48.0 * i2**7 - 24.0 * i2**4)[..., None] * r).sum(axis=1)
    assert potential.value() == pytest.approx(energy, rel=1e-12)
    assert np.abs(potential.gradient("x") - gradient).max() < 1e-12 * np.abs(gradient).max()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_excluded_pairs_may_be_in_one_place(
    precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """Every atom has a massless site upon it: U and its gradient are those of the atoms, by NumPy."""
    in_lanes(monkeypatch, True)
    one = 1.3 * lattice(None)[:50]
    x, q = np.concatenate([one, one]), np.repeat([1.0, 0.0], 50)
    n = np.arange(50)
    fields = Fields({"x": x, "q": q}, precision=precision)
    cutoff = Cutoff(4.0, skin=0.1, sharp=True)
    potential = Potential(
        fields, [bind(charges, fields, cutoff=cutoff, exclude=np.stack([n, n + 50], axis=1))]
    )
    assert isinstance(emitter(potential), ListedLanes)
    apart = one[:, None] - one[None]
    r = np.linalg.norm(apart, axis=2) + 1e9 * np.eye(50)
    u = np.where(r < 4.0, 2.25 * np.exp(-r) / r, 0.0)
    gradient = ((-u * (1.0 + 1.0 / r) / r)[..., None] * apart).sum(axis=1)
    limit = LIMITS[precision]
    assert potential.value() == pytest.approx(0.5 * u.sum(), rel=limit)
    found = potential.gradient("x")
    assert np.abs(found[:50] - gradient).max() < limit * np.abs(gradient).max()
    assert not found[50:].any()


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    rng = np.random.default_rng(5)
    x = np.stack(np.meshgrid(*[np.arange(13)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * 1.1
    x += 0.05 * rng.normal(size=x.shape)
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        fields = Fields({"x": x, "box": 14.3 * np.eye(3)[None]})
        found = everything(Potential(fields, [bind(lennard_jones, fields, cutoff=Cutoff(2.0))]))
        bits[threads] = {what: values.tobytes() for what, values in found.items()}
    assert bits[1] == bits[2]


def test_lists_are_rebuilt_in_place(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """Far moves: the kernels stay, and the numbers are those of a potential that begins there."""
    in_lanes(monkeypatch, True)
    potential = made("box")
    before, first = everything(potential), emitter(potential)
    compiled = kernels.compiled_count()
    for seed in (1, 2):
        potential.fields["x"].set(lattice(BOX, seed))
        moved = everything(potential)
        assert emitter(potential) is first
        assert kernels.compiled_count() == compiled
        assert {n: v.tobytes() for n, v in moved.items()} == {
            n: v.tobytes() for n, v in everything(made("box", seed=seed)).items()
        }
        assert not np.array_equal(moved["gradient x"], before["gradient x"])


def test_lists_of_molecules_are_rebuilt_in_place(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """The gradient after a move is that of a potential that begins there, by any number of threads."""
    in_lanes(monkeypatch, True)
    x = lattice(BOX)
    moved = x + 0.15 * np.random.default_rng(8).normal(size=x.shape)
    pairs, bits = bonded(x, BOX, far=0), []
    for threads, begin in ((2, moved), (1, x)):
        runtime.start(runtime.Options(threads=threads))
        fields = Fields({"x": begin, "box": BOX[None]})
        term = bind(lennard_jones, fields, cutoff=Cutoff(2.5, skin=0.5), exclude=pairs)
        potential = Potential(fields, [term])
        before, first = potential.gradient("x").tobytes(), emitter(potential)
        compiled = kernels.compiled_count()
        fields["x"].set(moved)
        bits.append(potential.gradient("x").tobytes())
        assert emitter(potential) is first
        assert kernels.compiled_count() == compiled
    assert bits[0] == bits[1] != before


def test_lists_that_outgrow_their_arrays(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    fields = Fields({"x": 3.0 * lattice(None)})
    potential = Potential(fields, [bind(lennard_jones, fields, cutoff=Cutoff(2.1))])
    assert potential.value() == pytest.approx(0.0, abs=1e-6)
    fields["x"].set(lattice(None))
    dense = Fields({"x": lattice(None)})
    in_lanes(monkeypatch, False)
    expected = Potential(dense, [bind(lennard_jones, dense, cutoff=Cutoff(2.1))])
    assert potential.value() == pytest.approx(expected.value(), rel=1e-12)
    assert np.allclose(potential.gradient("x"), expected.gradient("x"), rtol=1e-10, atol=1e-12)


def test_a_kernel_that_computes_something_else_is_not_used(
    monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    in_lanes(monkeypatch, True)
    wrong = replace(OPERATIONS["recip"], vectors="{one} / ({0} + {0})")
    with monkeypatch.context() as broken:
        broken.setitem(OPERATIONS, "recip", wrong)
        with pytest.raises(MiscompiledError, match=r"term 'lennard_jones', element .* its function: engine "):
            made("box").gradient("x")
    made("box").gradient("x")


def test_memory_of_an_atom(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """Under a kilobyte in both precisions, at the density and the cutoff of a Lennard-Jones liquid."""
    in_lanes(monkeypatch, True)
    n = 20
    side = n * 0.8442 ** (-1 / 3)
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    x = grid * side / n + 0.1 * rng.normal(size=(n**3, 3))
    for precision in ("f64", "f32"):
        fields = Fields({"x": x, "box": side * np.eye(3)[None]}, precision=precision)
        potential = Potential(fields, [bind(lennard_jones, fields, cutoff=Cutoff(2.5, skin=0.3))])
        potential.gradient("x")
        loops = emitter(potential)
        assert isinstance(loops, ListedLanes)
        arrays = {id(a): a for a in (*loops._arrays.values(), *loops.blocks._arrays.values())}
        starts = {storage.host(a).ctypes.data: storage.host(a).nbytes for a in arrays.values()}
        assert sum(starts.values()) < 1000 * len(x)
