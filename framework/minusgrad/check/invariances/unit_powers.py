"""The question of units: U changes by a power of each base unit, and these powers are those of an energy.

    u(..., f^p_k a_k, ...) = f^p u(..., a_k, ...)

where argument a_k has the power p_k of a base unit (m, kg, s, K, A, mol), which is counted in parts of 1/f.
An energy that obeys no such law has a number with a unit in its source, such as 9.81, or adds a length to a
time: it has other values where a run has other units. One that obeys it with powers of another unit than the
declared one, such as k x with k in N/m, gives forces of a wrong unit. Both are warnings, because losses and
functionals may be meant so. Of a map the same is asked for each of its outputs. Nothing is asked where no
argument has a unit, nor of tables, whose columns may have any; constraints may have any. Buckingham 1914,
Phys. Rev. 4, 345.

Decisions 0154.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import numpy as np

from ...codegen.tracing import of_term
from ...codegen.verification.element_samples import WIDER, Sample
from ...energies.local_map import LocalMap
from ...energies.roles import concrete
from ...energies.term import Term
from ...scene.units import BASE, Unit, base_units, parse_unit
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import numbers
from ...symbolic.scalar import Scalar

QUESTION = "units"
FACTORS = 1.25, 1.5625
"""How much smaller a base unit is made; the second is the square of the first."""
SAME = 1e-7
"""The largest difference of a number from its power law, relative to the largest of the sample."""
MOST = 64
"""Elements that are asked."""
DENOMINATOR = 12
"""Powers are fractions with at most this denominator."""


def unit_mistakes(term: Term, t: float) -> Iterator[tuple[str, str]]:
    """Of each output of a term, its name ("" of U) and what is wrong with its unit, "" if nothing is.

    Outputs are left out that are zero on all elements, or rounding alone, as of a body at rest, and that are
    not finite.
    """
    if (
        term.tables
        or all(role.unit == "1" for role in term.energy.roles.values())
        or getattr(term.energy, "cell", None)
    ):
        return
    count = term.elements.count
    rows = np.unique(np.linspace(0, count - 1, min(MOST, count)).astype(int))
    sample = Sample.of_elements(term, rows, t)
    for name, graphs, declared in _outputs(term):
        every = [found for found in (_powers_of(sample, graph) for graph in graphs) if found]
        if not every:
            continue
        asked = parse_unit(declared).dimension if declared else every[0]
        found = next((one for one in every if one != asked), asked)
        if isinstance(found, str):
            yield (
                name,
                (
                    f"has no unit of its own: where {found} is counted in another unit, its values change by"
                    " different factors; a number in the source has a unit: make it a parameter"
                ),
            )
            continue
        if found == asked:
            yield name, ""
        else:
            unit = base_units(Unit(Fraction(1), found))
            yield name, f"has the unit {unit}, and {declared} is declared; correct one of them"


def _outputs(term: Term) -> Iterator[tuple[str, list[Scalar], str]]:
    """Of U, or of each output of a map: its name, the graphs of its components, and the declared unit."""
    traced, energy = of_term(term), term.energy
    if not isinstance(energy, LocalMap):
        yield "", [traced.value], energy.unit
        return
    parts = iter(traced.values)
    for name, output in energy.outputs.items():
        size = int(np.prod(concrete(output.shape, term.dimension, term.arity)))
        yield name, list(islice(parts, size)), output.unit


def _powers_of(sample: Sample, graph: Scalar) -> tuple[Fraction, ...] | str | None:
    """The powers of the base units that a graph has; a base unit without one; None without numbers."""
    roles = sample.term.energy.roles
    dimensions = {leaf.serial: parse_unit(roles[leaf.value[0]].unit).dimension for leaf in inputs([graph])}
    leaves = {leaf.serial: sample.leaf(leaf) for leaf in inputs([graph])}
    usual = _numbers_of(sample, graph, leaves)
    if not (np.isfinite(usual).all() and usual.any()) or _is_rounding(sample, graph, leaves, usual):
        return None
    most = int(np.argmax(np.abs(usual)))
    powers = []
    for base, name in enumerate(BASE):
        ratios = []
        for factor in FACTORS:
            scaled = {s: v * factor ** float(dimensions[s][base]) for s, v in leaves.items()}
            found = _numbers_of(sample, graph, scaled)
            ratio = float(found[most] / usual[most])
            if not ratio > 0.0 or np.abs(found - ratio * usual).max() > SAME * np.abs(found).max():
                return name
            ratios.append(ratio)
        power = Fraction(np.log(ratios[0]) / np.log(FACTORS[0])).limit_denominator(DENOMINATOR)
        if any(abs(r / f ** float(power) - 1.0) > SAME for r, f in zip(ratios, FACTORS, strict=True)):
            return name
        powers.append(power)
    return tuple(powers)


def _is_rounding(sample: Sample, graph: Scalar, leaves: dict[int, np.ndarray], usual: np.ndarray) -> bool:
    """True if the numbers have fewer digits than are compared: from how far those of single width are off."""
    own, wide = sample.term.dtype.type, WIDER[sample.term.dtype.name]
    off = np.abs(_numbers_of(sample, graph, leaves, own) - usual).max()
    noise = off * float(np.finfo(wide).eps) / float(np.finfo(own).eps)
    return bool(noise > SAME * np.abs(usual).max())


def _numbers_of(
    sample: Sample, graph: Scalar, leaves: dict[int, np.ndarray], width: type | None = None
) -> np.ndarray:
    """The numbers of a graph for each element of a sample, of given leaves, in a wider or a given type."""
    term = sample.term
    wide = width or WIDER[term.dtype.name]
    given = {serial: values.astype(wide) for serial, values in leaves.items()}
    with np.errstate(all="ignore"):
        (found,) = numbers([graph], given, term.tables, term.dtype.type, None, wide)
    return np.broadcast_to(found, sample.rows.shape).astype(np.float64)
