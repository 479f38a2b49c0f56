"""Frames whose nodes are wrapped into a periodic box are the same state: energies, forces, excluded pairs."""

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.plugin import Cutoff

pytestmark = pytest.mark.exam

BOX, N = 4.0, 12
START = np.random.default_rng(0).normal(size=(N, 3)) * 0.45
CHAIN = np.cumsum(START, axis=0) % BOX
LINKS = np.stack([np.arange(N - 1), np.arange(1, N)], axis=1)
CORNERS = np.stack([np.arange(N - 2), np.arange(1, N - 1), np.arange(2, N)], axis=1)


@local_energy("link", over=2, x=Node("m", ("d",)), rest=Datum("m"), k=Parameter("N/m"))
def link(x, rest, k):
    """A spring."""
    return 0.5 * k * ((x[0] - x[1]).norm() - rest) ** 2


@local_energy("corner", over=3, x=Node("m", ("d",)), k=Parameter("J m^-2"))
def corner(x, k):
    """A bending energy of three beads."""
    b = x[0] - 2.0 * x[1] + x[2]
    return 0.5 * k * b.dot(b)


@local_energy("yukawa", over="pairs", x=Node("m", ("d",)), reach=Parameter("m"))
def yukawa(x, reach):
    """A screened repulsion."""
    r = (x[0] - x[1]).norm()
    return ti.exp(-r / reach) / r


def whole(x: np.ndarray) -> np.ndarray:
    """The chain made whole from bead to bead."""
    steps = np.diff(x, axis=0)
    return np.concatenate([x[:1], x[0] + np.cumsum(steps - BOX * np.round(steps / BOX), axis=0)])


def right(x: np.ndarray) -> float:
    """Springs, bends, and repulsion between all but linked beads, over copies in NumPy."""
    y = whole(x)
    steps = np.diff(y, axis=0)
    bends = np.diff(steps, axis=0)
    total = (0.5 * 2.0 * (np.linalg.norm(steps, axis=1) - 1.0) ** 2).sum() + 0.5 * 0.3 * (bends**2).sum()
    for i in range(N):
        for j in range(i):
            apart = y[i] - y[j]
            r = np.linalg.norm(apart - BOX * np.round(apart / BOX))
            if r < 1.9 and i - j > 1:
                total += np.exp(-r / 0.7) / r
    return float(total)


def made(x: np.ndarray = CHAIN, precision: str = "f64") -> Potential:
    fields = Fields({"x": x, "box": BOX * np.eye(3)[None]}, {"x": "m", "box": "m"}, precision)
    return Potential(
        fields,
        [
            bind(link, fields, tuples=LINKS, data={"rest": 1.0}, parameters={"k": 2.0}),
            bind(corner, fields, tuples=CORNERS, parameters={"k": 0.3}),
            bind(
                yukawa,
                fields,
                parameters={"reach": 0.7},
                cutoff=Cutoff(1.9, skin=0.05, sharp=True),
                exclude=LINKS,
            ),
        ],
    )


def moved(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[3, 0] += BOX
    y[7, 2] -= 2.0 * BOX
    return y


@pytest.mark.parametrize("precision", ["f64", pytest.param("f32", marks=pytest.mark.long)])
def test_a_node_moved_by_a_box_vector_leaves_a_potential(precision: str) -> None:
    potential = made(precision=precision)
    exact = {"rel": 1e-9} if precision == "f64" else {"rel": 1e-4}
    assert potential.value() == pytest.approx(right(CHAIN), **exact)
    forces, stress = potential.gradient("x"), potential.gradient("box")
    turned = potential.product({"x": np.ones((N, 3)) * np.arange(N)[:, None]}, "x")
    potential.fields["x"].set(moved(CHAIN))
    assert potential.value() == pytest.approx(right(CHAIN), **exact)
    small = 1e-9 if precision == "f64" else 2e-3
    assert np.allclose(potential.gradient("x"), forces, atol=small)
    again = potential.product({"x": np.ones((N, 3)) * np.arange(N)[:, None]}, "x")
    assert np.allclose(again, turned, atol=100 * small)
    shift = (moved(CHAIN) - CHAIN) / BOX
    assert np.allclose(potential.gradient("box")[0], stress[0] - shift.T @ forces, atol=10 * small)


def test_independent_frames_have_their_own_images() -> None:
    potential, rng = made(), np.random.default_rng(1)
    for _ in range(4):
        frame = np.cumsum(0.45 * rng.normal(size=(N, 3)), axis=0)
        assert frame.std() > 0.3
        potential.fields["x"].set(frame % BOX)
        assert potential.value() == pytest.approx(right(frame % BOX), rel=1e-9)


def test_batches_of_wrapped_frames_in_torch() -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch as mt

    energy, rng = mt.energy(made()), np.random.default_rng(2)
    frames = np.cumsum(0.45 * rng.normal(size=(5, N, 3)), axis=1)
    x = torch.tensor(frames % BOX, requires_grad=True)
    found = energy(x=x, batch=5)
    assert found.detach().numpy() == pytest.approx([right(frame % BOX) for frame in frames], rel=1e-9)
    found.sum().backward()
    y = torch.tensor(np.stack([moved(frame % BOX) for frame in frames]), requires_grad=True)
    energy(x=y, batch=5).sum().backward()
    assert np.allclose(x.grad, y.grad, atol=1e-8)


def simulation(**more: object) -> mg.Simulation:
    """A ring of four beads across the faces: a stretched bond may become longer than half the box."""
    given: dict = {
        "fields": {"x": np.array([[0.2, 0.0, 0.0], [1.2, 0.0, 0.0]]), "m": np.ones(2)},
        "tuples": {"links": np.array([[0, 1]])},
        "energies": [mg.energy("spring", tuples="links", rest=1.0, stiffness=0.2)],
        "box": [4.0, 4.0, 4.0],
        "units": "dimensionless",
        "stepper": mg.Leapfrog(dt=0.05),
    }
    return mg.Simulation(**given | more)


def test_a_bond_longer_than_half_the_box_does_not_jump_in_a_run() -> None:
    v = np.array([[-0.9, 0.0, 0.0], [0.9, 0.0, 0.0]])
    fields = {"x": np.array([[0.2, 0.0, 0.0], [1.2, 0.0, 0.0]]), "v": v, "m": np.ones(2)}
    sim, w, longest = simulation(fields=fields), np.sqrt(0.4), 0.0
    for step in range(1, 100):
        sim.step()
        t = 0.05 * step
        apart = np.diff(sim.fields["x"].values[:, 0])[0]
        longest = max(longest, apart)
        assert apart == pytest.approx(1.0 + 1.8 / w * np.sin(w * t), abs=5e-3)
    assert longest > 3.5


def test_torch_of_a_simulation_follows_frames() -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch as mt

    energy = mt.energy(simulation())
    one = energy(x=torch.tensor([[0.2, 0.0, 0.0], [1.7, 0.0, 0.0]], dtype=torch.float64)).item()
    other = energy(x=torch.tensor([[0.2, 4.0, 0.0], [1.7 - 4.0, 0.0, 8.0]], dtype=torch.float64)).item()
    assert one == pytest.approx(0.5 * 0.2 * 0.25, rel=1e-12)
    assert other == pytest.approx(one, rel=1e-12)


def test_given_images_follow_frames() -> None:
    """Two bonds between the same beads stay two bonds."""
    box, data = np.diag([2.0, 9.0, 9.0]), {"rest": 0.8}
    fields = Fields({"x": np.array([[0.0, 0, 0], [0.9, 0, 0]]), "box": box[None]})
    copies = [[0, 0, 0], [1, 0, 0]]
    term = bind(link, fields, tuples=[[0, 1], [1, 0]], images=copies, data=data, parameters={"k": 1.0})
    potential = Potential(fields, [term])
    for s, shift in ((0.9, 0.0), (1.05, 2.0), (1.15, -4.0)):
        fields["x"].set(np.array([[0.0, 0, 0], [s + shift, 0, 0]]))
        assert potential.value() == pytest.approx(0.5 * (s - 0.8) ** 2 + 0.5 * (1.2 - s) ** 2, abs=1e-12)
