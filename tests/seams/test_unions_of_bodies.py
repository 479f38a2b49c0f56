"""Bodies that are named together are their union: nodes once, facets of each body and none between them."""

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import SceneError

BOX = {"kind": "box", "size": [1.0, 1.0, 1.0], "cells": [2, 2, 2], "density": 1.0}
ONE = BOX | {"cells": [1, 1, 1], "cell": "hexahedra"}
SLAB = {"slab": {"within": {"box": [[0.0, 0.0, 1.0], [0.5, 1.0, 1.0]]}}}


def built(state: dict, *energies: dict, **sections: object) -> mg.Simulation:
    scene = {"state": state, "energy": list(energies), "stepper": {"kind": "newton"}, "run": {"steps": 1}}
    return mg.load(scene | sections)


def pull(body: object, *vector: float) -> dict:
    return {"kind": "traction", "body": body, "traction": list(vector)}


def resultant(simulation: mg.Simulation) -> list[float]:
    return (-simulation.potential.gradient("x")).sum(axis=0).tolist()


@pytest.mark.parametrize(
    ("state", "body", "area"),
    [
        (BOX, ["left", "front"], 2.0),
        (BOX, ["left", "right", "front", "left"], 3.0),
        (ONE, ["left", "right"], 2.0),
        (ONE | {"order": 2}, ["left", "front"], 2.0),
        (BOX | {"sides": SLAB}, ["slab", "left"], 1.5),
        (BOX | {"sides": SLAB}, ["slab", "top"], 1.0),
    ],
)
def test_a_traction_on_a_union_has_the_area_of_all(state: dict, body: list[str], area: float) -> None:
    """Also of a body one cell thick, whose left and right sides have all of its nodes."""
    assert resultant(built(state, pull(body, 3.0, 0.0, 0.0))) == pytest.approx([3.0 * area, 0.0, 0.0])


def test_values_by_body_are_of_the_facets_of_each() -> None:
    each = {"left": [1.0, 0.0, 0.0], "front": [0.0, 2.0, 0.0]}
    assert resultant(built(BOX, {"kind": "traction", "traction": each})) == pytest.approx([1.0, 2.0, 0.0])


def test_forces_on_nodes_of_a_union_count_once() -> None:
    loaded = built(BOX, {"kind": "load", "body": ["left", "front"], "force": [1.0, 0.0, 0.0]})
    assert resultant(loaded)[0] == 15.0


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        (
            {"kind": "load", "force": {"left": [1.0, 0.0, 0.0], "front": [0.0, 2.0, 0.0]}},
            "node 0 is in the bodies left and front, which have values of their own; name bodies that share",
        ),
        (
            {"kind": "traction", "traction": {"top": [1.0, 0.0, 0.0], "slab": [0.0, 2.0, 0.0]}},
            "must be in one body, got top and slab; name bodies that share none",
        ),
    ],
)
def test_values_of_two_bodies_at_one_place_are_refused(energy: dict, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        built(BOX | {"sides": SLAB}, energy)


def test_a_hold_on_a_union_and_equal_holds_that_overlap() -> None:
    """Left clamped and bottom on rollers, in two holds or by axes: the same free components and reactions."""
    plate = {"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 2], "density": 1.0}
    solid = {"kind": "linear", "youngs_modulus": 100.0, "poissons_ratio": 0.3}
    ways = [
        [{"body": "left"}, {"body": "bottom", "axes": "y"}],
        [{"body": "left", "axes": "x"}, {"body": ["left", "bottom"], "axes": "y"}],
    ]
    reactions = []
    for holds in ways:
        made = built(plate, solid, pull("right", 0.0, 1.0), hold=holds)
        made.step(1)
        reaction = made.holds.reaction("x", made.potential.gradient("x"), None, 0.0)
        reactions.append(reaction)
        totals = made.holds.totals("x", reaction)
        assert sum(totals.values()) == pytest.approx([0.0, -1.0], abs=1e-9)
        np.testing.assert_allclose(sum(totals.values()), reaction.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(*reactions, atol=1e-9)


def test_unequal_holds_name_the_node_and_two_cures() -> None:
    holds = [{"body": "left", "displacement": [0.1, 0.1, 0.0]}, {"body": "bottom", "axes": "yz"}]
    with pytest.raises(SceneError) as refused:
        built(BOX, {"kind": "linear", "youngs_modulus": 1.0, "poissons_ratio": 0.3}, hold=holds)
    said = str(refused.value)
    assert "'x' is held twice at the same place, by 'left' and 'bottom', which move node 0 along y in" in said
    assert "by axes (left: x, [left, bottom]: y)" in said
    cured = BOX | {"sides": {"rest": {"union": ["bottom"], "minus": ["left"], "of": "nodes"}}}
    holds[1] = {"body": "rest", "axes": "yz"}
    built(cured, {"kind": "linear", "youngs_modulus": 1.0, "poissons_ratio": 0.3}, hold=holds)


def test_a_varied_value_of_one_body_leaves_the_others() -> None:
    """Also where the nodes of one side are all of the body, as those of a mantle one cell thick."""
    state = ONE | {"sides": {"mantle": {"minus": ["left", "right"]}}}
    each = {"kind": "traction", "traction": {"left": [1.0, 0.0, 0.0], "mantle": [0.0, 1.0, 0.0]}}
    solid = {"kind": "linear", "youngs_modulus": 100.0, "poissons_ratio": 0.3}
    vary = {"traction.traction": {"body": "mantle", "list": [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0]]}}
    for member, pulled in enumerate((8.0, 12.0)):
        made = built(state, solid, each, ensemble={"vary": vary, "member": member})
        assert resultant(made) == pytest.approx([1.0, pulled, 0.0])


def test_springs_and_rigid_sides_and_resultants_know_unions() -> None:
    """A body one cell thick: springs on two sides have the area of both, and no side between them."""
    far = {"kind": "foundation", "body": ["left", "right"], "stiffness": 5.0}
    near = {"kind": "foundation", "body": ["low", "left"], "stiffness": 5.0}
    state = ONE | {"sides": {"low": {"normal": [0.0, 0.0, -1.0]}}}
    solid = {"kind": "linear", "youngs_modulus": 100.0, "poissons_ratio": 0.3}
    for energy, moved in ((far, [1.0, 0.0, 0.0]), (near, [0.0, 0.0, 1.0])):
        made = built(state, solid, energy)
        x = made.fields["x"]
        x.set(x.values + 0.1 * np.array(moved))
        area = 2.0 if energy is far else 1.0
        assert made.potential.by_element("foundation").sum() == pytest.approx(0.5 * 5.0 * 0.01 * area)
    rigid = {"kind": "rigid_side", "body": ["left", "low"]}
    assert built(state, solid, compound=[rigid]).constraints is not None
    observed = [{"kind": "resultant", "side": ["left", "right"], "every": 1}]
    made = built(
        state, solid, pull(["right", "low"], 1.0, 0.0, 0.0), hold=[{"body": "left"}], observe=observed
    )
    assert made.observers[0].nodes.tolist() == list(range(8))  # type: ignore[attr-defined]
    assert len(made.observers[0]._loads) == 1  # type: ignore[attr-defined]
    (load, own) = made.observers[0]._loads[0]  # type: ignore[attr-defined]
    assert own.sum() == len(own) // 2
    assert load.term.name == "traction"
