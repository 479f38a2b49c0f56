"""The constant of gravity: one default in energies, states and observers; what is said where it has none."""

import pytest

from minusgrad import build
from minusgrad.assembly.registry import Registry
from minusgrad.energies.roles import Parameter
from minusgrad.errors import SceneError
from minusgrad_gravity.constants import NEWTONS_CONSTANT

UNITS = {"length": "AU", "mass": "Msun", "time": "day"}
GRAVITY = Registry.load(["gravity"], [])


@pytest.mark.unit
def test_every_constant_has_the_same_default() -> None:
    energies = GRAVITY.energies().values()
    found = {f"{e.name}.G": e.roles["G"] for e in energies if "G" in getattr(e, "roles", {})}
    assert len(found) > 2
    assert {
        name: role.default for name, role in found.items() if isinstance(role, Parameter)
    } == dict.fromkeys(found, NEWTONS_CONSTANT)
    models = {
        f"{section} {kind}": entry.model.model_fields["G"]
        for section in ("state", "observe")
        for kind, entry in GRAVITY.tables[section].items()
        if "G" in getattr(entry.model, "model_fields", {})
    }
    assert len(models) > 7
    assert {name: field.default for name, field in models.items()} == dict.fromkeys(models, NEWTONS_CONSTANT)


def scene(units: object, **state: object) -> dict[str, object]:
    orbit = {"kind": "two_body", "masses": [1.0, 1e-3], "semi_major_axis": 1.0, "eccentricity": 0.3}
    energy = {"kind": "gravity"} if units is UNITS else {"kind": "gravity", "G": 1.0}
    stepper = {"kind": "leapfrog", "dt": 0.01}
    return {
        "units": units,
        "state": orbit | state,
        "energy": [energy],
        "stepper": stepper,
        "run": {"steps": 1},
    }


def test_left_out_in_state_and_energy_it_is_one_number() -> None:
    """An orbit that is closed by both: -G m1 m2 / 2a is the energy."""
    simulation = build(scene(UNITS))
    m, v = simulation.fields["m"].values, simulation.fields["v"].values
    kinetic = 0.5 * float((m * (v**2).sum(axis=1)).sum())
    G = float(simulation.potential.parameter("gravity.G"))
    assert pytest.approx(0.01720209895**2, rel=1e-4) == G  # the square of that of Gauss
    assert simulation.potential.value() + kinetic == pytest.approx(-G * m[0] * m[1] / 2.0, rel=1e-12)


def test_in_a_dimensionless_scene_it_must_be_given() -> None:
    with pytest.raises(SceneError) as caught:
        build(scene({"system": "dimensionless"}))
    assert "state: G: its default cannot be used: '6.67430e-11 m^3 kg^-1 s^-2' has a unit" in str(
        caught.value
    )
    assert build(scene({"system": "dimensionless"}, G=1.0)).stepper.step == 0
