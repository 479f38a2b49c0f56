"""A function of Taichi is taken by whatever name an energy reaches it; for others the cure is named."""

import importlib.util
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.errors import MinusgradError
from minusgrad.symbolic.plain_python import evaluate

HEAD = """import math, numpy as np
import minusgrad as mg
import minusgrad.plugin as kit
import taichi
from math import cos as pythons
from taichi import cos as theirs, math as tm
from minusgrad import Node, Parameter, local_energy

own, held = mg.ti.cos, {"cos": mg.ti.cos}


class Box:
    cos = mg.ti.cos


@local_energy("e", over="nodes", q=Node(), k=Parameter())
def e(q, k):
    return k * """
COSINES = (
    "mg.ti.cos(q[0])", "mg.ti.math.cos(q[0])", "kit.ti.cos(q[0])", "taichi.cos(q[0])", "theirs(q[0])",
    "tm.cos(q[0])", "own(q[0])", 'held["cos"](q[0])', "Box.cos(q[0])",
    "mg.ti.Vector([mg.ti.cos(q[0])]).sum()", "mg.ti.select(q[0] > 0.0, mg.ti.cos(q[0]), 0.0)",
    "mg.ti.cast(mg.ti.cos(q[0]), mg.ti.f64)",
    "mg.ti.cos(q[0]) * mg.ti.math.pi / math.pi",
)  # fmt: skip
REFUSED = {
    "math.cos(q[0])": "math.cos: cannot take a value of the kernel; write ti.cos (from minusgrad import ti)",
    "pythons(q[0])": "pythons: cannot take a value of the kernel; write ti.cos (from minusgrad import ti)",
    "np.cos(q[0])": "np.cos: cannot take a value of the kernel; write ti.cos (from minusgrad import ti)",
    "mg.ti.random() * q[0]": "ti.random: differs at every call; draw it in Python and pass it as a Datum",
    "mg.ti.sinn(q[0])": "ti.sinn: is not in the language of energies; did you mean 'sin'?",
}


def written(folder: Path, body: str) -> ModuleType:
    """The module with this energy."""
    (folder / "mine.py").write_text(f"{HEAD}{body}\n")
    spec = importlib.util.spec_from_file_location("mine", folder / "mine.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bound(module: Any) -> Potential:
    fields = Fields({"q": np.array([0.5])})
    return Potential(fields, [bind(module.e, fields, parameters={"k": 2.0})])


def test_every_way_to_a_function_of_taichi_is_taken(tmp_path: Path) -> None:
    module = written(tmp_path, f"({' + '.join(COSINES)})")
    potential, count = bound(module), len(COSINES)
    assert potential.value() == pytest.approx(2.0 * count * math.cos(0.5), rel=1e-14)
    assert potential.gradient("q") == pytest.approx(-2.0 * count * math.sin(0.5), rel=1e-14)
    plain = evaluate(module.e.function, {"q": [0.5], "k": 2.0})
    assert plain == pytest.approx(2.0 * count * math.cos(0.5), rel=1e-14)


@pytest.mark.parametrize("body", REFUSED)
def test_another_function_is_refused_with_its_cure(tmp_path: Path, body: str) -> None:
    with pytest.raises(MinusgradError) as caught:
        bound(written(tmp_path, body)).value()
    assert str(caught.value).endswith(REFUSED[body])
