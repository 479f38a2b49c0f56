"""The dimension of an energy, found by a change of units: the physics must not depend on the system of units.

    u(s^p1 a1, s^p2 a2, ...) = s^k u(a1, a2, ...)     for every s, where a base unit is s times smaller

p: the power of that base unit in the declared unit of an argument; k: its power in the dimension of u. A
constant that is written into the function, such as a softening of 1e-3, breaks this, and with it every scene
in other units.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..check.questions import Finding
from ..energies.local_energy import LocalEnergy
from ..energies.local_map import LocalMap
from ..energies.roles import concrete
from ..scene.units import BASE, Unit, base_units, parse_unit

FACTORS = (2.0, 1.7)
DRAWS, CLOSE, HALVES = 12, 1e-7, 12
"""The most samples until one has a value; the largest error of a power; its largest denominator."""


def units(energy: LocalEnergy, d: int, seed: int = 0) -> Iterator[Finding]:
    """Whether one dimension fits at a random element; of a map, whether it is that of its outputs."""
    samples = [energy.sample(np.random.default_rng(seed + k), d) for k in range(DRAWS)]
    evaluate = energy.evaluator()

    def numbers(values: Mapping[str, Any]) -> np.ndarray:
        found = evaluate(values)
        parts = found if isinstance(found, tuple | list) else [found]
        return np.concatenate([np.ravel(np.asarray(part, float)) for part in parts])

    sample = next((s for s in samples if np.abs(numbers(s)).min(initial=np.inf) > 0.0), None)
    if sample is None:
        return
    here = numbers(sample)
    declared, powers = {a: parse_unit(role.unit).dimension for a, role in energy.roles.items()}, []
    for b, base in enumerate(BASE):
        found = []
        for s in FACTORS:
            scaled = {a: _scale_value(v, s ** float(declared[a][b])) for a, v in sample.items()}
            found.append(np.log(np.abs(numbers(scaled) / here)) / np.log(s))
        nearest = [Fraction(float(k)).limit_denominator(HALVES) for k in found[0]]
        error = max(float(np.abs(k - np.array([*map(float, nearest)])).max()) for k in found)
        if not error < CLOSE:
            text = f"a unit of {base} that is {FACTORS[0]:g} times smaller changes the physics: a constant"
            yield _units_finding(energy, False, error, f"{text} with a unit is written into the function")
            return
        powers.append(nearest)
    for n, dimension in enumerate(zip(*powers, strict=True)):
        unit = base_units(Unit(Fraction(1), dimension))
        expected = _declared_dimensions(energy, d)
        right = not expected or expected[n] == dimension
        more = "" if right else f", but {base_units(Unit(Fraction(1), expected[n]))} is declared"
        if n == 0 or not right:
            yield _units_finding(energy, right, 0.0, f"its value is in {unit}{more}")


def _declared_dimensions(energy: LocalEnergy, d: int) -> list[tuple[Fraction, ...]]:
    """The dimension of each number that a map gives; of an energy none is declared."""
    if not isinstance(energy, LocalMap):
        return []
    of = energy.outputs.values()
    return [parse_unit(one.unit).dimension for one in of for _ in range(int(np.prod(concrete(one.shape, d))))]


def _scale_value(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [None if one is None else one * factor for one in value]
    whole = np.asarray(value).dtype.kind in "iu"
    return value if whole else value * factor


def _units_finding(energy: LocalEnergy, passed: bool, figure: float, text: str) -> Finding:
    return Finding(energy.name, "", "units", passed, figure, text, precision="f64")
