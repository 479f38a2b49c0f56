"""Far pairs of nodes in places that are hard for a tree, against direct sums; bad positions are refused."""

import re

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.energies.pairs.far import Far
from minusgrad.errors import EnergyError
from minusgrad.potential.far_pairs.force_error import force_error, narrowed
from tests.support.far_energies import CASES, attraction, direct

FAR = Far(opening_angle=0.4, order=3)


def clouds(n: int = 600) -> dict[str, np.ndarray]:
    """Positions by what is special about them."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n, 3))
    line, plane, outside, two, half = (x.copy() for _ in range(5))
    line[:, 1:] = 0.0
    plane[:, 2] = 0.0
    outside[7] = [1e6, 0.0, 0.0]
    two[: n // 2] += [1e6, 0.0, 0.0]
    half[: n // 2] = 1.0
    return {
        "line": line,
        "diagonal": np.outer(line[:, 0], [1.0, 1.0, 1.0]),
        "plane": plane,
        "one far outside": outside,
        "two clusters far apart": two,
        "half in one place": half,
        "one place": np.ones((n, 3)),
    }


CHEAP = ("line", "half in one place")


@pytest.mark.parametrize(
    "name", [n if n in CHEAP else pytest.param(n, marks=pytest.mark.long) for n in clouds(20)]
)
def test_forces_are_those_of_direct_sums(name):
    """With a node of no mass."""
    x, m = clouds()[name], np.random.default_rng(9).uniform(0.5, 1.0, 600)
    m[[5, 300]] = 0.0
    fields = Fields({"x": x, "m": m})
    tree = Potential(fields, [bind(attraction, fields, parameters=CASES["gravity"][2], far=FAR)])
    exact, found = direct(CASES["gravity"][3], x, m, np.arange(600)), tree.gradient("x")
    assert np.linalg.norm(found - exact) <= 2.0 * 0.4**4 * np.linalg.norm(exact)  # 2 theta^(order + 1)
    assert np.abs(found.sum(axis=0)).max() <= 1e-13 * np.abs(found).sum()
    assert not found[[5, 300]].any()
    assert np.isfinite(tree.gradient("m")).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_positions_that_are_not_finite_are_refused(value):
    x = np.random.default_rng(0).normal(size=(50, 3))
    x[7, 1] = value
    fields = Fields({"x": x, "m": np.ones(50)})
    message = (
        f"attraction.far: needs finite positions, got [{x[7, 0]}, {value}, {x[7, 2]}] of node 7; correct"
    )
    with pytest.raises(EnergyError, match=re.escape(message)):
        bind(attraction, fields, parameters=CASES["gravity"][2], far=FAR)


def test_nodes_in_one_place_without_softening_are_named():
    x = np.random.default_rng(0).normal(size=(100, 3))
    x[7] = x[70]
    fields = Fields({"x": x, "m": np.ones(100)})
    term = bind(attraction, fields, parameters={"G": 1.0, "softening": 0.0}, far=Far(error=1e-2))
    found = Potential(fields, [term]).first_nonfinite(0.0, ["x"])
    assert found == (
        "term 'attraction', node 7: its force on 'x' is not finite; node 70 is in the same place, move one of"
        " them"
    )
    for measured in (force_error(term), narrowed(term)):
        assert "forces that are not finite, so the error of the tree was not measured" in measured.remark
    assert term.elements.choice.theta == Far(error=1e-2).chosen[1]
