"""The first row of each member of an ensemble: the start that it was given, in lanes as one by one.

U of the start is computed here by hand, for each member with its own numbers.
"""

import json
from typing import Any

import numpy as np
import pytest

import minusgrad as mg

NODES = np.array([[0.0, 0.0], [1.2, 0.1], [2.0, 0.3]])
REST = np.linalg.norm(NODES[1:] - NODES[:-1], axis=1)
G, MASS = 9.81, 1.0
SCENE: dict[str, Any] = {
    "units": {"system": "dimensionless"},
    "state": {
        "kind": "network",
        "nodes": NODES.tolist(),
        "springs": [[0, 1], [1, 2]],
        "mass": MASS,
        "bodies": {"nail": [0]},
    },
    "energy": [
        {"kind": "spring", "stiffness": 20.0},
        {"kind": "body_force", "name": "g", "acceleration": [0.0, -G]},
    ],
    "hold": [{"name": "nail", "body": "nail", "displacement": [0.1, -0.03]}],
    "run": {"steps": 4},
    "observe": [{"kind": "energies", "every": 4}, {"kind": "frames", "every": 4}],
}
STIFF = [20.0, 30.0, 40.0]
STEPPERS: dict[str, dict[str, Any]] = {
    "lbfgs": {"gradient": 1e-9},
    "fire": {},
    "adam": {},
    "newton": {},
    "leapfrog": {"dt": 0.01},
    "yoshida6": {"dt": 0.01},
    "implicit_midpoint": {"dt": 0.01},
}


def start(held: bool) -> np.ndarray:
    return NODES + np.array([[0.1, -0.03], [0.0, 0.0], [0.0, 0.0]]) * held


def energies(x: np.ndarray) -> list[float]:
    """U = sum k (l - l_0)^2 / 2 + m g y, of each member."""
    stretched = np.linalg.norm(x[1:] - x[:-1], axis=1) - REST
    return [0.5 * k * np.sum(stretched**2) + MASS * G * np.sum(x[:, 1]) for k in STIFF]


def rows(stepper: str, held: bool, lanes: bool, folder: Any) -> tuple[np.ndarray, np.ndarray]:
    scene = json.loads(json.dumps(SCENE))
    scene["stepper"] = {"kind": stepper, **STEPPERS[stepper]}
    if not held:
        del scene["hold"]
    scene["ensemble"] = {"members": 3, "vary": {"spring.stiffness": {"list": STIFF}}}
    if not lanes:
        scene["ensemble"]["lanes"] = False
    run = mg.run(scene, out=folder / f"{stepper}{held}{lanes}")
    total = np.asarray(run.series("observables/total").value)
    return total, np.asarray(run["position"])


@pytest.mark.parametrize(
    "stepper",
    [s if s in ("lbfgs", "leapfrog") else pytest.param(s, marks=pytest.mark.long) for s in STEPPERS],
)
@pytest.mark.parametrize("held", [True, False])
def test_the_first_row_is_the_start(stepper: str, held: bool, tmp_path) -> None:
    if held and stepper == "lbfgs":
        # in lanes the last rows agree, too
        one, _ = rows(stepper, held, False, tmp_path)
        many, _ = rows(stepper, held, True, tmp_path)
        np.testing.assert_allclose(one, many, rtol=1e-6)
    total, x = rows(stepper, held, True, tmp_path / "again")
    np.testing.assert_allclose(total[0], energies(start(held)), rtol=1e-12)
    np.testing.assert_allclose(x[0].reshape(3, 3, 2), [start(held)] * 3, rtol=1e-12, atol=1e-15)


def test_the_scatter_of_the_start(tmp_path) -> None:
    """What statistics say of step 0 is that of the starts."""
    total, _ = rows("lbfgs", False, True, tmp_path)
    assert np.ptp(total[0]) == pytest.approx(0.0, abs=1e-12)
