"""What may move, within which bounds, and which searches are refused."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.errors import EnergyError
from minusgrad.steppers.minimisers.first_order import FIRE, Adam, GradientDescent
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import ScaledVariables, Unknown
from tests.support.optima import (
    bowl,
    clamped,
    found,
    q,
    single,
    tied,
)
from tests.support.searches import solved

# What may move ------------------------------------------------------------------------------------------


def test_what_is_held_stays_also_beyond_the_bounds():
    potential = single([bowl], [5.0, 5.0, -5.0, 0.5])
    search = LBFGS(potential, q(lower=-1.0, upper=1.0), free=clamped(4, 0))
    np.testing.assert_array_equal(found(search), [5.0, 1.0, -1.0, 0.5])
    search.advance(20)
    assert found(search)[0] == 5.0
    assert search.residual == 0.0
    assert search.gradient["q"][0] == 5.0


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("scale", [3.0, 5.05, 1e-7])  # 0.7 / 5.05 * 5.05 < 0.7
def test_a_bound_is_reached_to_the_bit(scale, precision):
    """z = x / scale is rounded, and in single precision the bound too; a bound reached is a bound held."""
    potential = single([bowl], [0.1, 0.1, 0.1], precision)
    z = ScaledVariables(potential, q(lower=-0.3, upper=0.7, scale=scale), clamped(3))
    for beyond in (z.upper, 2.0 * z.upper, np.full(3, np.inf)):
        x = z.write(beyond)
        assert (potential.fields["q"].values == potential.fields["q"].dtype.type(0.7)).all()
        assert z.pinned(x / z.scale, np.full(3, -1.0)).all()
        assert not z.pinned(x / z.scale, np.full(3, 1.0)).any()
    assert z.pinned(z.write(z.lower - 1.0) / z.scale, np.full(3, 1.0)).all()
    inside = z.write(np.array([0.01, 0.02, 0.03]) / scale)
    z.put(inside)
    np.testing.assert_array_equal(z.read(), inside)


def test_equal_bounds_hold():
    fields = Fields({"near": [0.0], "far": [0.0]})
    unknowns = [Unknown("near"), Unknown("far", lower=40.0, upper=40.0)]
    search = solved(LBFGS(Potential(fields, [bind(tied, fields)]), unknowns, Tolerances(1e-12)))
    assert found(search, "far")[0] == 40.0
    assert found(search, "near")[0] == pytest.approx(1.5)


# Refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unknowns", "free", "message"),
    [
        ([], {}, "unknowns: none is given; name at least one field"),
        ([Unknown("p")], {}, "'p': no energy depends on it, so it has no minimum (they depend on: q)"),
        ([Unknown("r")], {}, "no field named 'r' (there are: q, p)"),
        ([Unknown("q", scale=0.0)], {}, "'q': scale must be positive and finite, got 0"),
        ([Unknown("q", scale=np.nan)], {}, "'q': scale must be positive and finite, got nan"),
        ([Unknown("q", rate=-1.0)], {}, "'q': rate must be positive and finite, got -1"),
        (
            [Unknown("q", lower=2.0, upper=1.0)],
            {},
            "'q': its lower bound 2 is above its upper 1",
        ),
        ([Unknown("q"), Unknown("q")], {}, "unknowns: 'q' is given twice; give it once"),
        (
            [Unknown("q")],
            {"q": np.zeros(2, bool)},
            "unknowns: no component is free to move, all are held or fixed by their bounds",
        ),
        ([Unknown("q", lower=1.0, upper=1.0)], None, "unknowns: no component is free to move, all are held"),
        ([Unknown("q")], {"p": np.ones(2, bool)}, "free: 'p' is not among the unknowns; leave its mask out"),
        (
            [Unknown("q")],
            {},
            "free: no mask for 'q'; give one for each unknown, or leave `free` out",
        ),
        (
            [Unknown("q")],
            {"q": np.ones(3, bool)},
            "free['q']: needs booleans of shape [2], got bool of shape [3]",
        ),
        (
            [Unknown("q")],
            {"q": np.ones(2)},
            "free['q']: needs booleans of shape [2], got float64 of shape [2]",
        ),
    ],
)
def test_refused(unknowns, free, message):
    fields = Fields({"q": [1.0, 2.0], "p": [1.0, 2.0]})
    with pytest.raises(EnergyError) as refusal:
        LBFGS(Potential(fields, [bind(bowl, fields)]), unknowns, free=free)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: LBFGS(p, q(), memory=0), "memory: L-BFGS needs at least 1 pair, got 0"),
        (lambda p: LBFGS(p, q(), first=0.0), "first must be positive and finite, got 0"),
        (lambda p: GradientDescent(p, q(), first=-1.0), "first must be positive and finite, got -1"),
        (lambda p: Adam(p, q(), rate=0.0), "rate must be positive and finite, got 0"),
        (lambda p: Adam(p, q(), clip=0.0), "clip must be positive and finite, got 0"),
        (
            lambda p: Adam(p, q(), final_rate=0.1),
            "final_rate: needs `decay_steps` beside it, got none; give both, or leave both out",
        ),
        (
            lambda p: Adam(p, q(), decay_steps=9),
            "decay_steps: needs `final_rate` beside it, got none; give both, or leave both out",
        ),
        (
            lambda p: Adam(p, q(), final_rate=-1.0, decay_steps=9),
            "final_rate must be 0 or more and finite, got -1",
        ),
        (
            lambda p: Adam(p, q(), final_rate=0.0, decay_steps=0),
            "decay_steps must be 1 or more, got 0",
        ),
        (lambda p: FIRE(p, q(), longest=np.inf), "longest must be positive and finite, got inf"),
        (
            lambda p: Tolerances(gradient=-1.0),
            "tolerance `gradient` must be >= 0, got -1",
        ),
        (lambda p: Tolerances(change=np.nan), "tolerance `change` must be >= 0, got nan"),
    ],
)
def test_refused_numbers(make, message):
    with pytest.raises(EnergyError) as refusal:
        make(single([bowl], [1.0]))
    assert str(refusal.value) == message


# A start outside the bounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_start_outside_the_bounds_is_reported(precision):
    search = LBFGS(single([bowl], [3.0, -2.0, 0.5, 9.0], precision), q(lower=-1.0, upper=4.0))
    assert found(search).tolist() == [3.0, -1.0, 0.5, 4.0]
    (outside,) = search.outside
    assert outside.text("um") == (
        "field 'q': 2 of 4 nodes began outside its bounds, -1 to 4 um, and were moved onto them, by up to"
        " 5 um; widen the bounds, or move the start"
    )
    assert "by up to 5; widen" in outside.text("1")
    assert not LBFGS(single([bowl], [3.0, 4.0]), q(lower=-1.0, upper=4.0)).outside


def test_held_components_are_not_outside():
    potential = single([bowl], [9.0, 0.5])
    search = LBFGS(potential, q(upper=4.0), free={"q": np.array([False, True])})
    assert (search.outside, found(search)[0]) == ([], 9.0)


def test_a_write_outside_the_bounds_warns():
    potential = single([bowl], [3.0, 2.0])
    search = LBFGS(potential, q(upper=4.0))
    potential.fields["q"].set([3.0, 7.0])
    with pytest.warns(UserWarning, match="^field 'q': 1 of 2 nodes began outside its bounds"):
        search.advance(1)
