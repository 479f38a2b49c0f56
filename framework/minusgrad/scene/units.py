"""Units and unit systems: conversion of quantities to the units that a run computes in.

    "5 day" = 5 x 86400 s        [units] time = "day"  ->  5.0

A unit is a factor to SI and powers of m, kg, s, K, A, mol. The factor is rational, so "0.1 AU" in a run that
computes in AU is exactly 0.1, and "3 m" in SI is exactly 3. Plain numbers are never touched: they already are
in the run's system.

Sources: SI Brochure, 9th edition (2019); IAU 2012 resolution B2 (AU); IAU 2015 resolutions B2 (parsec) and B3
(nominal solar and planetary values: masses are the nominal GM over G); CODATA 2022 (G, u, bohr, hartree).

Decisions 0225.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from ..errors import UnitError, printable, suggestion

BASE = ("m", "kg", "s", "K", "A", "mol")
Dimension = tuple[Fraction, ...]


@dataclass(frozen=True)
class Unit:
    """`scale` SI units of the dimension prod BASE[i]^dimension[i]."""

    scale: Fraction
    dimension: Dimension

    @property
    def factor(self) -> float:
        """The unit in SI, rounded once. Raises UnitError where no float can hold it."""
        return _round_value(self.scale, "a unit")

    def power(self, exponent: Fraction) -> "Unit":
        """This unit to a power: exact for whole powers, to rounding for roots."""
        root = exponent.denominator
        scale = self.scale if root == 1 else Fraction(self.factor ** (1 / root))
        return Unit(scale**exponent.numerator, tuple(exponent * d for d in self.dimension))

    def times(self, other: "Unit") -> "Unit":
        """The product of two units."""
        powers = zip(self.dimension, other.dimension, strict=True)
        return Unit(self.scale * other.scale, tuple(a + b for a, b in powers))


ZERO = Fraction(0)
ONE = Unit(Fraction(1), (ZERO,) * len(BASE))
_OF_BASE = {name: Unit(Fraction(1), tuple(Fraction(name == base) for base in BASE)) for name in BASE}

PREFIXES = dict(zip("qryzafpnum", range(-30, 0, 3), strict=True))
PREFIXES |= {"µ": -6, "μ": -6, "c": -2, "d": -1, "da": 1, "h": 2}
PREFIXES |= dict(zip("kMGTPEZYRQ", range(3, 31, 3), strict=True))

PER_MOLE = "kJ/mol"
"""A unit of energy that a system of units may have in place of one of mass."""
AVOGADRO = Unit(1 / Fraction(602214076 * 10**15), tuple(Fraction(name == "mol") for name in BASE))
"""1 mol / 6.02214076e23: exact since 2019."""
_G = 6.67430e-11  # m^3 kg^-1 s^-2, CODATA 2022
_WITH_PREFIXES = {
    "m": "1 m", "g": "1e-3 kg", "s": "1 s", "K": "1 K", "A": "1 A", "mol": "1 mol", "rad": "1",
    "Hz": "1 s^-1", "N": "1 kg m s^-2", "J": "1 N m", "W": "1 J s^-1", "Pa": "1 N m^-2",
    "C": "1 A s", "V": "1 J C^-1", "ohm": "1 V A^-1", "Ω": "1 V A^-1", "F": "1 C V^-1",
    "T": "1 V s m^-2", "Wb": "1 V s", "H": "1 Wb A^-1", "L": "1e-3 m^3", "bar": "1e5 Pa",
    "eV": "1.602176634e-19 J", "cal": "4.184 J", "Da": "1.66053906892e-27 kg",
    "pc": f"{648000 / math.pi * 149597870700} m", "ly": "9460730472580800 m", "yr": "31557600 s",
}  # fmt: skip
_WITHOUT_PREFIXES = {
    "percent": "0.01", "%": "0.01", "deg": f"{math.pi / 180}", "arcmin": f"{math.pi / 10800}",
    "arcsec": f"{math.pi / 648000}", "e": "1.602176634e-19 C", "min": "60 s",
    "hour": "3600 s", "h": "3600 s", "day": "86400 s",
    "d": "86400 s", "year": "31557600 s", "u": "1 Da", "angstrom": "1e-10 m", "Å": "1e-10 m",
    "micron": "1e-6 m", "bohr": "5.29177210544e-11 m", "hartree": "4.3597447222060e-18 J", "atm": "101325 Pa",
    "AU": "149597870700 m", "au": "149597870700 m", "Msun": f"{1.3271244e20 / _G} kg",
    "Mearth": f"{3.986004e14 / _G} kg", "Mjup": f"{1.2668653e17 / _G} kg", "Rsun": "6.957e8 m",
    "Rearth": "6.3781e6 m", "Rjup": "7.1492e7 m", "Lsun": "3.828e26 W",
}  # fmt: skip
_WORDS = {
    "metre": "m", "meter": "m", "gram": "g", "second": "s", "sec": "s", "kelvin": "K", "ampere": "A",
    "mole": "mol", "radian": "rad", "degree": "deg", "hertz": "Hz", "newton": "N", "joule": "J", "watt": "W",
    "pascal": "Pa", "coulomb": "C", "volt": "V", "farad": "F", "tesla": "T", "henry": "H", "litre": "L",
    "liter": "L", "calorie": "cal", "dalton": "Da", "parsec": "pc", "minute": "min", "kilogram": "kg",
    "kilometre": "km", "kilometer": "km", "nanometre": "nm", "nanometer": "nm",
}  # fmt: skip
"""Words in the place of which scenes have a symbol."""
_DIMENSION_NAMES = {
    "plain number": "1", "length": "m", "mass": "kg", "time": "s", "temperature": "K", "current": "A",
    "amount of substance": "mol", "area": "m^2", "volume": "m^3", "frequency": "s^-1", "speed": "m s^-1",
    "acceleration": "m s^-2", "momentum": "kg m s^-1", "density": "kg m^-3", "force": "N", "energy": "J",
    "power": "W", "pressure": "Pa", "force per length": "N m^-1", "power per area": "W m^-2",
    "charge": "C", "voltage": "V", "magnetic field": "T",
}  # fmt: skip

_SCALES = {"degC": (Fraction(1), Fraction("273.15")), "degF": (Fraction(5, 9), Fraction("459.67"))}
"""Scales of temperature: of a number n on it, K = factor (n + offset)."""
_SCALE_WORDS = dict.fromkeys(("degc", "°c", "℃", "celsius", "celcius", "degcelsius", "centigrade"), "degC")
_SCALE_WORDS |= dict.fromkeys(("degf", "°f", "℉", "fahrenheit", "degfahrenheit"), "degF")
"""Other words for them, in small letters and without spaces."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")
_FACTOR = re.compile(
    r"\s*([*/]?)\s*([^\s\d*/^+-]+|1)(?:(?:\^|\*\*)([+-]?\d{1,2}(?:/[1-9]\d?)?))?(?=[\s*/]|$)"
)


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """`"m^3 kg^-1 s^-2"`, `"AU/day"`, `"m^1/2"`; `""` and `"1"` are a plain number.

    Raises UnitError for an unknown unit, an unreadable text, and for "J/kg K", which can be read in two ways.
    """
    unit = ONE
    for name, exponent in _unit_factors(text):
        unit = unit.times(_unit_named(name).power(exponent))
    return unit


def _unit_factors(text: str) -> Iterator[tuple[str, Fraction]]:
    """The names and powers in the text of a unit."""
    if len(text) > 80:
        raise UnitError(f"a unit of {len(text)} characters (80 are the most)")
    place, divided = 0, False
    end = len(text.rstrip())
    while place < end:
        factor = _FACTOR.match(text, place)
        if factor is None:
            cure, rest = "write it like 'm^3 kg^-1 s^-2' or 'AU/day'", printable(text[place:].strip())
            raise UnitError(f"cannot read the unit '{printable(text)}' from '{rest}' on; {cure}")
        operator, name, power = factor.groups()
        if divided and not operator:
            raise UnitError(
                f"the unit '{printable(text)}' can be read in two ways; write powers, as in 'J kg^-1 K^-1'"
            )
        divided = operator == "/" or (divided and not operator)
        yield name, Fraction(power or 1) * (-1 if operator == "/" else 1)
        place = factor.end()


def product(*units: str) -> str:
    """The product of units, in powers: of "kg" and "m/s" it is "kg m s^-1". Raises as `parse_unit` does."""
    factors = [factor for unit in units for factor in _unit_factors(unit) if factor[0] != "1"]
    return _unit_symbol(tuple(name for name, _ in factors), tuple(power for _, power in factors))


def inverse(unit: str) -> str:
    """1 / unit, in powers: of "m/s" it is "m^-1 s". Raises as `parse_unit` does."""
    factors = [factor for factor in _unit_factors(unit) if factor[0] != "1"]
    return _unit_symbol(tuple(name for name, _ in factors), tuple(-power for _, power in factors))


def quotient(unit: str, divisor: str) -> str:
    """unit / divisor, in powers: of "J" and "m/s" it is "J m^-1 s". Raises as `parse_unit` does."""
    return product(unit, inverse(divisor))


def rate_unit(unit: str) -> str:
    """The unit of a rate, in powers: of "m" it is "m s^-1"."""
    return quotient(unit, "s")


def parse_quantity(text: str) -> tuple[float, Unit]:
    """`"5 day"` -> 5.0 and the unit. Raises UnitError unless it is a finite number and a known unit."""
    number, unit = split_quantity(text)
    return number, parse_unit(unit)


def split_quantity(text: str) -> tuple[float, str]:
    """`"5 day"` -> 5.0 and "day", which may be no unit. Raises UnitError without a finite number."""
    parts = _NUMBER.fullmatch(text) if len(text) <= 200 else None
    if parts is None:
        raise UnitError(
            f"'{printable(text, 40)}' is not a quantity; write a number and a unit, as in '5 day'"
        )
    number = float(parts[1])
    if math.isinf(number):
        raise UnitError(f"'{printable(text, 40)}' is too large for a float")
    return number, parts[2]


UNITS = {
    **dict.fromkeys(BASE, (0, "")),
    **{name: (0, text) for name, text in (_WITH_PREFIXES | _WITHOUT_PREFIXES).items()},
    **{
        prefix + name: (ten, text)
        for name, text in _WITH_PREFIXES.items()
        for prefix, ten in PREFIXES.items()
    },
}
"""Every unit by its name: a power of ten, and the unit without prefix."""


@cache
def _unit_named(name: str) -> Unit:
    if name == "1":
        return ONE
    if name in _OF_BASE:
        return _OF_BASE[name]
    if name in UNITS:
        ten, definition = UNITS[name]
        number, _, unit = definition.partition(" ")
        return parse_unit(unit).times(Unit(Fraction(number) * Fraction(10) ** ten, ONE.dimension))
    if scale := _scale_named(name):
        raise UnitError(
            f"the unit '{printable(name)}' has an offset, got it where numbers are only scaled; write K: a"
            f" step of 1 {scale} is {float(_SCALES[scale][0]):.6g} K, and 20 {scale} are"
            f" {float(_kelvins(20.0, scale)):.6g} K"
        )
    plain = list(_WITH_PREFIXES | _WITHOUT_PREFIXES)
    spelt = [n for n in UNITS if n.lower() == name.lower()]  # of 'ev' rather 'eV' than 'EV'
    spelt.sort(key=lambda n: sum(a != b for a, b in zip(n, name, strict=True)))
    word = _WORDS.get(name.lower().removesuffix("s")) or next(iter(spelt), None)
    if word is None and name.endswith("sec") and name[:-2] in UNITS:  # msec
        word = name[:-2]
    near = [n for n in UNITS if n[0] == name[:1]]
    hint = f"; did you mean '{word}'?" if word else suggestion(name, plain) or suggestion(name, near)
    raise UnitError(f"no unit '{printable(name)}'" + (hint or f" (known: {', '.join(plain)})"))


def _scale_named(name: str) -> str:
    """The scale of temperature that a text names, "degC" of "° C"; empty for another text."""
    return _SCALE_WORDS.get(name.replace(" ", "").lower(), "")


def _kelvins(number: float, scale: str) -> Fraction:
    """A number on a scale of temperature in K. Raises UnitError below absolute zero."""
    factor, offset = _SCALES[scale]
    if (found := factor * (Fraction(repr(number)) + offset)) < 0:
        raise UnitError(f"{number:g} {scale} is below absolute zero, {-float(offset):g} {scale}; correct it")
    return found


def _dimension_name(dimension: Dimension) -> str:
    """`length`, or nothing where the dimension has no common name."""
    return next((n for n, unit in _DIMENSION_NAMES.items() if parse_unit(unit).dimension == dimension), "")


def _unit_symbol(names: tuple[str, ...], powers: Dimension) -> str:
    factors = [f"{n}^{d}" if d != 1 else n for n, d in zip(names, powers, strict=False) if d]
    return " ".join(factors) or "1"


def base_units(unit: Unit) -> str:
    """A unit of this dimension, in base units of the SI: "m kg s^-2"."""
    return _unit_symbol(BASE, unit.dimension)


def _round_value(value: Fraction, what: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UnitError(f"{what} is too large for a float") from None


MOLECULAR = (PER_MOLE, "mol", "angstrom", "ps", "K", "e")
"""The units of the molecular system, an energy in place of a mass and a charge in place of a current."""


@dataclass(frozen=True)
class UnitSystem:
    """The units that a run computes in: as many as m, kg, s, K, A, mol, or none (dimensionless).

        UnitSystem.of("AU", "Msun", "day").convert("1 km/s", "m s^-1")         in AU/day
        UnitSystem.molecular().convert("1 hartree", "J")                       in kJ/mol

    names: the names of the units, from which those of all dimensions follow; none for a dimensionless system,
    in which quantities with a unit are refused. named: units by which figures are reported, and without
    which numbers of their dimensions are refused, because the coherent unit has no name.
    """

    names: tuple[str, ...] = BASE
    named: tuple[str, ...] = ()

    @classmethod
    def si(cls) -> "UnitSystem":
        return cls()

    @classmethod
    def dimensionless(cls) -> "UnitSystem":
        return cls(())

    @classmethod
    def molecular(cls) -> "UnitSystem":
        """Energies in kJ/mol, lengths in angstrom, times in ps, charges in e; pressures reported in bar."""
        return cls(MOLECULAR, ("bar", "u"))

    @classmethod
    def of(cls, length: str = "m", mass: str = "kg", time: str = "s") -> "UnitSystem":
        """Raises UnitError unless each is one named unit ('AU', 'kpc') of its dimension."""
        for name, base in zip((length, mass, time), BASE, strict=False):
            _same_dimension(name, _unit_named(name), base)
        return cls((length, mass, time, *BASE[3:]))

    def convert(self, value: float | str, unit: str, absolute: bool = False) -> float:
        """A number as it is, or a quantity like "5 day" as a number in this system.

        absolute: it is a temperature, no difference of two, which may be given in degC or degF. Raises
        UnitError if the quantity does not have the dimension of `unit`, if the system has no units, and for a
        number whose unit has no name (see `named`), unless it is zero.
        """
        if not isinstance(value, str):
            if value and (name := self._known_name(unit)):
                raise UnitError(
                    f"{value:g} has no unit, which this scene needs here; write '{value:g} {name}'"
                )
            return float(value)
        return _convert_cached(self, value, unit, absolute)

    def of_numbers(self, given: str, unit: str, absolute: bool = False) -> tuple[float, float]:
        """Factor a and offset b of numbers n that a file has in a unit: a n + b in this system.

        absolute: as in `convert`. The offset is that of degC and degF, else 0. Raises UnitError as there.
        """
        if not (scale := _scale_named(given)):
            return self.convert(f"1 {given}", unit), 0.0
        if not absolute and parse_unit(unit).dimension == _OF_BASE["K"].dimension:
            raise UnitError(
                f"the unit '{printable(given)}' has an offset, got it for numbers that may be differences of"
                " temperatures; convert them to K"
            )
        factor, zero = _SCALES[scale][0], self.convert(f"0 {scale}", unit, absolute)
        return float(factor) * self.convert("1 K", unit), zero

    def symbol(self, unit: str) -> str:
        """The name of this system's coherent unit: "J" -> "AU^2 Msun day^-2"; "1" when dimensionless."""
        powers = self._unit_powers(unit)
        if PER_MOLE not in self.names or _unit_symbol(self.names, powers) == PER_MOLE:
            return _unit_symbol(self.names, powers)
        (_, *others), (energy, moles, *rest) = self.names, powers
        return _unit_symbol(("kJ", *others), (energy, moles - energy, *rest))

    def in_si(self, unit: str) -> float:
        """The size of one coherent unit of that dimension in SI; 1.0 if dimensionless."""
        return _round_value(self._coherent_size(unit), f"'{self.symbol(unit)}'")

    def reported(self, unit: str) -> tuple[str, float, float]:
        """The unit of figures in reports: its symbol, its size in SI, and one coherent unit in it.

        That is the unit in `named` of this dimension, or the coherent unit itself.
        """
        if not (name := self._known_name(unit)):
            return self.symbol(unit), self.in_si(unit), 1.0
        size = _unit_named(name).scale
        return name, float(size), float(self._coherent_size(unit) / size)

    def _known_name(self, unit: str) -> str:
        """The unit in `named` of this dimension; empty if there is none."""
        dimension = parse_unit(unit).dimension
        return next((name for name in self.named if _unit_named(name).dimension == dimension), "")

    def _unit_powers(self, unit: str) -> Dimension:
        """The powers of the system's units whose product has the dimension of `unit`."""
        return _solve_powers(self.names, parse_unit(unit).dimension)

    def _coherent_size(self, unit: str) -> Fraction:
        return _product_of_powers(self.names, self._unit_powers(unit))

    def _of_text(self, value: str, unit: str, absolute: bool) -> float:
        """A quantity in this system; see `convert`."""
        if scale := _scale_named(split_quantity(value)[1]):
            value = _in_kelvins(value, scale, unit, absolute)
        number, given = parse_quantity(value)
        given = _of_one(given, unit)
        _same_dimension(value, given, unit)
        _same_angles(value, unit)
        if not self.names and any(given.dimension):
            cure = 'write a plain number, or set [units] to system = "si" or to a length, mass and time'
            raise UnitError(f"'{value}' has a unit, but this scene is dimensionless; {cure}")
        return _round_value(Fraction(number) * given.scale / self._coherent_size(unit), f"'{value}'")


@lru_cache(maxsize=4096)
def _convert_cached(system: UnitSystem, value: str, unit: str, absolute: bool) -> float:
    """A quantity in a system: an ensemble converts those of its scene for every member."""
    return system._of_text(value, unit, absolute)


def _in_kelvins(value: str, scale: str, needed: str, absolute: bool) -> str:
    """A temperature on a scale as a text in K. Raises UnitError where no temperature is needed."""
    number, kelvins = split_quantity(value)[0], ""
    if parse_unit(needed).dimension != _OF_BASE["K"].dimension:
        _same_dimension(value, _OF_BASE["K"], needed)
    kelvins = repr(float(_kelvins(number, scale)))
    if not absolute:
        step = float(_SCALES[scale][0] * Fraction(number))
        raise UnitError(
            f"'{printable(value, 40)}' has an offset, got it where a difference of temperatures may be meant;"
            f" write '{kelvins} K', or '{step!r} K' for a difference of {number:g} {scale}"
        )
    return f"{kelvins} K"


SYSTEMS = {
    "si": UnitSystem.si(),
    "dimensionless": UnitSystem.dimensionless(),
    "molecular": UnitSystem.molecular(),
}
"""Systems of units by name."""


def _of_system(name: str) -> Unit:
    """A unit of a system: a named one, or that of an energy per mole, of which one particle has its share."""
    return _of_one(parse_unit(name), "J") if name == PER_MOLE else _unit_named(name)


@cache
def _inverse_powers(names: tuple[str, ...]) -> tuple[Dimension, ...]:
    """In row b the powers of the units `names` whose product has the dimension of base unit b.

    By Gauss and Jordan's elimination, exactly.
    """
    rows = [[*_of_system(name).dimension, *_OF_BASE[BASE[k]].dimension] for k, name in enumerate(names)]
    for column in range(len(names)):
        pivot = next(k for k in range(column, len(names)) if rows[k][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for k, row in enumerate(rows):
            if k != column:
                rows[k] = [a - row[column] * b for a, b in zip(row, rows[column], strict=True)]
    return tuple(tuple(row[len(names) :]) for row in rows)


@lru_cache(maxsize=256)
def _solve_powers(names: tuple[str, ...], dimension: Dimension) -> Dimension:
    """The powers of these units whose product has this dimension."""
    columns = zip(*_inverse_powers(names), strict=True)
    return tuple(sum((d * c for d, c in zip(dimension, column, strict=True)), ZERO) for column in columns)


@lru_cache(maxsize=256)
def _product_of_powers(names: tuple[str, ...], powers: Dimension) -> Fraction:
    """The size in SI of the product of powers of these units."""
    factors = (_of_system(n).power(d).scale for n, d in zip(names, powers, strict=True) if d)
    return math.prod(factors, start=Fraction(1))


def _of_one(given: Unit, needed: str) -> Unit:
    """A quantity per mole where that of one particle is needed: chemists write energies in kJ/mol."""
    one = given.times(AVOGADRO)
    return one if one.dimension == parse_unit(needed).dimension else given


def _same_angles(text: str, needed: str) -> None:
    """Refuse Hz for rad/s, and rad/s for Hz: both are s^-1, and differ by 2 pi."""
    for here, there, factor in (("Hz", "rad", "multiply by 2 pi"), ("rad", "Hz", "divide by 2 pi")):
        if _has_unit(text, here) and _has_unit(needed, there) and not _has_unit(text, there):
            which = "a frequency" if here == "Hz" else "an angular frequency"
            raise UnitError(f"'{text}' is {which}, but '{needed}' is needed; {factor} and write {there}")


def _has_unit(text: str, unit: str) -> bool:
    """True if a text has this unit, with any prefix."""
    found = (word for word in re.findall(r"[^\W\d_]+", text) if word.endswith(unit))
    return any(word == unit or word.removesuffix(unit) in PREFIXES for word in found)


def _same_dimension(text: str, given: Unit, needed: str) -> None:
    if given.dimension == (dimension := parse_unit(needed).dimension):
        return
    name = _dimension_name(given.dimension)
    article = "an" if name[:1] in ("a", "e") else "a"
    what = f"{article} {name}" if name else f"in {_unit_symbol(BASE, given.dimension)}"
    wanted = f"'{needed}' ({_dimension_name(dimension) or _unit_symbol(BASE, dimension)})"
    letter = text[-1:] if needed == "K" else ""
    hint = f"; degrees are deg{letter}" if letter in ("C", "F") else ""
    raise UnitError(f"'{text}' is {what}, but {wanted} is needed{hint}")


def with_unit(what: str, unit: str) -> str:
    """`time [day]`, `power [mW]`; nothing is added for a plain number."""
    return f"{what} [{pretty(unit)}]" if pretty(unit) else what


def duration(seconds: float) -> str:
    """A time of a clock in words: `40 s`, `5 min`, `2.3 hours`, `40 days`, `3 years`."""
    for size, name, until in ((1.0, "s", 90.0), (60.0, "min", 90.0), (3600.0, "hours", 48.0)):
        if seconds < until * size:
            return f"{seconds / size:.2g} {name}"
    days = seconds / 86400.0
    return f"{days:.0f} days" if days < 730.0 else f"{days / 365.25:,.0f} years"


def number_with_unit(number: float, unit: str, digits: int = 6) -> str:
    """`0.25 day`; of `200 m^-1 kg s^-2` `200 Pa`."""
    factor, name = reduce_unit(unit)
    return f"{number * factor:.{digits}g} {raised_powers(name)}".rstrip()


def pretty(unit: str) -> str:
    """AU² day⁻² with raised powers, Pa for m^-1 kg s^-2, `0.01 kJ/mol`; nothing for a plain number."""
    factor, name = reduce_unit(unit)
    return raised_powers(name) if factor == 1.0 else f"{factor:g} {raised_powers(name)}"


def familiar_name(unit: str) -> str:
    """`J` for m^2 kg s^-2, where such a name is exactly this unit; else the unit as it stands."""
    factor, name = reduce_unit(unit)
    return name if factor == 1.0 else unit


def raised_powers(unit: str) -> str:
    """A unit with raised powers, the micro sign and Å, as it stands; nothing for a plain number."""
    unit = re.sub(r"\bangstrom\b", "Å", unit)
    powers = re.sub(r"\^(-?\d+)", lambda power: power[1].translate(_RAISED), unit)
    return "" if unit == "1" else re.sub(r"\bu(?=[a-zA-Z])", "µ", powers) if _has_micro(unit) else powers


def _has_micro(unit: str) -> bool:
    return any(word.startswith("u") and word[1:] in _WITH_PREFIXES for word in re.findall(r"[a-zA-Z]+", unit))


_DERIVED = ("N", "J", "W", "Pa", "V", "C", "T", "N/m", "J s", "Pa s", "J/K", "W/m^2")
"""The units that coherent ones are reduced to, with any prefix."""


@lru_cache(maxsize=1024)
def reduce_unit(unit: str) -> tuple[float, str]:
    """A shorter name of a product of units of length, mass, time ..., and the size of `unit` in it.

        m^-1 kg s^-2      1, "Pa"          um^2 kg ms^-3           1, "mW"
        nm^2 u ps^-2      1, "kJ/mol"      angstrom^2 u ps^-2      0.01, "kJ/mol"

    The size is a power of ten; units that are no power of ten of a named one (AU^2 Msun day^-2), and those
    that have a name already, stay as they are.
    """
    try:
        given, words = parse_unit(unit), unit.split()
        if len(words) < 2 or not all(_is_of_base(word) for word in words):
            return 1.0, unit
    except UnitError:
        return 1.0, unit
    if "u" in (word.partition("^")[0] for word in words):
        return _per_mole(given, words) or (1.0, unit)
    for name in _DERIVED:
        if (named := parse_unit(name)).dimension != given.dimension:
            continue
        ten = _power_of_ten(given.scale / named.scale)
        prefix = next((p for p, power in _THOUSANDS.items() if power == ten), None)
        return (1.0, unit) if prefix is None else (1.0, prefix + name)
    return 1.0, unit


_THOUSANDS = {"": 0} | {p: ten for p, ten in PREFIXES.items() if ten % 3 == 0 and p not in "μµ"} | {"u": -6}


def _is_of_base(word: str) -> bool:
    """True for m, um, ms, AU: a unit of one base unit, to a power."""
    name = word.partition("^")[0]
    return sum(map(bool, _unit_named(name).dimension)) == 1 and name not in ("mol", "cd")


def _per_mole(given: Unit, words: list[str]) -> tuple[float, str] | None:
    """Energies, forces and pressures by atomic masses, in kJ/mol and powers of the length; else None."""
    energy = _of_system(PER_MOLE)
    rest = given.dimension[0] - energy.dimension[0]
    if (given.dimension[1:]) != energy.dimension[1:]:
        return None
    length = next((w.partition("^")[0] for w in words if _unit_named(w.partition("^")[0]).dimension[0]), "m")
    ten = _power_of_ten(given.scale / energy.scale / _unit_named(length).power(rest).scale)
    if ten is None:
        return None
    return 10.0**ten, PER_MOLE if not rest else f"kJ mol^-1 {length}^{rest}"


def _power_of_ten(ratio: Fraction) -> int | None:
    """k of a ratio 10^k, to the accuracy of a measured atomic mass; None for another one."""
    ten = math.log10(float(ratio))
    return round(ten) if abs(ten - round(ten)) < 1e-8 else None
