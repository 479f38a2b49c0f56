"""Trees that stay for several steps: those of saved reference positions, wherever a run is cut."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System

from .test_tree_energies import attraction

FAR = Far(opening_angle=0.7, order=2, skin=0.2)
STEPS = 12
Saved = tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]


def cluster(precision: str, n: int = 300) -> Integrator:
    """A cluster in the plane, whose tree is kept for some steps."""
    rng = np.random.default_rng(6)
    x, v = rng.normal(size=(2, n, 2))
    fields = Fields({"x": x, "v": 0.3 * v, "m": rng.uniform(0.5, 1.0, n) / n}, precision=precision)
    term = bind(attraction, fields, parameters={"G": 1.0, "softening": 0.1}, far=FAR)
    return Integrator(System(Potential(fields, [term]), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.05)


def saved(stepper: Integrator) -> Saved:
    """The state of a run: its fields and the positions of the reference, and what the stepper saves."""
    fields = stepper.potential.fields
    every = {**fields, **fields.of_lists}
    return {n: f.values.copy() for n, f in every.items()}, stepper.state()


def restored(state: Saved, precision: str) -> Integrator:
    stepper = cluster(precision)
    fields = stepper.potential.fields
    for name, field in {**fields, **fields.of_lists}.items():
        field.set(state[0][name])
    stepper.restore(dict(state[1]))
    return stepper


def bits(state: Saved) -> dict[str, bytes]:
    return {n: a.tobytes() for part in state for n, a in part.items()}


def states(precision: str) -> list[Saved]:
    """The state after each step."""
    stepper, found = cluster(precision), []
    for _ in range(STEPS):
        found.append(saved(stepper))
        stepper.advance(1)
    return [*found, saved(stepper)]


def of_every_cut(precision: str) -> list[Saved]:
    """The states of a run, and a comparison with runs that are continued from each of them."""
    every = states(precision)
    references = [state[0]["listed_x"] for state in every]
    built = sum(not np.array_equal(a, b) for a, b in pairwise(references))
    assert 2 <= built <= STEPS - 4  # trees are built again, and kept
    for cut in range(1, STEPS):
        again = restored(every[cut], precision)
        again.potential.value(), again.potential.gradient("m")
        again.advance(STEPS - cut)
        assert bits(saved(again)) == bits(every[-1]), cut
    return every


def test_a_kept_tree_is_that_of_its_reference():
    """Also where the positions have moved: gradients have the bits of the uncut run."""
    stepper = cluster("f64")
    stepper.advance(3)
    fields = stepper.potential.fields
    assert not np.array_equal(fields["x"].values, fields.of_lists["listed_x"].values)
    other = restored(saved(stepper), "f64")
    trees = [one.potential.terms["attraction"].elements for one in (stepper, other)]
    assert np.array_equal(stepper.potential.gradient("x"), other.potential.gradient("x"))
    for of in ("order", "centre", "radius", "child"):
        assert np.array_equal(*(getattr(one.tree, of) for one in trees)), of
    assert np.array_equal(trees[0].cells.far.present_lists, trees[1].cells.far.present_lists)


@pytest.mark.long
def test_cuts_at_every_step_change_no_bits(any_threads):
    """Last in this file: the engine is restarted and forgets its kernels."""
    found = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        for precision in ("f64", "f32"):
            found[threads, precision] = [bits(state) for state in of_every_cut(precision)]
    for precision in ("f64", "f32"):
        assert found[1, precision] == found[2, precision]
