"""Searches of small parts: discs of half a millimetre, and thin lines in a draft."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import distance_transform_edt

import minusgrad
from minusgrad.plugin import StateContext, UnitSystem
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.search import recipe
from minusgrad_laser.targets.disc import Disc


def marked(table: str, target: np.ndarray, machine: Profile, steps: int, folder: Path) -> np.ndarray:
    """The cells (rows, columns) that a search marks."""
    scene = folder / "scene.toml"
    scene.write_text(recipe.text(recipe.Picture(table, target), machine, steps=steps))
    built = minusgrad.build(scene)
    built.stepper.begin()
    built.stepper.advance(steps)
    return built.fields["dose"].values.reshape(target.shape) > 0.5


@pytest.mark.parametrize(("machine", "steps"), [("grbl_diode", 60), ("marlin_diode", 150)])
def test_a_disc_of_half_a_millimetre(machine: str, steps: int, tmp_path: Path) -> None:
    profile, n = Profile.load(machine), 44
    target = Disc(radius="250 um").values(n, n, profile.pixel, StateContext(UnitSystem.si(), 0, tmp_path))
    found = marked('{ kind = "disc", radius = "250 um" }', target, profile, steps, tmp_path)
    wanted = target > 0.5
    assert (found & wanted).sum() / (found | wanted).sum() > 0.97


def test_a_draft_keeps_the_ends_of_thin_lines(tmp_path: Path) -> None:
    """Lines of 40 to 80 um, thinner than the spot of 100: each is marked up to a cell of its ends."""
    profile, target, ends = Profile.load("grbl_diode"), np.zeros((90, 90)), []
    for row, thick, long in [(8, 2, 60), (22, 3, 50), (36, 4, 40), (50, 2, 20), (64, 3, 10)]:
        target[row : row + thick, 12 : 12 + long] = 1.0
        ends += [(row + thick // 2, 12), (row + thick // 2, 11 + long)]
    Image.fromarray(((1.0 - target[::-1]) * 255).astype(np.uint8)).save(tmp_path / "lines.png")
    found = marked('{ kind = "image", file = "lines.png" }', target, profile, 60, tmp_path)
    far = distance_transform_edt(~found)
    assert max(far[end] for end in ends) <= 1.0
