"""One Custom force of a System: its expression, parameters and functions; the energy that it becomes.

    <Force type="CustomBondForce" energy="k*(r-r0)^2; r0=2*l" usesPeriodic="0" name="CustomBondForce" ...>
      <PerBondParameters> <Parameter name="k"/> ... <GlobalParameters> <Parameter name="l" default="0.1"/> ...
      <Functions> <Function name="f" type="Continuous1DFunction" ...> ...

Expressions are numbers in nm, kJ/mol, u, e, ps and rad. The energy converts lengths and its result by
constants in its source; parameters stay plain numbers in these units. A parameter of elements is a datum, one
of particles a field, a global one a parameter of the term: U has a gradient with respect to each. A global
parameter of several forces is a parameter of each of their terms, whose default values are equal, as OpenMM
demands; the derivative by the one number of OpenMM is the sum of theirs. EnergyParameterDerivatives need
nothing.

Terms are called custom_bond, custom_bond_2, ..., or as `setName` says.

Decisions 0149.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import (
    Box,
    Datum,
    Node,
    Parameter,
    Table,
    UnitSystem,
    UserError,
    local_energy,
    printable,
)

from ..forces.system_reader import SystemReader
from .emission import Symbols, Writer, argument_names, compiled_function, write_function
from .expressions import parse_expression
from .geometry import SCOPE
from .smooth_names import smooth_names
from .tabulated import Tabulated, read_tabulated

LISTS = "bonds urey_bradley angles torsions impropers constraints pairs14 exclusions rb_torsions torsion_maps"
FIELDS = "x v m charge sigma epsilon box state run view stepper"
TERMS = "lennard_jones lennard_jones_14 coulomb coulomb_14 dispersion_correction splines"
TAKEN = frozenset(f"{LISTS} {TERMS} {FIELDS}".split(" "))
"""Names of other lists, terms and fields of a System, and of parts of a scene."""
CLASS = re.compile(r"Custom(\w+)Force")


@dataclass(frozen=True)
class ParticleNumber(Node):
    """Role of a parameter of particles: draws are among its `values`, for which expressions are defined."""

    values: np.ndarray = field(default_factory=lambda: np.ones(1), compare=False, repr=False)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Some of the values."""
        return rng.choice(self.values, size=shape)


def particle_number(values: np.ndarray, fixed: bool, about: str = "") -> ParticleNumber:
    """The role of a number of particles; fixed: U has no derivative by it, as by the place in a table."""
    whole = fixed and bool((values == np.rint(values)).all())
    return ParticleNumber("1", about=about, values=values, integer=whole)


@dataclass(frozen=True)
class KnownTable(Table):
    """Role of a table whose numbers are known: draws are these `values`."""

    values: np.ndarray = field(default_factory=lambda: np.ones(1), compare=False, repr=False)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        """The values."""
        return self.values


@dataclass(frozen=True)
class CustomForce:
    """A Custom force. what: begins its messages. own: its parameters by element, and the names of arguments.

    constants: global parameters and their values. functions: those of tables. periodic: it uses the box.
    computed: expressions of values of particles, by name, which pairs read.
    """

    what: str
    term: str
    energy: str
    own: tuple[str, ...]
    constants: Mapping[str, float] = field(default_factory=dict)
    functions: Mapping[str, Tabulated] = field(default_factory=dict)
    periodic: bool = False
    computed: Mapping[str, str] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of the energy by the names of OpenMM."""
        return argument_names([*self.own, *self.constants, *self.functions], SPARE)

    def declare_energy(
        self,
        over: Any,
        units: UnitSystem,
        positions: Mapping[str, Any],
        opening: Callable[[str], Sequence[str]],
        symbols: Symbols,
        *,
        values: Mapping[str, np.ndarray] | None = None,
        points: Sequence[str] = (),
        of_points: Mapping[str, int] | None = None,
        of_numbers: Mapping[str, int] | None = None,
        symmetries: Sequence[str] = (),
        weight: str = "",
        more: Mapping[str, Any] | None = None,
    ) -> Any:
        """The energy over elements, of `positions` (roles by argument) in the run's units.

        opening: lines that make the variables of `symbols` in nanometres, from the text of a factor
        ("" for 1). values: of the parameters of particles, by argument, which pairs read; default: they are
        data. points, of_points, of_numbers: as in `parse_expression`. weight: the text of a factor of U, and
        `more` roles of its arguments. Raises `UserError` for the expression.
        """
        names, nanometre = self.arguments, units.convert("1 nm", "m")
        own = {name: names[name] for name in self.own}
        if values is not None:
            own = {f"{name}{k + 1}": f"{names[name]}[{k}]" for name in self.own for k in range(2)}
        constants = {name: names[name] for name in self.constants}
        numbers = {name: one.arity for name, one in self.functions.items()} | dict(of_numbers or {})
        calls = {name: partial(one.call_text, names[name]) for name, one in self.functions.items()}
        rough = [name for name, one in self.functions.items() if not one.ranges]
        computed = _Computed(self, own, constants, calls, rough)
        variables = {**own, **computed.variables, **constants, **symbols.variables}
        expression = parse_expression(self.what, self.energy, variables, numbers, points, of_points)
        known = replace(symbols, variables=variables, calls={**symbols.calls, **calls})
        smooth = computed.smooth_own(smooth_names(expression, rough))
        scale = "" if nanometre == 1.0 else f"{1.0 / nanometre!r} * "
        roles = {**positions, **self._roles(names, smooth, values), **(more or {})}
        write = partial(
            write_function, FUNCTION, opening=[*opening(scale), *computed.lines], count=computed.count,
            expression=expression, symbols=known, factor=units.convert("1 kJ/mol", "J"),
            claim="Energy of a Custom force of OpenMM, by its own expression.", weight=weight,
        )  # fmt: skip
        words = {*re.findall(r"[A-Za-z_]\w*", write(arguments=()).partition("\n")[2])}
        used = {argument: role for argument, role in roles.items() if argument in words}
        function = compiled_function(FUNCTION, write(arguments=(*used,)), tuple(SCOPE.items()))
        return local_energy(self.term, over=over, symmetries=symmetries, **used)(function)

    def _roles(
        self, names: Mapping[str, str], smooth: Collection[str], values: Mapping[str, np.ndarray] | None
    ) -> dict[str, Any]:
        """The roles of parameters and tables; `smooth`: the variables by which there is a derivative."""
        found: dict[str, Any] = {}
        for name in self.own:
            about = f"Parameter '{printable(name, 40)}' of a Custom force, in OpenMM's units."
            if values is None:
                found[names[name]] = Datum("1", differentiable=name in smooth, about=about)
            else:
                fixed = not {f"{name}1", f"{name}2"} & {*smooth}
                found[names[name]] = particle_number(values[names[name]], fixed, about)
        for name, value in self.constants.items():
            about = f"Global parameter '{printable(name, 40)}' of a Custom force, in OpenMM's units."
            found[names[name]] = Parameter("1", default=value, about=about)
        for name, one in self.functions.items():
            found[names[name]] = KnownTable(axes=one.table.ndim, values=one.table)
        return found

    def tables_of(self, energy: Any) -> dict[str, Any]:
        """The tables that the energy reads, by argument."""
        return {
            argument: self.functions[name].table
            for name, argument in self.arguments.items()
            if name in self.functions and argument in energy.roles
        }


class _Computed:
    """The computed values of both particles of a pair: their lines, and the text of zz1 and zz2 by name."""

    def __init__(
        self,
        force: CustomForce,
        own: Mapping[str, str],
        constants: Mapping[str, str],
        calls: Mapping[str, Any],
        rough: Collection[str],
    ):
        self.lines: list[str] = []
        self.count = 0
        self.variables: dict[str, str] = {}
        self._smooth: dict[str, set[str]] = {}
        arities = {name: one.arity for name, one in force.functions.items()}
        for name, text in force.computed.items():
            what = f"{force.what}: computed value '{printable(name)}'"
            found = parse_expression(what, text, [*force.own, *constants], arities)
            for k in "12":
                known = {one: own[f"{one}{k}"] for one in force.own}
                writer = Writer(found, Symbols({**known, **constants}, calls=calls), self.count)
                self.variables[f"{name}{k}"] = writer.hold(writer.write_value())
                self.lines += writer.lines
                self.count = writer.count
                self._smooth[f"{name}{k}"] = {f"{one}{k}" for one in smooth_names(found, rough)}

    def smooth_own(self, names: set[str]) -> set[str]:
        """The names by which there is a derivative, with those behind computed values."""
        return names.union(*(self._smooth.get(name, ()) for name in names))


BOX: dict[str, Any] = {"box": Box()}
FUNCTION = "custom_energy"
"""The name of every energy in its source."""
GROUP, GROUPS = "group_", "groups_"
SPARE = (GROUP, GROUPS)
"""Arguments of energies of pairs in groups."""


def read_force(reader: SystemReader, one: Element, per: str, staged: bool = False) -> CustomForce:
    """The force in an element; per: the tag of its own parameters. Raises `UserError`.

    staged: its energy is that of several stages, not one expression.
    """
    what = _begin_message(reader, one)
    own = [_name_of(what, p) for p in one.iterfind(f"{per}/Parameter")]
    constants = {_name_of(what, p): _default_of(what, p) for p in one.iterfind("GlobalParameters/Parameter")}
    functions = {_name_of(what, f): read_tabulated(what, f) for f in one.iterfind("Functions/Function")}
    names = [*own, *constants, *functions]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(
            f"{what}: parameters need names of their own, got two '{printable(twice[0])}'; rename one"
        )
    values = one.findall("ComputedValues/Value")
    _refuse_other_values(reader, what, constants)
    energy = "" if staged else one.get("energy")
    if energy is None:
        raise UserError(f"{what}: needs its `energy`, got none; write the file again")
    return CustomForce(
        what, term_names(reader)[id(one)], energy, tuple(own), constants, functions, reader.uses_box([one]),
        {_name_of(what, value): value.get("expression", "") for value in values},
    )  # fmt: skip


def _begin_message(reader: SystemReader, one: Element) -> str:
    """The file, the class, the number of the force in its class, and its name if it has one."""
    kind, given = one.get("type", "?"), one.get("name", "")
    number = next(k for k, other in enumerate(reader.forces[kind]) if other is one)
    return (
        f"'{reader.file}': {kind} {number}{f' ({printable(given, 40)})' if given not in ('', kind) else ''}"
    )


def _name_of(what: str, one: Element) -> str:
    name = one.get("name", "")
    if not name:
        raise UserError(f"{what}: its parameters and functions need names, got none; write the file again")
    return name


def _default_of(what: str, one: Element) -> float:
    """The value of a global parameter."""
    try:
        value = float(one.get("default", ""))
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise UserError(
            f"{what}: global parameter '{printable(one.get('name', ''))}' needs a finite default, got"
            f" '{printable(one.get('default', ''))}'; correct it"
        )
    return value


def _refuse_other_values(reader: SystemReader, what: str, constants: Mapping[str, float]) -> None:
    """Raise `UserError` where another force has another value of a global parameter, as OpenMM does."""
    for kind, elements in reader.forces.items():
        for one in elements if CLASS.fullmatch(kind) else []:
            for other in one.iterfind("GlobalParameters/Parameter"):
                name = other.get("name", "")
                value = _default_of(what, other) if name in constants else 0.0
                if value != constants.get(name, value):
                    raise UserError(
                        f"{what}: global parameter '{printable(name)}' must have one value in all forces, got"
                        f" {constants[name]:g} and {value:g}; give it the same default"
                    )


def term_names(reader: SystemReader) -> dict[int, str]:
    """The names of the terms of all Custom forces, by the identity of their elements."""
    found: dict[int, str] = {}
    taken = set(TAKEN)
    for kind, elements in reader.forces.items():
        for one in elements if CLASS.fullmatch(kind) else []:
            name = _usual_name(kind, one.get("name") or kind)
            if name in taken and not name.startswith("custom_"):
                name = f"custom_{name}"
            number, plain = 1, name
            while name in taken:
                number += 1
                name = f"{plain}_{number}"
            taken.add(name)
            found[id(one)] = name
    return found


def _usual_name(kind: str, given: str) -> str:
    """`custom_bond` of a force that keeps its class as its name, else that name as an identifier."""
    if given == kind:
        return "custom" + re.sub(r"[A-Z]+[a-z]*", lambda part: f"_{part[0].lower()}", kind[6:-5])
    plain = re.sub(r"\W+", "_", given, flags=re.ASCII).strip("_")
    return plain if plain.isidentifier() and not plain.startswith("_") else f"custom_{plain or 'force'}"
