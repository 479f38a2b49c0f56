"""Bits of a search: the same however cut, resumed, or stored."""

import ast
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minusgrad import ti
from minusgrad.engine import storage
from minusgrad.errors import CheckpointError
from minusgrad.steppers.minimisers import lbfgs, line_search
from minusgrad.steppers.minimisers import minimiser as minimisers
from minusgrad.steppers.minimisers.first_order import FIRE
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.outcomes import Tolerances
from tests.support.laws import assert_splits, bits, kept
from tests.support.optima import (
    bowl,
    found,
    kink,
    q,
    single,
)
from tests.support.searches import APPROACH, EACH, METHODS, resumed_states, searched_valleys


@EACH
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(method, precision):
    assert_splits(lambda: searched_valleys(method, precision), 120)


@EACH
def test_arrays_of_the_engine_give_the_same_bits(method, monkeypatch):
    """Fields and gradients in `ti.ndarray`s, as on a device."""

    def on_device(values: np.ndarray):
        array = ti.ndarray(getattr(ti, storage.ENGINE_DTYPES[values.dtype.name]), values.shape)
        array.from_numpy(np.ascontiguousarray(values))
        return array

    numpy = kept(searched_valleys(method), [30])
    monkeypatch.setattr(storage, "allocate", on_device)
    assert kept(searched_valleys(method), [30]) == numpy


@EACH
def test_the_end_does_not_depend_on_the_cuts(method):
    """An outcome within a batch ends it."""
    assert_splits(lambda: searched_valleys(method, enough=Tolerances(0.3, change=1e-9)), 60)


def _far() -> Minimiser:
    """So far from the minimum that FIRE gets as fast as it may."""
    return FIRE(single([bowl], [1e9]), q(), first=1e-3, longest=1e6)


@EACH
def test_resumed_goes_on_bit_for_bit(method):
    whole, later = resumed_states(partial(searched_valleys, method))
    assert whole == later


OF_ROUNDING = ("last", "rounded")
"""These decide where a search ends, not where it goes: `assembly/test_newton_scenes.py` resumes there."""
KEPT = {
    f"{label}: {name}": (method, name)
    for label, method in METHODS.items()
    for name in method.kept
    if name not in OF_ROUNDING
}


@pytest.mark.parametrize(("method", "name"), KEPT.values(), ids=KEPT)
def test_all_that_is_kept_matters(method, name):
    """Without it the search goes elsewhere, or nowhere at all."""
    build = _far if name == "fastest" else partial(searched_valleys, method)
    try:
        whole, later = resumed_states(build, [n for n in method.kept if n != name])
    except ZeroDivisionError:
        return
    assert whole["q"] != later["q"]


@APPROACH
def test_an_outcome_is_restored(method):
    """Also one that fields and gradient alone do not tell."""
    enough = Tolerances(change=1e-2)
    search, later = (method(single([bowl], [1.0]), q(rate=10.0), enough) for _ in range(2))
    search.advance(5000)
    assert search.outcome == "settled"
    later.potential.fields["q"].set(found(search))
    later.restore(search.state())
    assert later.verdict == search.verdict
    later.advance(5)
    assert bits(later) == bits(search)


def test_being_stuck_is_restored():
    search, later = (LBFGS(single([kink], [3.0]), q()) for _ in range(2))
    search.advance(200)
    later.potential.fields["q"].set(found(search))
    later.restore(search.state())
    assert later.outcome == search.outcome == "stuck"


@EACH
def test_a_state_that_does_not_fit_is_refused(method):
    search = searched_valleys(method)
    state = search.state()
    for name in state:
        with pytest.raises(CheckpointError, match=f"'stepper/{name}' is missing or does not fit"):
            search.restore({n: a for n, a in state.items() if n != name})
        with pytest.raises(CheckpointError, match=f"'stepper/{name}' is missing or does not fit"):
            search.restore({**state, name: np.zeros((7, 7))})


@EACH
def test_state_is_a_copy(method):
    search = searched_valleys(method)
    state = search.state()
    before = {n: a.tobytes() for n, a in state.items()}
    search.advance(8)
    assert {n: a.tobytes() for n, a in state.items()} == before
    search.restore(state)
    search.advance(8)
    assert {n: a.tobytes() for n, a in state.items()} == before


def test_no_sum_is_left_to_blas():
    """Its order depends on the number of threads."""
    for room in ("unknowns", "outcomes", "minimiser", "line_search", "first_order", "lbfgs", "newton"):
        tree = ast.parse((Path(minimisers.__file__).parent / f"{room}.py").read_text())
        for node in ast.walk(tree):
            assert not isinstance(node, ast.MatMult), room
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called.rpartition(".")[2] not in ("vdot", "inner", "einsum", "tensordot", "norm", "sum"), (
                room
            )
            assert called != "np.dot", room


def test_the_search_is_the_shared_one():
    assert lbfgs.search is line_search.search
