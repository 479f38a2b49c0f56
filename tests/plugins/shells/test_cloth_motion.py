"""Sheets in motion: drag and wind on paper, seams, engines, precision, derivatives, resuming, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from tests.support.both_engines import assert_engines_agree
from tests.support.sheets import AREA_DENSITY, nodes_of, sheet_scene
from tests.support.tiers import sampled
from tests.support.toml_scenes import toml_text

G, AIR = 9.81, 1.2
WEIGHT = [{"kind": "body_force", "acceleration": [0.0, 0.0, -G]}]
LEAPFROG = {"kind": "leapfrog", "dt": 1e-3}
UPRIGHT = {"across": [0.0, 0.0, 1.0]}

SCENES = Path(__file__).parents[3] / "scenes"
COARSE = {"state.cells": [8, 8], "stepper.dt": "20 ms", "run.steps": 40}
DRAPED: dict[str, Any] = {"whole": ({}, 0.01, 1.5e-4), "coarse": (COARSE, 0.03, 6e-4)}
"""Changes of the scene, how far corners are off, and the depth of nodes [m], larger on few triangles."""


@pytest.mark.parametrize("row", sampled(DRAPED, ["coarse"]))
def test_draped_cloth(row: str) -> None:
    """The claim of the scene: corners hang as deep as a line over the ball, into which nodes hardly sink."""
    changes, off, deepest = DRAPED[row]
    made, depth, radius = mg.load(SCENES / "draped_cloth.toml", changes), 0.0, 0.1
    for _ in range(changes.get("run.steps", 80) // 4):
        made.step(4)
        places = made.fields["x"].values + np.array([0.0, 0.0, radius])
        depth = max(depth, radius - np.linalg.norm(places, axis=1).min())
    corners = made.fields["x"].values[nodes_of(made, "corners"), 2]
    line = radius + np.sqrt(2.0) * 0.2 - np.pi * radius / 2.0
    assert abs(line - 0.2258) < 1e-4
    assert np.abs(-corners / line - 1.0).max() < off
    assert 0.8 * deepest < depth < deepest


def falling(state: dict[str, Any], drag: dict[str, Any], dt: float) -> mg.Simulation:
    """A sheet in free fall with drag."""
    air = [{"kind": "air_drag", "wind": [0, 0, 0], "creep": 1e-4, "air_density": AIR} | drag]
    scene = sheet_scene(
        state, {"youngs_modulus": 100.0}, {"kind": "leapfrog", "dt": dt}, energy=WEIGHT, dissipation=air
    )
    return mg.load(scene)


@pytest.mark.parametrize(
    ("state", "drag", "terminal"),
    [
        ({}, {"normal_drag": 1.5}, np.sqrt(2.0 * AREA_DENSITY * G / (AIR * 1.5))),
        (UPRIGHT, {"tangential_drag": 0.5}, np.sqrt(2.0 * AREA_DENSITY * G / (AIR * 0.5))),
    ],
)
def test_a_falling_sheet_reaches_its_terminal_speed(state, drag, terminal: float) -> None:
    """Across and along: v = V tanh(g t / V), V^2 = 2 sigma g / (rho C); the whole sheet alike."""
    errors = []
    for steps in (75, 150):
        made = falling(state, drag, 1.0 / steps)
        made.step(steps)
        v = made.fields["v"].values
        assert np.ptp(v[:, 2]) < 1e-9
        errors.append(abs(-v[0, 2] / (terminal * np.tanh(G / terminal)) - 1.0))
    assert errors[1] < 1e-4
    assert errors[1] < 0.3 * errors[0]


def test_linear_drag_fades_and_a_wind_carries_along() -> None:
    """dv/dt = -k / sigma (v - w): the sheet takes 1 - 1 / e of the wind's velocity in sigma / k."""
    wind = [0.0, 0.0, 3.0]
    drag = {"normal_drag": 0.0, "tangential_drag": 0.0, "linear_normal_drag": 0.4, "wind": wind}
    scene = sheet_scene({}, {"youngs_modulus": 1e4}, {"kind": "leapfrog", "dt": 5e-3})
    made = mg.load(scene | {"dissipation": [{"kind": "air_drag"} | drag]})
    made.step(100)
    assert made.fields["v"].values[:, 2] == pytest.approx(3.0 * (1.0 - np.exp(-1.0)), rel=1e-4)


def test_a_wind_on_a_held_sail_is_the_pressure_of_its_speed() -> None:
    """-dR/dv of a sheet at rest across the wind is the force of `pressure` with p = rho/2 C w^2."""
    w, rim = 7.0, [{"body": ["left", "right", "bottom", "top"], "field": "x"}]
    air = [{"kind": "air_drag", "wind": [0.0, 0.0, w], "normal_drag": 1.1, "air_density": AIR}]
    load = [{"kind": "pressure", "pressure": -0.5 * AIR * 1.1 * w**2}]
    made = mg.load(sheet_scene({}, {}, LEAPFROG, hold=rim, energy=load, dissipation=air))
    of_wind, of_pressure = made.system.dissipation.gradient("v"), made.potential.gradient("x")
    x = made.fields["x"].values
    inner = (x[:, 0] > 0.01) & (x[:, 0] < 0.39) & (x[:, 1] > 0.01) & (x[:, 1] < 0.29)
    assert of_wind[inner, 2].max() < -0.1
    np.testing.assert_allclose(of_wind[inner], of_pressure[inner], rtol=1e-6, atol=1e-9)


SEAM = {"kind": "seam", "sides": ["left", "right"], "stiffness": 50.0}
ROLLED = {"size": [0.4, 0.2], "cells": [8, 4]}


def test_a_seam_keeps_momentum_and_angular_momentum() -> None:
    """Without supports sum m v and sum m x cross v stay; the seam pulls both sides together."""
    made = mg.load(
        sheet_scene(ROLLED, {"youngs_modulus": 2e4}, {"kind": "leapfrog", "dt": 5e-4}, more=[SEAM])
    )
    x = made.fields["x"].values.copy()
    x[:, 2] = 2.0 * (x[:, 0] - 0.2) ** 2 + 0.1 * x[:, 0] * x[:, 1]
    made.fields["x"].set(x)
    m = made.fields["m"].values

    def momenta() -> np.ndarray:
        v = made.fields["v"].values
        return np.array([m @ v, np.cross(made.fields["x"].values, m[:, None] * v).sum(axis=0)])

    left, right = nodes_of(made, "left"), nodes_of(made, "right")
    before = np.linalg.norm(x[left] - x[right], axis=1).mean()
    made.step(160)
    moved = np.abs(m[:, None] * made.fields["v"].values).sum()
    assert moved > 1e-3
    assert np.abs(momenta()).max() < 1e-12 * moved
    now = made.fields["x"].values
    assert np.linalg.norm(now[left] - now[right], axis=1).mean() < 0.8 * before


def test_the_energy_of_a_seam() -> None:
    """k/2 times the length times the squared opening, 0.4 m everywhere; reversed the width adds up."""
    for is_reversed, opening in ((False, 0.16), (True, 0.16 + (2 * 0.5 * 0.2**2 + 2 * 0.1**2) / 4)):
        made = mg.load(sheet_scene(ROLLED, {}, LEAPFROG, more=[SEAM | {"reversed": is_reversed}]))
        value = made.potential.by_term()["seam_left_right"]
        assert value == pytest.approx(0.5 * 50.0 * 0.2 * opening, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"seam": {"sides": ["left", "bottom"]}},
            "sides: 'left' and 'bottom' must have as many nodes, got 5 and 9",
        ),
        ({"seam": {"sides": ["left", "up"]}}, "sides: no side named 'up'"),
        (
            {"seam": {"sides": ["left", "corners"]}},
            "sides: 'corners' must be one open line of the rim, got 4",
        ),
        (
            {"seam": {"sides": ["left", "bottom"]}, "cells": [4, 4]},
            "sides: 'left' and 'bottom' must be as long, got 0.2 and 0.4",
        ),
        (
            {"seam": {"sides": ["left", "bottom"]}, "cells": [4, 4], "size": [0.2, 0.2]},
            "sides: 'left' and 'bottom' must have no node in common, got node 0",
        ),
        ({"seam": {"stiffness": -1.0}}, "stiffness"),
        ({"cloth": {"bending_stiffness": -1.0}}, "bending_stiffness"),
        (
            {"cloth": {"youngs_modulus": None}},
            "youngs_modulus, tensile_stiffness: needs one of both, got none",
        ),
        (
            {"cloth": {"tensile_stiffness": 1.0}},
            "youngs_modulus, tensile_stiffness: needs one of both, got both",
        ),
        (
            {"cloth": {"material": "fabric"}},
            'warp: material = "fabric" needs the file of this curve, got none',
        ),
        ({"cloth": {"warp": "a.csv"}}, 'warp: is of material = "fabric", got another one'),
        (
            {"cloth": {"bending": "fabric", "bending_stiffness": 1.0}},
            'bending_stiffness: bending = "fabric" needs both stiffnesses, got none along the weft',
        ),
        (
            {"cloth": {"folds": [{"start": [0.01, 0.0], "end": [0.01, 0.2], "angle": 1.0}]}},
            "folds.0: must lie on edges between triangles, got a line with none on it",
        ),
        (
            {"cloth": {"folds": [{"start": [0.2, 0.0], "end": [0.2, 0.2], "angle": 4.0}]}},
            "folds.0.angle: must be less than half a turn, got 4 rad",
        ),
        (
            {
                "cloth": {
                    "bending": "quadratic",
                    "folds": [{"start": [0.2, 0], "end": [0.2, 0.2], "angle": 1}],
                }
            },
            'bending: "quadratic" is for sheets that are flat at rest, got a fold of 1 rad',
        ),
    ],
)
def test_bad_blocks_are_refused(more: dict[str, Any], said: str) -> None:
    state = ROLLED | {key: value for key, value in more.items() if key in ("cells", "size")}
    seams = [SEAM | more["seam"]] if "seam" in more else []
    with pytest.raises(mg.UserError) as refused:
        mg.load(sheet_scene(state, more.get("cloth"), LEAPFROG, more=seams))
    assert said in str(refused.value)


def flapping(tmp_path: Path, stepper: dict[str, Any], steps: int, **more: Any) -> Path:
    """A neo-Hookean sheet in the wind, held at one side."""
    air = [{"kind": "air_drag", "wind": [2.0, 0.5, 1.0]}]
    scene = sheet_scene(
        {"cells": [4, 2]},
        {"material": "neo_hookean", "youngs_modulus": 2e4},
        stepper,
        hold=[{"body": "left", "field": "x"}],
        energy=WEIGHT,
        dissipation=air,
        run={"steps": steps},
        observe=[{"kind": "frames", "every": steps}],
    )
    (tmp_path / "a.toml").write_text(toml_text(scene | more))
    return tmp_path / "a.toml"


def test_engines_agree(tmp_path: Path) -> None:
    assert_engines_agree(flapping(tmp_path, LEAPFROG, 20), tmp_path / "both")


@pytest.mark.parametrize("stepper", ["leapfrog", "implicit_euler", "bdf2"])
def test_steps_in_single_precision_and_the_check(tmp_path: Path, stepper: str, invoke) -> None:
    """f32 follows f64 to 1e-4 of the size, and `check` has no findings, for explicit and implicit steps."""
    dt, steps = (1e-3, 40) if stepper == "leapfrog" else (1e-2, 4)
    path = flapping(tmp_path, {"kind": stepper, "dt": dt}, steps)
    last = [
        mg.run(path, {"runtime.precision": precision}, out=tmp_path / precision)["position"][-1]
        for precision in ("f32", "f64")
    ]
    assert np.abs(last[0] - last[1]).max() < 1e-4
    assert np.abs(last[1][:, 2]).max() > 1e-3
    code, out, _ = invoke("check", path)
    assert code == 0, out
    assert " 0 findings" in out


EDGE = 6
"""The node in the middle of the side `bottom`, of 4 x 2 cells."""
BY = ["cloth.thickness", "cloth.youngs_modulus", "cloth_bend.stiffness"]


@pytest.mark.parametrize("cloth", [{}, {"bending_stiffness": 3e-4, "bending": "quadratic"}])
def test_a_draped_edge_by_stiffness_and_thickness(cloth: dict[str, Any]) -> None:
    """A sheet that sags between two held sides: the middle of its edge by E and t, as differences are."""
    pytest.importorskip("torch")
    import minusgrad.torch

    scene = sheet_scene(
        {"cells": [4, 2]},
        {"youngs_modulus": 2e6} | cloth,
        hold=[{"body": ["left", "right"], "field": "x"}],
        energy=WEIGHT,
    )
    rest = minusgrad.torch.equilibrium(scene)
    start = {name: rest.start(name).requires_grad_() for name in (BY if cloth else BY[:2])}
    rest(start)["x"][EDGE, 2].backward()
    for name in start:
        value, exact = start[name].detach(), float(start[name].grad * start[name].detach())

        def tip(size: float, name: str = name, value: Any = value) -> float:
            moved = {key: one.detach().clone() for key, one in start.items()}
            moved[name] = value * (1.0 + size)
            return rest(moved)["x"][EDGE, 2].item()

        h = 1e-2
        slopes = [(tip(k * h) - tip(-k * h)) / (2.0 * k * h) for k in (1, 2, 3)]
        found = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
        assert abs(exact - found) < 1e-8 * abs(found) + 1e-12, name
