"""`minusgrad modes` and `minusgrad buckling` on runs of rods, from files, beside paper; slopes of tones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import minusgrad as mg
from minusgrad.app import runs
from minusgrad.potential.argument_values import argument_values, set_argument_values
from minusgrad.potential.hessians.mode_curvature import ModeCurvature
from minusgrad.steppers.stability.normal_modes import NormalModes, normal_modes
from tests.support.rods import DENSITY, YOUNG, rod_scene
from tests.support.toml_scenes import toml_text

FLAT = {"kind": "rectangle", "width": 0.02, "height": 0.03}
AREA, MOMENT = 0.02 * 0.03, 0.03 * 0.02**3 / 12.0
EULER = np.pi**2 * YOUNG * MOMENT / 4.0


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a column of 12 elements that is pressed a little, in the folder `column`."""
    monkeypatch.chdir(tmp_path)
    state = {"elements": 12, "section": FLAT, "inertia": "bending"}
    scene = rod_scene(state, tip=[-1e-3 * EULER, 0.0, 0.0], checkpoint={"every": 1}, title="column")
    Path("column.toml").write_text(toml_text(scene))
    runs.run("column.toml", out="column")
    return Path("column")


def test_modes_of_a_cantilever(run: Path, invoke: Callable) -> None:
    """1.875104^2 / 2 pi sqrt(EI / rho A) of the weak direction, in nodes and frames."""
    code, out, err = invoke("modes", run, "--json", "--mode", 1, "--count", 4)
    assert (code, err) == (0, "")
    found = json.loads(out)
    exact = 1.875104068712**2 / (2.0 * np.pi) * np.sqrt(YOUNG * MOMENT / (DENSITY * AREA))
    assert found["at_rest"]
    assert found["modes"][0]["hertz"] / exact == pytest.approx(1.0, abs=8e-3)
    assert np.shape(found["displacements"]["x"]) == (13, 3)
    assert np.shape(found["displacements"]["q"]) == (12, 4)


@pytest.mark.long
def test_buckling_of_a_column(run: Path, invoke: Callable) -> None:
    """pi^2 EI / 4 L^2, in proportion to Young's modulus; pictures of both commands."""
    young = "rod.youngs_modulus"
    code, out, err = invoke("buckling", run, "--gradient", young, "--mode", 1, "--count", 1)
    assert (code, err) == (0, "")
    assert f"per unit of {young}, 1 % for each percent" in out
    assert "a bifurcation, followed from the state without load" in out
    critical = next(line for line in out.splitlines() if line.startswith("critical factor"))
    assert float(critical.split()[2].rstrip(",")) * 1e-3 == pytest.approx(1.0, abs=2e-3)
    assert invoke("modes", run, "--mode", 1, "--count", 4)[0] == 0
    for name in ("modes.png", "mode_1.gif", "buckling_modes.png", "buckling_mode_1.gif"):
        with Image.open(run / "pictures" / name) as picture:
            assert min(picture.size) > 300


THICK = {"kind": "rectangle", "width": 0.1, "height": 0.15}
BENT = {"kind": "rod_circle", "elements": 8, "radius": 0.5, "angle": np.pi / 2.0, "section": THICK}
BY = ["rod.youngs_modulus", "rod.shear_modulus", "rod_bends.second_moments", "rod_bends.torsion"]


def lowest_modes(made: mg.Simulation) -> NormalModes:
    return normal_modes(made.potential, made.state.motions, made.holds, count=3)


def test_slopes_of_a_tone() -> None:
    """d omega^2 / dp = d(phi . H phi) / dp of a curved cantilever at rest, beside differences: to 1e-8."""
    made = mg.load(rod_scene(BENT, {"shear": True}))
    found = lowest_modes(made)
    mode = {name: shapes[0] for name, shapes in found.shapes.items()}
    curvature = ModeCurvature(made.potential.terms, ["x", "q"], made.potential.map_outputs)
    assert curvature.value(mode, 0.0) == pytest.approx(found.eigenvalues[0], rel=1e-9)
    for name, slope in curvature.derivatives(mode, BY, 0.0).items():
        values = argument_values(made.potential, name)
        way = values * np.random.default_rng(1).uniform(0.5, 1.5, values.shape)

        def square(h: float, name: str = name, values: Any = values, way: Any = way) -> float:
            set_argument_values(made.potential, name, values + h * way)
            lowest = float(lowest_modes(made).eigenvalues[0])
            set_argument_values(made.potential, name, values)
            return lowest

        slopes = [(square(k * 1e-2) - square(-k * 1e-2)) / (2e-2 * k) for k in (1, 2, 3)]
        differences = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
        assert abs(np.sum(slope * way) / differences - 1.0) < 1e-8, name
