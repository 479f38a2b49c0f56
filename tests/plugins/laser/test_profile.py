"""Profiles of machines: those that are shipped, and what a file of one's own is refused for."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from minusgrad.errors import SceneError, UserError
from minusgrad.scene.key_descriptions import descriptions
from minusgrad_laser.machine.profile import SHIPPED, Profile, shipped
from minusgrad_laser.machine.profile_table import ProfileTable

pytestmark = pytest.mark.unit
DIODE = (SHIPPED / "grbl_diode.toml").read_text()


def loaded(folder: Path, text: str) -> Profile:
    (folder / "machine.toml").write_text(text)
    return Profile.load(folder / "machine.toml")


def refused(folder: Path, text: str) -> str:
    with pytest.raises(SceneError) as caught:
        loaded(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


def test_shipped_profiles():
    assert shipped() == [
        "fluidnc_diode",
        "grbl_diode",
        "grbl_m3",
        "linuxcnc_co2",
        "marlin_diode",
        "smoothie_co2",
        "two_photon",
    ]
    diode = Profile.load("grbl_diode")
    expected = Profile("GRBL diode engraver", field=(0.3, 0.3), lines_per_second=500.0)
    assert diode == expected
    assert diode.waists == (5e-5, 5e-5)
    assert diode.line_time == 2e-3
    assert not Profile.load("grbl_m3").dynamic_power
    marlin = Profile.load("marlin_diode")
    assert (marlin.jerk, marlin.junction_deviation, marlin.dialect) == ((0.01, 0.008), None, "marlin")
    assert Profile.load("two_photon").waists == pytest.approx((2.5e-7, 2.5e-7))


def test_a_file_says_every_key(tmp_path: Path):
    """One value stands for both axes; what is left out is as the dataclass says, and infinite limits are."""
    text = """
        name = "mine"
        dialect = "marlin"
        dynamic_power = false
        field = ["1 m", "20 cm"]
        pixel = "50 um"
        spot = ["0.2 mm", "150 um"]
        decimals = 4
        speed = "6000 mm/min"
        acceleration = ["1 m/s^2", "500 mm/s^2"]
        jerk = ["8 mm/s", "0.6 m/min"]
        power = ["50 mW", "10 W"]
        power_slew = "2 kW/s"
        bits = 10
        power_scale = 100.0
        startup_power = 0.6
        fan_pin = true
        minimum_dwell = "1 ms"
        blanking = false
        latency = "-20 us"
        backlash = "0.1 mm"
        planner_blocks = 32
        lines_per_second = 250
        focus_axis = true
        threshold = "11 J/cm^2"
        exponent = 1.2
        reference = "1 GW/m^2"
        kerf = ["90 um", "0.2 mm"]
    """
    found = asdict(loaded(tmp_path, text))
    expected = Profile(
        "mine", "marlin", False, (1.0, 0.2), 5e-5, (2e-4, 1.5e-4), 4, (0.1, 0.1), (1.0, 0.5), None,
        (8e-3, 0.01), (0.05, 10.0), 2e3, 10, 100.0, 0.6, True, 1e-3, False, -2e-5, (1e-4, 1e-4), 32, 250.0,
        True, 1.1e5, 1.2, 1e9, (9e-5, 2e-4),
    )  # fmt: skip
    for key, value in asdict(expected).items():
        assert found[key] == (value if isinstance(value, (str, bool)) else pytest.approx(value)), key
    assert set(found) == set(ProfileTable.model_fields)


def test_every_key_has_a_description():
    assert set(descriptions(ProfileTable)) == set(ProfileTable.model_fields)


def test_the_page_has_every_key():
    page = (Path(__file__).parents[3] / "docs/laser-machines.md").read_text()
    table = page[page.index("| key |") : page.index("## How limits are kept")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(ProfileTable.model_fields)


@pytest.mark.parametrize(("there", "instead", "message"), [
    ('speed = "100 mm/s"', "speed = 100", '8:9: speed: needs a unit, got 100; write it as "100 mm/s"'),
    ('speed = "100 mm/s"', 'speed = ["1 m/s", 2.5]',
     '8:9: speed: needs a unit, got 2.5; write it as "100 mm/s"'),
    ('speed = "100 mm/s"', 'speed = "0 mm/s"', "8:9: speed: needs a quantity above 0, not '0 mm/s'"),
    ('speed = "100 mm/s"', 'speed = "1 mm"',
     "8:9: speed: '1 mm' is a length, but 'm s^-1' (speed) is needed"),
    ('speed = "100 mm/s"', 'speed = ["1 m/s"]', "8:9: speed.1: required, but missing"),
    ('speed = "100 mm/s"', "", "1:1: speed: required, but missing"),
    ('["0 W", "5 W"]', '["5 W", "1 W"]',
     "11:9: power: the most must exceed the least, got 5 W and 1 W; swap them"),
    ("bits = 8", "bits = 0", "12:8: bits: needs a whole number of at least 1 and of at most 24, not 0"),
    ("bits = 8", 'backlash = ["0 m", "-1 mm"]',
     "12:20: backlash.1: needs a quantity of at least 0, not '-1 mm'"),
    ("= 500", "= inf", "14:20: lines_per_second: needs a finite number, not inf"),
    ("bits = 8", 'jerk = "1 mm/s"',
     "12:8: jerk: is a limit of Marlin, got dialect 'grbl'; leave it out, or write dialect = \"marlin\""),
    ("bits = 8", "fan_pin = true",
     "12:11: fan_pin: is a pin of Marlin, got dialect 'grbl'; leave it out, or write dialect = \"marlin\""),
    ('junction_deviation = "0.01 mm"', "",
     "1:1: corners need a limit, got none; give junction_deviation, or jerk of Marlin"),
    ('"grbl"', '"gbrl"', "3:11: dialect: needs 'grbl', 'fluidnc', 'marlin', "),
    ("bits = 8", "startup_power = 0.5", "1:1: startup_power: GRBL is dark without S, got 0.5; leave it out"),
    ('"grbl"', '"linuxcnc"', "1:1: power_scale: LinuxCNC has no scale of its own, got none; give"),
    ("bits = 8", "bits = true", "12:8: bits: needs a whole number of at least 1 and of at most 24, not true"),
    ('"100 um"', '"nan um"', "7:8: spot: "),
    ('"100 um"', '["60 um", 150]', '7:8: spot: needs a unit, got 150; write it as "100 um"'),
    ('"100 um"', '["60 um", "0 um"]', "7:18: spot.1: needs a quantity above 0, not '0 um'"),
    ('"100 um"', '["60 um"]', "7:8: spot.1: required, but missing"),
    ("bits = 8", "bits =", "12:7: needs a value behind the equals sign, got none"),
])  # fmt: skip
def test_mistakes_are_refused_with_their_place(tmp_path: Path, there: str, instead: str, message: str):
    assert refused(tmp_path, DIODE.replace(there, instead, 1)).startswith(f"machine.toml:{message}")


def test_both_rules_for_corners(tmp_path: Path):
    text = DIODE.replace('"grbl"', '"marlin"') + 'jerk = "8 mm/s"\n'
    said = "machine.toml:15:8: jerk: limits corners, got junction_deviation, too; leave one of them out"
    assert refused(tmp_path, text) == said


def test_a_misspelt_key_is_reported_alone_and_together_with_one_that_is_missing(tmp_path: Path):
    misspelt = DIODE.replace("acceleration =", "aceleration =")
    said = refused(tmp_path, misspelt)
    assert said.startswith(
        "machine.toml:9:1: aceleration: no key 'aceleration'; did you mean 'acceleration'?"
    )
    assert "missing" not in said
    missing = "\n".join(line for line in misspelt.splitlines() if not line.startswith("speed ="))
    said = refused(tmp_path, missing)
    assert "1:1: speed: required, but missing" in said
    assert "aceleration: no key 'aceleration'; did you mean 'acceleration'?" in said
    assert "1:1: acceleration: required" not in said


def test_an_unknown_name_lists_the_shipped_ones():
    with pytest.raises(UserError) as caught:
        Profile.load("grbl_doide")
    assert str(caught.value) == (
        "machine: no shipped profile has this name, got 'grbl_doide'; take one of"
        " fluidnc_diode, grbl_diode, grbl_m3, linuxcnc_co2, marlin_diode, smoothie_co2, two_photon,"
        " or give the path of a TOML file"
    )
    with pytest.raises(UserError, match=r"^nowhere\.toml: cannot be read: No such file or directory$"):
        Profile.load("nowhere.toml")
