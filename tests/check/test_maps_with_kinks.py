"""Maps whose elements have kinks close together: right gradients are left in peace, wrong ones are found.

Each mistake is made in one branch: a term is dropped, or has the wrong sign.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.check import term_check
from minusgrad.engine import runtime
from minusgrad_mpm.boundaries import grid_velocity, obstacle_contact, wall_contact
from minusgrad_rendering.refraction import refracted
from tests.support.pond import pond

runtime.start()
CELLS = 1500
Change = Callable[[Any, np.ndarray], np.ndarray]
"""Of fields by name and a derivative by one of them: what a mistake makes of it."""


def velocities() -> dict[str, np.ndarray]:
    """Cells, a third of which lie within a ball, and a third within walls; many do not move along a wall."""
    rng = np.random.default_rng(1)
    V = rng.normal(size=(CELLS, 2))
    V[::5, 0] = 0.0
    normal = rng.normal(size=(CELLS, 2)) * (rng.random(CELLS) < 0.3)[:, None]
    wall = rng.choice([-1.0, 0.0, 1.0], (CELLS, 2), p=[0.15, 0.7, 0.15])
    lengths = np.linalg.norm(normal, axis=1, keepdims=True)
    return {"V": V, "obstacle": normal / np.where(lengths > 0.0, lengths, 1.0), "wall": wall}


def of_obstacle() -> Potential:
    found = velocities()
    fields = Fields({name: found[name] for name in ("V", "obstacle")})
    return Potential(fields, [], [bind(obstacle_contact, fields)])


def of_walls() -> Potential:
    found = velocities()
    fields = Fields({name: found[name] for name in ("V", "wall")})
    return Potential(fields, [], [bind(wall_contact, fields, parameters={"friction": [0.4, 0.0]})])


def of_matter() -> Potential:
    """Masses from full cells to the rim of the matter, where they are a hundred-millionth of a full one."""
    rng = np.random.default_rng(2)
    mass = 10.0 ** rng.uniform(-14.0, 0.0, 400) * (rng.random(400) < 0.7)
    fields = Fields({"p": mass[:, None] * rng.normal(size=(400, 2)), "mass": mass})
    given = {"gravity": [0.0, -9.8], "tiny": 1e-10, "dt": 1e-3}
    return Potential(fields, [], [bind(grid_velocity, fields, parameters=given)])


def of_pond() -> Potential:
    """A surface that is level at first, so that all rays meet the middle of a cell."""
    made = pond(16)
    made.fields["height"].set(np.full(256, 2.5))
    one = next(m for m in made.potential.maps.values() if m.energy.name == refracted.name)
    return Potential(made.fields, [], [one])


def failed(potential: Potential) -> set[str]:
    return {f"{f.argument}: {f.question}" for f in term_check.of_potential(potential) if not f.passed}


def rows_where(branch: Callable[[Any], np.ndarray], factor: float) -> Change:
    """A derivative times a factor in the rows of a branch: -1 is a wrong sign."""

    def change(fields: Any, right: np.ndarray) -> np.ndarray:
        rows = branch(fields)
        assert 0 < rows.sum() < len(rows)
        return np.where(rows.reshape(-1, *[1] * (right.ndim - 1)), factor * right, right)

    return change


def enters(fields: Any) -> np.ndarray:
    return (fields["V"].values * fields["obstacle"].values).sum(axis=1) < 0.0


def meets(fields: Any) -> np.ndarray:
    return (fields["V"].values * fields["wall"].values < 0.0).any(axis=1)


def is_rim(fields: Any) -> np.ndarray:
    mass = fields["mass"].values
    return mass < np.median(mass)


def without_contact(fields: Any, right: np.ndarray) -> np.ndarray:
    """The gradient as if nothing met the obstacle: the term of the contact is dropped."""
    return np.where(enters(fields)[:, None], fields["probe_weight"].values, right)


def with_wrong_sign(fields: Any, right: np.ndarray) -> np.ndarray:
    """The term of the contact with the wrong sign."""
    return 2.0 * fields["probe_weight"].values - right


def right_half(fields: Any) -> np.ndarray:
    return np.arange(len(fields["height"])) % 16 >= 8


MAPS = {"obstacle": of_obstacle, "walls": of_walls, "matter": of_matter, "pond": of_pond}
MISTAKES = {
    "obstacle, dropped": ("obstacle", "V", "gradient", without_contact, "taylor"),
    "obstacle, sign": ("obstacle", "V", "gradient", with_wrong_sign, "taylor"),
    "walls, sign": ("walls", "V", "gradient", rows_where(meets, -1.0), "taylor"),
    "walls, a hundredth": ("walls", "wall", "gradient", rows_where(meets, 1.01), "taylor"),
    "walls, product, sign": ("walls", "wall", "product", rows_where(meets, -1.0), "product"),
    "walls, product, dropped": ("walls", "wall", "product", rows_where(meets, 0.0), "product"),
    "matter, sign": ("matter", "mass", "gradient", rows_where(is_rim, -1.0), "taylor"),
    "matter, dropped": ("matter", "mass", "gradient", rows_where(is_rim, 0.0), "taylor"),
    "matter, product": ("matter", "mass", "product", rows_where(is_rim, -1.0), "product"),
    "pond, sign": ("pond", "height", "gradient", rows_where(right_half, -1.0), "taylor"),
    "pond, dropped": ("pond", "height", "gradient", rows_where(right_half, 0.0), "taylor"),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_right_gradient_is_left_in_peace(name: str) -> None:
    assert failed(MAPS[name]()) == set()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_branch_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, field, derivative, change, question = MISTAKES[name]
    right = getattr(Potential, derivative)

    def wrong(self: Potential, *args: Any) -> np.ndarray:
        found, by = right(self, *args), args[0] if derivative == "gradient" else args[1]
        return change(self.fields, found) if by == field and "probe_weight" in self.fields else found

    potential = MAPS[subject]()
    monkeypatch.setattr(Potential, derivative, wrong)
    findings = term_check.of_potential(potential)
    assert any((f.argument, f.question) == (field, question) and not f.passed for f in findings)
