"""The domain of a topology optimisation: filter, stiffness, compliance, its gradient by another program."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from tests.support.command import SCENES
from tests.support.mbb_beam import Beam, stiffness

TOPOLOGY = SCENES / "topology.toml"
SMALL = {"state.cells": [12, 5], "state.filter_radius": 2.2}


def test_the_filter_is_that_of_distances_between_cells() -> None:
    simulation = minusgrad.build(TOPOLOGY, SMALL)
    design = np.random.default_rng(0).uniform(size=60)
    simulation.fields["design"].set(design)
    simulation.potential.refresh()
    np.testing.assert_allclose(
        simulation.fields["density"].values, Beam(12, 5, 2.2).filter @ design, rtol=1e-14
    )


def test_a_solid_cell_has_the_stiffness_of_a_bilinear_square() -> None:
    simulation = minusgrad.build(TOPOLOGY, {"state.cells": [1, 1], "state.fraction": 1.0})
    whole = simulation.potential.hessian("u").toarray()
    order = np.ravel([[2 * node, 2 * node + 1] for node in (0, 1, 3, 2)])
    np.testing.assert_allclose(whole[np.ix_(order, order)], stiffness(), atol=1e-15)


def test_compliance_and_gradient_are_those_of_another_program(tmp_path: Path) -> None:
    fit = minusgrad.fit(TOPOLOGY, SMALL | {"fit.iterations": 0, "run.allow_dead": True}, tmp_path / "fit")
    objective, beam = fit.parameter_fit.objective, Beam(12, 5, 2.2)
    design = np.random.default_rng(1).uniform(0.2, 0.9, size=60)
    objective.fields["design"].set(design)
    found = np.zeros(60)
    value = objective.evaluate_into({"design": found})
    c, slope = beam.compliance(beam.filter @ design)
    assert value == pytest.approx(c, rel=1e-10)
    np.testing.assert_allclose(found, beam.filter.T @ slope, rtol=1e-8)


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"fit.method": "lbfgs"}, '[fit.constraint] belongs to "optimality_criteria"; "lbfgs" has none'),
        ({"fit.constraint": {"field": "densty", "mean": 0.5}}, "no field named 'densty'"),
        (
            {"fit.constraint": {"field": "u", "mean": 0.5}},
            "'u': a mean needs numbers, got values of shape [2]",
        ),
        ({"fit.constraint": {"field": "u", "mean": "1 kg"}}, "fit.constraint"),
        ({"state.cells": [0, 5]}, "state.cells.0"),
    ],
)
def test_refused(own: dict, text: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError) as message:
        minusgrad.fit(TOPOLOGY, SMALL | own, tmp_path / "fit")
    assert text in str(message.value)


def test_the_method_needs_its_constraint(tmp_path: Path) -> None:
    scene = tmp_path / "scene.toml"
    scene.write_text(TOPOLOGY.read_text().replace('[fit.constraint]\nfield = "density"\nmean = 0.5\n', ""))
    with pytest.raises(SceneError, match=r'method "optimality_criteria" needs a \[fit.constraint\]'):
        minusgrad.fit(scene, SMALL, tmp_path / "fit")
