"""Three parts from a drawing to a job to its replay, each by one command: a comb, a gear, a coaster."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad_laser.machine.profile import SHIPPED

DATA = Path(__file__).parents[2] / "scenes" / "data"
Invoke = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.exam


def made(invoke: Invoke, folder: Path, name: str, machine: str | Path = "grbl_diode") -> dict:
    """What the command says of a part, by the names of its scores, once its file is written and replayed."""
    table, out = DATA / f"{name}.layers.toml", folder / f"{name}.gcode"
    code, text, err = invoke(
        "laser", DATA / f"{name}.svg", "--layers", table, "--machine", machine, "-o", out, "--json"
    )
    assert code == 0, err
    said = json.loads(text)
    assert (said["violations"], said["burns"], said["remarks"]) == ([], [], [])
    assert out.is_file()
    return {one["mode"]: one for one in said["layers"]} | {"scores": said["scores"], "text": out.read_text()}


def test_a_comb_of_twenty_teeth_fits(invoke: Invoke, tmp_path: Path) -> None:
    """Its edges are within 1 um but for corners, of which the worst is 20 um off."""
    part = made(invoke, tmp_path, "comb")
    cut = part["cut"]
    assert cut["edge_mean"] < 0.5e-6
    assert cut["edge_95"] < 1e-6
    assert cut["edge_largest"] < 20e-6
    assert cut["edge_missing"] == 0.0
    assert part["score"]["way"] == pytest.approx(74e-3)
    assert part["text"].index("; score") < part["text"].index("; cut")


@pytest.mark.long
@pytest.mark.parametrize("spot", ['"100 um"', '["60 um", "150 um"]'], ids=["round", "elliptical"])
def test_a_comb_at_constant_power(invoke: Invoke, tmp_path: Path, spot: str) -> None:
    """Corners do not burn, and an elliptical spot makes no difference to the size."""
    profile = (SHIPPED / "grbl_m3.toml").read_text()
    machine = tmp_path / "mine.toml"
    machine.write_text(re.sub(r'spot = ".*?"', f"spot = {spot}", profile))
    part = made(invoke, tmp_path, "comb", machine)
    assert part["cut"]["edge_mean"] < 1e-6
    assert part["cut"]["edge_largest"] < 25e-6
    assert float(part["scores"]["over-burn, largest"]) < 1.8


@pytest.mark.long
def test_a_gear_has_its_teeth_and_its_bore(invoke: Invoke, tmp_path: Path) -> None:
    cut = made(invoke, tmp_path, "gear")["cut"]
    assert cut["edge_mean"] < 2e-6
    assert cut["edge_largest"] < 20e-6


@pytest.mark.long
def test_a_coaster_is_engraved_then_scored_then_cut(invoke: Invoke, tmp_path: Path) -> None:
    part = made(invoke, tmp_path, "coaster")
    assert part["engrave"]["overlap"] > 0.99
    assert part["engrave"]["edge_mean"] < 7e-6
    assert part["score"]["marked"] == 1.0
    assert part["cut"]["edge_mean"] < 1e-6
    text = part["text"]
    assert text.index("; engrave") < text.index("; score") < text.index("; cut")
