"""The `[[slope]]` tables of a scene: derivatives of its energies, or the transpose of its maps.

Decisions 0299.
"""

from collections.abc import Mapping

from ...energies.fields import Fields
from ...energies.term import Term
from ...errors import EnergyError, choices, unknown
from ...potential.potential import Potential
from ...potential.slope import Slope
from ...potential.staged.staged_term import StagedTerm
from ...scene.document import SlopeTable
from ...scene.units import UnitSystem, base_units, parse_quantity


def slope_of(
    table: SlopeTable,
    fields: Fields,
    energies: Mapping[str, Term | StagedTerm],
    maps: Mapping[str, Term | StagedTerm],
    units: UnitSystem,
) -> Slope:
    """The slope of a table, over energies, and over the maps above it, by their names in the scene.

    Raises `EnergyError` for a map that is not above it, and as `Slope` does.
    """
    name = table.name or "_".join(["slope", *table.energies, *table.through])
    known = [n for n, m in maps.items() if m.owner in ("", n)]
    if missing := [n for n in table.through if n not in known]:
        raise EnergyError(f"through: no map '{missing[0]}' stands above it{choices(missing[0], known)}")
    if strange := [z for z in table.factor if z not in table.by] if isinstance(table.factor, dict) else []:
        raise EnergyError(f"factor: {unknown('field', strange[0], table.by)}")
    through = [m for n, m in maps.items() if (m.owner or n) in table.through]
    energy = Potential(fields, [energies[n] for n in table.energies], through, frozen=True)
    named = [m for m in through if m.name in table.through]
    paired = {y: v for m in named for y, v in _pairs(m, table.through[m.name]).items()}
    given = table.factor if isinstance(table.factor, dict) else dict.fromkeys(table.by, table.factor)
    quantities = {z: _quantity(given.get(z, 1.0), units) for z in table.by}
    factors = {z: number for z, (number, _) in quantities.items()}
    of_factors = {z: unit for z, (_, unit) in quantities.items()}
    return Slope(name, energy, table.by, factors, paired, factor_unit=of_factors)


def _pairs(of_map: Term | StagedTerm, paired: str | Mapping[str, str]) -> dict[str, str]:
    """The field with which each output of a map is paired, by the output's field."""
    outputs = of_map.outputs
    if isinstance(paired, str):
        if len(outputs) > 1:
            table = ", ".join(f'{name} = "..."' for name in outputs)
            raise EnergyError(
                f"through.{of_map.name}: this map gives {len(outputs)} fields ({', '.join(outputs)}), got one"
                f" name '{paired}'; write {{ {table} }}, or some of these"
            )
        paired = dict.fromkeys(outputs, paired)
    if strange := [name for name in paired if name not in outputs]:
        raise EnergyError(f"through.{of_map.name}: {unknown('output', strange[0], outputs)}")
    return {outputs[name].name: v for name, v in paired.items()}


def _quantity(factor: float | str, units: UnitSystem) -> tuple[float, str]:
    """A factor, which is a number or a quantity of any dimension: in the run's units, and its SI unit."""
    if not isinstance(factor, str):
        return factor, "1"
    _, unit = parse_quantity(factor)
    return units.convert(factor, base_units(unit)), base_units(unit)
