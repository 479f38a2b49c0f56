"""Units against the defining values of the SI, IAU and CODATA, and every refusal by its text."""

import math
import random
from fractions import Fraction

import pytest

from minusgrad.errors import UnitError
from minusgrad.scene import units
from minusgrad.scene.units import (
    BASE,
    PREFIXES,
    UNITS,
    UnitSystem,
    number_with_unit,
    parse_quantity,
    parse_unit,
    pretty,
    reduce_unit,
    with_unit,
)

pytestmark = pytest.mark.unit

SI = UnitSystem.si()
ASTRO = UnitSystem.of(length="AU", mass="Msun", time="day")
NONE = UnitSystem.dimensionless()
MOLECULAR = UnitSystem.molecular()


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("3 m", "m", 3.0),
        ("0.1 mm", "m", 1e-4),
        ("5 day", "s", 432000.0),
        ("72 km/hour", "m s^-1", 20.0),
        ("1 AU", "m", 149597870700.0),
        ("1 kpc", "m", 3.0856775814913673e19),
        ("1 eV", "J", 1.602176634e-19),
        ("2 Myr", "s", 2e6 * 365.25 * 86400),
        ("1 u", "kg", 1.66053906892e-27),
        ("1 atm", "Pa", 101325.0),
        ("4 µs", "s", 4e-6),
        ("1 kcal/mol", "J mol^-1", 4184.0),
        ("180 deg", "rad", math.pi),
        ("50 %", "1", 0.5),
        ("1 T", "kg s^-2 A^-1", 1.0),
        ("6.67430e-11 m^3 kg^-1 s^-2", "N m**2 / kg**2", 6.67430e-11),
        ("4 m^1/2", "m^1/2", 4.0),
        ("1 s*m", "m s", 1.0),
        ("7", "1", 7.0),
        ("6.02214076 kJ/mol", "J", 1e-20),
        ("90 kcal/mol", "J", 90.0 * 4184.0 / 6.02214076e23),
        ("1000 kJ mol^-1 nm^-2", "N/m", 1e6 * 1e18 / 6.02214076e23),
        ("18 g/mol", "kg", 0.018 / 6.02214076e23),
        ("3 micron", "m", 3e-6),
        ("360 deg/s", "rad/s", 2.0 * math.pi),
        ("5 THz", "s^-1", 5e12),
        ("5 Hz", "Hz", 5.0),
        ("5 mrad/s", "rad/s", 0.005),
    ],
)
def test_quantities_in_si(text: str, unit: str, expected: float) -> None:
    assert SI.convert(text, unit) == pytest.approx(expected, rel=4e-16)


def test_the_suns_nominal_gm_comes_back() -> None:
    assert 6.67430e-11 * SI.convert("1 Msun", "kg") == pytest.approx(1.3271244e20, rel=4e-16)


@pytest.mark.parametrize("system", [SI, ASTRO, NONE])
def test_numbers_are_already_in_the_system(system: UnitSystem) -> None:
    assert system.convert(0.1, "m") == 0.1
    assert system.convert(3, "m") == 3.0


def test_a_quantity_in_the_systems_own_unit_is_exact() -> None:
    rng = random.Random(1)
    for _ in range(300):
        value = rng.uniform(-1, 1) * 10 ** rng.randint(-20, 20)
        for unit in ("AU", "Msun", "day", "AU/day", "AU^3 Msun^-1 day^-2"):
            assert ASTRO.convert(f"{value!r} {unit}", unit) == value


def test_to_si_and_back_is_a_round_trip() -> None:
    rng = random.Random(2)
    for _ in range(300):
        value = rng.uniform(0.1, 10)
        there = SI.convert(f"{value!r} AU/day", "m/s")
        assert ASTRO.convert(f"{there!r} m/s", "m/s") == pytest.approx(value, rel=3e-16)
        assert there / ASTRO.in_si("m/s") == pytest.approx(value, rel=3e-16)


@pytest.mark.parametrize(
    ("system", "unit", "symbol", "si"),
    [
        (ASTRO, "m s^-1", "AU day^-1", 149597870700 / 86400),
        (ASTRO, "J", "AU^2 Msun day^-2", None),
        (ASTRO, "K", "K", 1.0),
        (ASTRO, "1", "1", 1.0),
        (SI, "J", "m^2 kg s^-2", 1.0),
        (NONE, "J", "1", 1.0),
        (UnitSystem.of(length="km"), "m^1/2", "km^1/2", math.sqrt(1000)),
        (MOLECULAR, "J", "kJ/mol", 1e3 / 6.02214076e23),
        (MOLECULAR, "C", "e", 1.602176634e-19),
        (MOLECULAR, "m s^-1", "angstrom ps^-1", 100.0),
        (MOLECULAR, "N", "kJ mol^-1 angstrom^-1", 1e13 / 6.02214076e23),
        (MOLECULAR, "N m^2 C^-2", "kJ mol^-1 angstrom e^-2", 1e-7 / 6.02214076e23 / 1.602176634e-19**2),
        (MOLECULAR, "kg", "kJ mol^-1 angstrom^-2 ps^2", 0.1 / 6.02214076e23),
    ],
)
def test_coherent_units(system: UnitSystem, unit: str, symbol: str, si: float | None) -> None:
    assert system.symbol(unit) == symbol
    assert system.in_si(unit) == pytest.approx(si or SI.convert(f"1 {symbol}", unit), rel=4e-16)


def test_the_molecular_system() -> None:
    """Constants of chemistry, written here: R, 1 / (4 pi eps0) by OpenMM, g/mol in place of u."""
    assert MOLECULAR.convert("1.380649e-23 J/K", "J/K") == pytest.approx(8.31446261815324e-3, rel=1e-14)
    coulomb = MOLECULAR.convert("8.9875517862e9 N m^2 C^-2", "N m^2 C^-2")
    assert coulomb == pytest.approx(1389.3545764438198, rel=2e-9)
    assert MOLECULAR.convert("1 g/mol", "kg") == pytest.approx(0.01, rel=1e-15)
    assert MOLECULAR.convert("0.5 e", "C") == 0.5
    assert MOLECULAR.convert("1 kcal/mol", "J") == 4.184
    assert MOLECULAR.convert(2.5, "J") == 2.5


def test_figures_in_reports_have_units_that_have_names() -> None:
    symbol, size, factor = MOLECULAR.reported("J m^-3")
    assert (symbol, size) == ("bar", 1e5)
    assert factor == pytest.approx(1e30 * 1e3 / 6.02214076e23 / 1e5, rel=1e-15)
    assert MOLECULAR.reported("J") == ("kJ/mol", MOLECULAR.in_si("J"), 1.0)
    for system in (SI, ASTRO, NONE):
        assert system.reported("J m^-3") == (system.symbol("J m^-3"), system.in_si("J m^-3"), 1.0)


@pytest.mark.parametrize(("unit", "cure"), [("J m^-3", "1.5 bar"), ("kg", "1.5 u")])
def test_numbers_whose_unit_has_no_name_are_refused(unit: str, cure: str) -> None:
    with pytest.raises(UnitError) as refusal:
        MOLECULAR.convert(1.5, unit)
    assert str(refusal.value) == f"1.5 has no unit, which this scene needs here; write '{cure}'"
    assert MOLECULAR.convert(0.0, unit) == 0.0


def test_gravity_has_its_textbook_value_in_astronomers_units() -> None:
    k = 0.01720209895  # Gauss; k^2 = G Msun in AU^3/day^2
    gm = ASTRO.convert("6.67430e-11 m^3 kg^-1 s^-2", "m^3 kg^-1 s^-2")
    assert gm == pytest.approx(k * k, rel=1e-7)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("5 day", "m", "'5 day' is a time, but 'm' (length) is needed"),
        ("5", "m", "'5' is a plain number, but 'm' (length) is needed"),
        ("1 eV", "1", "'1 eV' is an energy, but '1' (plain number) is needed"),
        ("1 kg m^-2", "m", "'1 kg m^-2' is in m^-2 kg, but 'm' (length) is needed"),
        ("1 m", "kg m^-2", "'1 m' is a length, but 'kg m^-2' (m^-2 kg) is needed"),
        ("5 THz", "rad/s", "'5 THz' is a frequency, but 'rad/s' is needed; multiply by 2 pi and write rad"),
        ("5 rad/s", "Hz",
         "'5 rad/s' is an angular frequency, but 'Hz' is needed; divide by 2 pi and write Hz"),
        ("5 Hz", "rad", "'5 Hz' is a frequency, but 'rad' (plain number) is needed"),
        ("5 mol", "1", "'5 mol' is an amount of substance, but '1' (plain number) is needed"),
        ("4 ev", "J", "no unit 'ev'; did you mean 'eV'?"),
        ("4 kgg", "kg", "no unit 'kgg'; did you mean 'kg'?"),
        ("4 Joules", "J", "no unit 'Joules'; did you mean 'J'?"),
        ("4 meters", "m", "no unit 'meters'; did you mean 'm'?"),
        ("4 microns", "m", "no unit 'microns'; did you mean 'micron'?"),
        ("5 dya", "s", "no unit 'dya'; did you mean 'day'?"),
        ("5 Kpc", "m", "no unit 'Kpc'; did you mean 'kpc'?"),
        ("5 kday", "s", "no unit 'kday'; did you mean 'day'?"),
        ("5 kMsun", "kg", "no unit 'kMsun'; did you mean 'Msun'?"),
        ("1 J/kg K", "1", "the unit 'J/kg K' can be read in two ways; write powers, as in 'J kg^-1 K^-1'"),
        ("day", "s", "'day' is not a quantity; write a number and a unit, as in '5 day'"),
        ("nan m", "m", "'nan m' is not a quantity; write a number and a unit, as in '5 day'"),
        ("1e999 m", "m", "'1e999 m' is too large for a float"),
        ("1e300 Mpc", "m", "'1e300 Mpc' is too large for a float"),
        ("1 m^x", "m",
         "cannot read the unit 'm^x' from 'm^x' on; write it like 'm^3 kg^-1 s^-2' or 'AU/day'"),
        ("1 m s-1", "m",
         "cannot read the unit 'm s-1' from 's-1' on; write it like 'm^3 kg^-1 s^-2' or 'AU/day'"),
        ("1 " + "m " * 60, "m", "a unit of 119 characters (80 are the most)"),
    ],
)  # fmt: skip
def test_refusals(text: str, unit: str, message: str) -> None:
    with pytest.raises(UnitError) as refusal:
        SI.convert(text, unit)
    assert str(refusal.value) == message


def test_a_unit_in_a_dimensionless_system_is_refused_with_the_cure() -> None:
    with pytest.raises(UnitError) as refusal:
        NONE.convert("5 day", "s")
    assert str(refusal.value) == (
        "'5 day' has a unit, but this scene is dimensionless; "
        'write a plain number, or set [units] to system = "si" or to a length, mass and time'
    )
    assert NONE.convert("180 deg", "1") == math.pi


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"length": "day"}, "'day' is a time, but 'm' (length) is needed"),
        ({"mass": "msun"}, "no unit 'msun'; did you mean 'Msun'?"),
    ],
)
def test_a_system_is_made_of_a_length_a_mass_and_a_time(given: dict[str, str], message: str) -> None:
    with pytest.raises(UnitError) as refusal:
        UnitSystem.of(**given)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("text", "kelvins"),
    [
        ("20 degC", 293.15),
        ("-40 °C", 233.15),
        ("20 Celsius", 293.15),
        ("-273.15 degC", 0.0),
        ("68 degF", 293.15),
        ("-40 degF", 233.15),
        ("32 °F", 273.15),
        ("293.15 K", 293.15),
    ],
)
def test_temperatures_on_scales_with_an_offset(text: str, kelvins: float) -> None:
    assert SI.convert(text, "K", absolute=True) == kelvins
    assert MOLECULAR.convert(text, "K", absolute=True) == kelvins


def test_a_scale_is_refused_where_its_offset_would_be_wrong() -> None:
    """A difference, a factor, another dimension, below absolute zero: no number is silently wrong."""
    refusals = [
        ("20 degC", "K", False, "write '293.15 K', or '20.0 K' for a difference of 20 degC"),
        ("18 degF", "K", False, "or '10.0 K' for a difference of 18 degF"),
        ("12e-6 1/degC", "K^-1", True, "numbers are only scaled; write K: a step of 1 degC is 1 K"),
        ("5 W m^-2 °F^-1", "W m^-2 K^-1", False, "a step of 1 degF is 0.555556 K"),
        ("20 degC", "m", True, "'20 degC' is a temperature, but 'm' (length) is needed"),
        ("-300 degC", "K", True, "-300 degC is below absolute zero, -273.15 degC"),
        ("20 C", "K", True, "'20 C' is a charge, but 'K' (temperature) is needed; degrees are degC"),
    ]
    for text, unit, absolute, message in refusals:
        with pytest.raises(UnitError) as error:
            SI.convert(text, unit, absolute)
        assert message in str(error.value)
    with pytest.raises(UnitError, match="this scene is dimensionless"):
        NONE.convert("20 degC", "K", absolute=True)


def test_numbers_of_files_on_a_scale() -> None:
    assert SI.of_numbers("degC", "K", absolute=True) == (1.0, 273.15)
    assert SI.of_numbers("degF", "K", absolute=True) == (5.0 / 9.0, pytest.approx(459.67 * 5.0 / 9.0))
    assert SI.of_numbers("mm", "m") == (1e-3, 0.0)
    with pytest.raises(UnitError, match="may be differences of temperatures; convert them to K"):
        SI.of_numbers("degC", "K")


def test_an_unknown_unit_lists_what_exists() -> None:
    with pytest.raises(UnitError, match=r"^no unit 'furlong' \(known: m, g, s, K, .*, Lsun\)$"):
        parse_unit("furlong")


def test_no_spelling_has_two_meanings() -> None:
    takes, plain = units._WITH_PREFIXES, units._WITHOUT_PREFIXES
    spelled = [prefix + name for prefix in PREFIXES for name in takes] + [*takes, *plain]
    assert len(set(spelled)) == len(spelled)
    assert set(spelled) | set(BASE) == set(UNITS)


def test_every_unit_reads_back_as_itself() -> None:
    for name in UNITS:
        unit = parse_unit(name)
        assert parse_quantity(f"2 {name}") == (2.0, unit)
        assert parse_unit(f"{name}^2/{name}") == unit
    assert parse_unit("") == parse_unit("1") == parse_unit("m/m")
    assert parse_unit("kg").scale == Fraction(1)


def test_hostile_texts_are_refused_or_read_and_quickly() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        text = "".join(rng.choices("1 5e-+.*/^mskgAU day()%µ\x00\n²", k=rng.randint(0, 30)))
        try:
            value = SI.convert(text, "1")
        except UnitError:
            continue
        assert math.isfinite(value)


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        ("m^-1 kg s^-2", (1.0, "Pa")),
        ("um^2 kg ms^-3", (1.0, "mW")),
        ("mm kg s^-2", (1.0, "mN")),
        ("kg s^-2", (1.0, "N/m")),
        ("nm^2 u ps^-2", (1.0, "kJ/mol")),
        ("angstrom^2 u ps^-2", (0.01, "kJ/mol")),
        ("nm u ps^-2", (1.0, "kJ mol^-1 nm^-1")),
        ("AU^2 Msun day^-2", (1.0, "AU^2 Msun day^-2")),  # no power of ten of a joule
        ("J m^-2", (1.0, "J m^-2")),  # has a name already, and is no N/m
        ("cm^2 kg s^-2", (1.0, "cm^2 kg s^-2")),  # 1e-4 J has no prefix
        ("nm ps^-1", (1.0, "nm ps^-1")),
        ("1", (1.0, "1")),
        ("no unit", (1.0, "no unit")),
    ],
)
def test_products_of_base_units_have_shorter_names(unit: str, shown: tuple[float, str]) -> None:
    assert reduce_unit(unit) == shown


@pytest.mark.parametrize("unit", ["um^2 kg ms^-3", "nm^-1 u ps^-2", "angstrom^2 u ps^-2", "mm^-1 g ms^-2"])
def test_a_shorter_name_is_the_same_unit(unit: str) -> None:
    factor, name = reduce_unit(unit)
    given, named = parse_unit(unit), parse_unit(name)
    per_mole = 6.02214076e23 if "mol" in name else 1.0
    assert given.factor * per_mole == pytest.approx(factor * named.factor, rel=1e-8)
    assert name != unit


def test_units_as_they_are_shown() -> None:
    assert with_unit("energy", "angstrom^2 u ps^-2") == "energy [0.01 kJ/mol]"
    assert number_with_unit(200.0, "m^-1 kg s^-2") == "200 Pa"
    assert number_with_unit(5.0, "angstrom^2 u ps^-2") == "0.05 kJ/mol"
    assert pretty("um") == "µm"
    assert pretty("u") == "u"
    assert (pretty("AU^2 day^-2"), pretty("1"), pretty("")) == ("AU² day⁻²", "", "")
