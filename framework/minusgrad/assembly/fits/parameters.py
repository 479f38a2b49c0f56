"""The parameters of a fit, from `[fit.parameters]`: initial fields and parameters of terms, with bounds.

Decisions 0125.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ...adjoint.equilibria.equilibrium import Equilibrium
from ...adjoint.rollout import Rollout
from ...adjoint.run_objective import FitParameter
from ...energies.fields import union_nodes
from ...energies.roles import Bounded
from ...errors import EnergyError, UnitError, UserError, at_key
from ...potential.argument_values import argument_values, set_argument_values
from ...scene.addresses import names_in, path_of
from ...scene.document import SKELETON_KEYS
from ...scene.fit_table import SoughtTable
from ...scene.units import UnitSystem, parse_unit, split_quantity
from ...steppers.minimisers.unknowns import Unknown, within_role
from ...steppers.supports.hold_numbers import HoldNumbers
from ..building.named_arguments import addresses_of, owner_of
from ..built_scene import BuiltScene


class FitParameters:
    """The parameters of a scene's fit, as `listed` for the run and as `unknowns` for the minimiser.

    `free`: the mask of each, by name (`steppers.holds`): of an initial field its free components on the
    bodies given, of a parameter of a term all. Values of an earlier fit come before `start` in the table.
    """

    def __init__(
        self, simulation: BuiltScene, tables: dict[str, SoughtTable], function: Rollout | Equilibrium
    ):
        self.simulation, self.function, self._tables = simulation, function, tables
        self.listed: list[FitParameter] = []
        self.unknowns: list[Unknown] = []
        self.free: dict[str, np.ndarray] = {}
        for name, table in tables.items():
            with simulation.placed(("fit", "parameters", name)):
                self._add(name, table)

    def label(self, name: str, place: list[int]) -> str:
        """The name of one component: `m[saturn]`, `x[jupiter].y`, `gravity.G`, `spring.k[7]`."""
        if not place:
            return name
        names = () if "." in name else self.simulation.state.names
        axes = "".join(f".{'xyz'[k] if k < 3 else k}" for k in place[1:])
        return f"{name}[{names[place[0]] if names else place[0]}]{axes}"

    def given_unit(self, parameter: FitParameter) -> tuple[str, float]:
        """The unit in which a user gives a parameter, and its size in the run's; ("", 1.0) for the run's.

        That of a quantity in its table, or in the scene; else the declared one, where the run computes in it.
        """
        table, units, si = self._tables[parameter.name], self.simulation.units, UnitSystem.si()
        given = [*_texts([table.lower, table.upper, table.start, table.scale])]
        for text in given or _texts([self._in_scene(parameter.name)]):
            with suppress(UnitError):
                if name := split_quantity(text)[1]:
                    return name, units.convert(f"1 {name}", si.symbol(parameter.unit))
        is_its_own = units.names and units.in_si(parameter.unit) == parse_unit(parameter.unit).factor
        return (parameter.unit, 1.0) if is_its_own and parameter.unit != "1" else ("", 1.0)

    def _in_scene(self, name: str) -> Any:
        """The value at an address of the scene; None where there is none."""
        data = self.simulation.scene.document.data
        try:
            here: Any = data
            for step in path_of(data, name.split("."), SKELETON_KEYS):
                here = here[names_in(here)[step]]
        except (UserError, LookupError):
            return None
        return here

    def _add(self, name: str, table: SoughtTable) -> None:
        if self.simulation.fitted is not None and name in self.simulation.fitted.values:
            table = table.model_copy(update={"start": None})
        parameter, free = self._of_term(name, table) if "." in name else self._of_field(name, table)
        chosen, unit = np.atleast_1d(parameter.start)[free], parameter.unit
        usual = {"scale": float(np.abs(chosen).max(initial=0.0)) or 1.0, "lower": -inf, "upper": inf}
        sizes = {}
        for key, other in usual.items():
            with at_key(key):
                given = getattr(table, key)
                sizes[key] = other if given is None else self._converted(given, unit)
        unknown = Unknown(name, **sizes, rate=table.rate)
        for what, role in self._roles(name):
            unknown = within_role(unknown, what, role)
        bound = "lower" if (chosen < unknown.lower).any() else "upper"
        with at_key(bound if table.start is None else "start"):
            refuse_outside(chosen, unknown)
        self.listed.append(parameter)
        self.unknowns.append(unknown)
        self.free[name] = free

    def _of_field(self, name: str, table: SoughtTable) -> tuple[FitParameter, np.ndarray]:
        """An initial field, without its held components; of an equilibrium any field, but those sought."""
        simulation = self.simulation
        if name not in simulation.fields and (meant := addresses_of(self.function, name)):
            raise EnergyError(f"no field named '{name}'; did you mean {' or '.join(map(repr, meant))}?")
        field = simulation.fields[name]
        if name in simulation.fields.derived:
            raise EnergyError(f"'{name}': is computed by a map; fit the fields that it depends on")
        with at_key("body"):
            bodies, free = simulation.bodies(table.body, len(field)), np.zeros(field.shape, bool)
        nodes = union_nodes(bodies) if bodies else np.arange(len(field))
        free[nodes] = self.function.inputs_of(name)[nodes]
        if isinstance(self.function, Equilibrium) and not free.any():
            raise EnergyError(f"'{name}': is sought on all of these nodes; fit nodes that are held")
        start = field.values.astype(np.float64)
        if table.start is not None:
            start[nodes] = self._start(table.start, field.unit, start[nodes].shape)
        return FitParameter(name, start, partial(self.function.set_input, name), field.unit), free

    def _of_term(self, name: str, table: SoughtTable) -> tuple[FitParameter, np.ndarray]:
        """A parameter or datum of a term, whatever it is part of, or a number of a hold."""
        if table.body is not None:
            with at_key("body"):
                raise EnergyError(f"'{name}': a parameter of a term has no `body`; leave it out")
        potential = owner_of(self.function, name)
        if isinstance(potential, HoldNumbers):
            start, unit = potential.parameter(name).astype(np.float64), potential.unit(name)
            put: Callable[[Any], None] = partial(potential.set_parameter, name)
        else:
            start = argument_values(potential, name).astype(np.float64)
            unit = potential.roles_of(name)[0][1].unit
            put = partial(set_argument_values, potential, name)
        if table.start is not None:
            start = np.array(self._start(table.start, unit, start.shape))
        parameter = FitParameter(name, start, put, unit)
        return parameter, np.ones(np.atleast_1d(start).shape, bool)

    def _roles(self, name: str) -> list[tuple[str, Bounded]]:
        """The roles of a field or a parameter, each with the name of its argument."""
        potential = owner_of(self.function, name) if "." in name else self.simulation.potential
        if isinstance(potential, HoldNumbers):
            return []
        return [(what, role) for what, role in potential.roles_of(name) if isinstance(role, Bounded)]

    def _start(self, given: Any, unit: str, shape: tuple[int, ...]) -> np.ndarray:
        with at_key("start"):
            values = np.array(self._converted(given, unit))
            if values.shape not in ((), shape, shape[1:]):
                one = f" or {list(shape[1:])}" if len(shape) > 1 else ""
                raise EnergyError(f"start has shape {list(values.shape)}, needs {list(shape)}{one}")
            return np.broadcast_to(values, shape)

    def _converted(self, given: Any, unit: str) -> Any:
        """A number, a quantity, or a list of them, in the run's units."""
        if isinstance(given, (list, tuple)):
            return [self._converted(one, unit) for one in given]
        return self.simulation.units.convert(given, UnitSystem.si().symbol(unit))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """The texts among values and lists of values."""
    for one in values:
        if isinstance(one, str):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from _texts(one)


def refuse_outside(values: np.ndarray, unknown: Unknown) -> None:
    """Raise `EnergyError` for values at the start that are not between the bounds of an unknown."""
    outside = values[(values < unknown.lower) | (values > unknown.upper)]
    if outside.size:
        bounds = f"{unknown.lower:.6g} and {unknown.upper:.6g}"
        raise EnergyError(f"starts at {outside[0]:.6g}, which is not between its bounds {bounds}")
