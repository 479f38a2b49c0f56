"""`minusgrad info` of drawings: what they contain, as numbers known on paper."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad_laser.drawings.description import describe_drawing

from . import dxf_texts as dxf
from .test_lightburn import path, project, setting, shape

pytestmark = pytest.mark.unit
NOTE = [(0, "TEXT"), (8, "notes"), (10, 0), (20, 0), (40, 5), (1, "A4")]


def test_a_dxf_on_paper() -> None:
    """A circle of radius 5 and a line of 3 on two layers, a text, and a layer that is off."""
    parts = [dxf.circle(0, 0, 5, "cut"), dxf.line(0, 0, 3, 0, "score"), NOTE, dxf.line(0, 0, 1, 0, "off")]
    layers = [dxf.layer("cut", 1), dxf.layer("score", 5), dxf.layer("off", -1)]
    found = describe_drawing("a.dxf", dxf.drawing(*parts, layers=layers))
    assert found["drawing"] == "2 outlines: 1 closed, 1 open"
    assert found["unit"] == "mm, as the file says"
    assert found["size"] == {"width": pytest.approx(0.01), "height": pytest.approx(0.01)}
    assert found["length of lines"] == pytest.approx(0.01 * np.pi + 0.003, rel=1e-3)
    assert found["layers"] == [
        {
            "layer": "cut",
            "closed": 1,
            "open": 0,
            "length": pytest.approx(0.0314, rel=1e-2),
            "colour": "#ff0000",
        },
        {"layer": "score", "closed": 0, "open": 1, "length": pytest.approx(0.003), "colour": "#0000ff"},
    ]
    assert [one["colour"] for one in found["colours"]] == ["#ff0000", "#0000ff"]
    assert found["not read"] == [{"kind": "TEXT", "layer": "notes", "number": 1}]
    assert found["remark"] == ["1 objects on layer 'off' are left out: off"]


def test_a_dxf_without_a_unit_is_described_in_its_own() -> None:
    found = describe_drawing("a.dxf", dxf.drawing(dxf.line(0, 0, 30, 40), unit=None))
    assert found["size"] == {"width": pytest.approx(30.0), "height": pytest.approx(40.0)}
    assert found["unit"].startswith("not stated in the file")
    assert found["lengths below"] == "in the file's unit"


def test_a_project_of_lightburn_on_paper() -> None:
    cut = setting(1, name="Outer", maxPower=80, minPower=10, speed=20, numPasses=2, priority=3, runBlower=1)
    shapes = shape("Rect", index=1, W=4, H=3), shape("Rect", index=4, W=1, H=1), shape("Bitmap", index=1)
    data = project(cut, setting(4, doOutput=0), *shapes, path("V0 9V3 9", "L0 1", index=1))
    found = describe_drawing("a.lbrn2", data)
    outer, other = found["layers"]
    assert outer == {
        "layer": "Outer", "closed": 1, "open": 1, "length": pytest.approx(0.017), "colour": "#0000ff",
        "mode": "cut", "power": 0.8, "least power": 0.1, "speed": pytest.approx(0.02), "passes": 2,
        "order": 3, "air": True,
    }  # fmt: skip
    assert other == {
        "layer": "C04", "closed": 0, "open": 0, "length": 0.0, "colour": "#d0d000", "mode": "cut",
        "output": False,
    }  # fmt: skip
    assert found["not read"] == [{"kind": "Bitmap", "layer": "Outer", "number": 1}]


def test_a_page_of_svg() -> None:
    page = '<svg xmlns="http://www.w3.org/2000/svg" width="4mm" height="3mm" viewBox="0 0 40 30">'
    found = describe_drawing("a.svg", (page + '<rect x="10" y="5" width="20" height="10"/></svg>').encode())
    assert found["size"] == {"width": pytest.approx(0.004), "height": pytest.approx(0.003)}
    assert found["drawing"] == "1 outlines: 1 closed, 0 open"
    assert found["length of lines"] == pytest.approx(0.006)


def test_the_command(tmp_path: Path, invoke: Any) -> None:
    (tmp_path / "a.dxf").write_bytes(dxf.drawing(dxf.circle(0, 0, 5), NOTE))
    code, out, _ = invoke("info", tmp_path / "a.dxf")
    assert code == 0
    assert "drawing: 1 outlines: 1 closed, 0 open" in out
    assert "TEXT" in out
    code, out, _ = invoke("info", tmp_path / "a.dxf", "--json")
    assert json.loads(out)["size"]["width"] == pytest.approx(0.01)
    (tmp_path / "b.dxf").write_bytes(b"")
    code, out, err = invoke("info", tmp_path / "b.dxf")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "is empty" in err
