"""Images that must stay are kept or named: members, runs of tensors, scripts; and what `check` asks."""

import warnings
from itertools import product

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.check import term_check
from minusgrad.errors import MinusgradError, TensorError
from minusgrad.plugin import Cutoff
from minusgrad_molecular.bonded import harmonic_bond
from minusgrad_molecular.topology import parents_of

pytestmark = pytest.mark.exam

X = np.array([[0.2, 0.1, 0.0], [3.7, 0.0, 0.3]])
MOVED = X + np.array([[0.0, 0.0, 0.0], [4.0, 0.0, -4.0]])


def simulation(**more: object) -> mg.Simulation:
    """Two beads on a spring across a face."""
    given: dict = {
        "fields": {"x": X, "m": np.ones(2)},
        "tuples": {"links": np.array([[0, 1]])},
        "energies": [mg.energy("spring", tuples="links", rest=0.5, stiffness=0.2)],
        "box": [4.0, 4.0, 4.0],
        "units": "dimensionless",
        "stepper": mg.Leapfrog(dt=0.05),
    }
    return mg.Simulation(**given | more)


def test_positions_that_a_script_wraps_are_named() -> None:
    sim = simulation()
    sim.fields["x"].set(X + 0.1)
    sim.step()
    sim.fields["x"].set(MOVED)
    with pytest.warns(
        UserWarning, match=r"'x': was written at step 1, which puts row 0 = \[0, 1\] of 'spring'"
    ):
        sim.step()


@pytest.mark.long
def test_runs_of_tensors_name_wrapped_starts() -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch as mt

    run = mt.rollout(simulation(), 3)
    assert run(x=torch.tensor(X + 0.2))["x"].shape == (2, 3)
    with pytest.raises(TensorError, match=r"'x': puts row 0 = \[0, 1\] of 'spring' in other images"):
        run(x=torch.tensor(MOVED))


def test_members_that_begin_in_other_images_are_named() -> None:
    def scene(second: np.ndarray) -> dict:
        values = {"state.x": {"list": [X.tolist(), second.tolist()]}}
        return {"ensemble": {"members": 2, "vary": values}, "run": {"steps": 2}}

    simulation(**scene(X + 0.3))
    from minusgrad.assembly.ensembles.members import Members

    with pytest.raises(MinusgradError, match=r"member 1: begins with row 0 = \[0, 1\] of 'spring' in other"):
        Members(simulation(**scene(MOVED))._validated)
    assert len(Members(simulation(**scene(X + 0.3))._validated)) == 2


@local_energy("absolute", over=2, x=Node("m", ("d",)), k=Parameter("N/m"))
def absolute(x, k):
    """A function of places, and no difference: it has no period."""
    return k * x[0].dot(x[1])


@local_energy("uniform", over="nodes", x=Node("m", ("d",)), k=Parameter("N"))
def uniform(x, k):
    """A uniform field."""
    return k * x[0][0]


@local_energy("repulsion", over="pairs", x=Node("m", ("d",)), k=Parameter("J m^2"))
def repulsion(x, k):
    """A repulsion."""
    r = x[0] - x[1]
    return k / r.dot(r)


def test_check_shifts_nodes_by_vectors_of_the_box() -> None:
    fields = Fields({"x": np.random.default_rng(0).uniform(0, 4, (6, 3)), "box": 4.0 * np.eye(3)[None]})
    terms = [
        bind(harmonic_bond, fields, tuples=[[0, 1], [2, 3]], data={"rest": 1.0, "stiffness": 1.0}),
        bind(absolute, fields, tuples=[[0, 1], [1, 2]], parameters={"k": 1.0}),
        bind(uniform, fields, parameters={"k": 1.0}),
        bind(repulsion, fields, parameters={"k": 1.0}, cutoff=Cutoff(1.5)),
    ]
    before = fields["x"].values.copy()
    found = [f for f in term_check.of_potential(Potential(fields, terms)) if f.question == "images"]
    said = {f.term: (f.passed, f.warning) for f in found}
    assert said == {
        "harmonic_bond": (True, False),
        "absolute": (False, False),
        "uniform": (True, True),
        "repulsion": (True, False),
    }
    assert np.array_equal(before, fields["x"].values)


def test_the_nearest_image_of_a_strongly_skewed_box() -> None:
    box = np.array([[2.0, 0.0, 0.0], [9.1, 2.2, 0.0], [-6.7, 15.0, 2.4]])
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.0, 1.0, (40, 3)) @ box
    rows = np.arange(40).reshape(20, 2)
    wide = np.array([*product(range(-60, 61), range(-18, 19), range(-2, 3))])
    lengths = [np.linalg.norm(x[j] - x[i] + wide @ box, axis=1).min() for i, j in rows]
    fields = Fields({"x": x, "box": box[None]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        term = bind(harmonic_bond, fields, tuples=rows, data={"rest": 0.0, "stiffness": 2.0})
    assert Potential(fields, [term]).value() == pytest.approx(float((np.array(lengths) ** 2).sum()), rel=1e-9)


def test_impropers_follow_the_atom_that_is_bonded_to_the_others() -> None:
    bonds = np.array([[5, 1], [5, 2], [3, 5]])
    rows = np.array([[1, 2, 5, 3], [5, 1, 2, 3], [1, 5, 2, 3], [1, 2, 3, 4]])
    assert parents_of(rows, bonds).tolist() == [[0, 2, 0, 2], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]]
