"""The stages of a CustomGBForce as maps and energies, by its own expressions.

    computed values    y_i = sum_{j != i} f(r_ij, parameters of i, of j)      a map over pairs
                       y_i = f(parameters of i, values before, x, y, z)       a map over nodes
    energy terms       U = sum_i u(parameters and values of i, x, y, z)       an energy over nodes
                       U = sum_{i<j} u(r_ij, parameters and values of both)   an energy over pairs

Stages of pairs leave excluded pairs out (ParticlePair) or take all (ParticlePairNoExclusions). Global
parameters are parameters of one map over nodes, which gives each of them to every particle, so that the
derivative by one of them is one number however many stages read it. Numbers are those of OpenMM: nm, kJ/mol,
e; lengths and U are converted in the source. OpenMM User Guide 8, "CustomGBForce".

Decisions 0153.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    Cutoff,
    EnergyError,
    Fields,
    LinkedPairs,
    Node,
    Output,
    Parameter,
    UnitSystem,
    UserError,
    local_energy,
    local_map,
    printable,
)

from ..custom.custom_force import KnownTable, particle_number
from ..custom.emission import Symbols, argument_names, compiled_function, write_function
from ..custom.expressions import parse_expression
from ..custom.smooth_names import smooth_names
from ..custom.tabulated import Tabulated
from ..forces.pair_cutoff import beyond_all_pairs

SINGLE, PAIRS, ALL_PAIRS = range(3)
"""Types of stages by their number in files; PAIRS leave exclusions out."""
VECTOR = Node("m", ("d",))


COMPUTED, CHANGED = np.linspace(0.5, 1.5, 11), np.linspace(0.9, 1.1, 11)
"""What checks of energies draw: computed values, and global parameters in units of their own."""


@dataclass(frozen=True)
class Stage:
    """A computed value, with its name, or an energy term, without one. type: SINGLE, PAIRS or ALL_PAIRS."""

    text: str
    type: int
    name: str = ""


@dataclass(frozen=True)
class CustomBorn:
    """A CustomGBForce. what: begins messages. term: begins the names of its parts.

    parameters: values (n,) of particles by name. constants: global parameters. exclusions (E, 2).
    """

    what: str
    term: str
    parameters: Mapping[str, np.ndarray]
    values: Sequence[Stage]
    energies: Sequence[Stage]
    constants: Mapping[str, float] = field(default_factory=dict)
    functions: Mapping[str, Tabulated] = field(default_factory=dict)
    exclusions: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int32))

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of functions by the names of OpenMM."""
        values = [stage.name for stage in self.values]
        return argument_names([*self.parameters, *self.constants, *self.functions, *values])

    def field_of(self, name: str) -> str:
        """The field of a parameter of particles, a global one or a computed value."""
        return f"{self.term}_{self.arguments[name]}"


def custom_solvent(
    born: CustomBorn, fields: Fields, within: Cutoff | None, units: UnitSystem | None = None
) -> Compound:
    """The maps and energies of a CustomGBForce over fields x and `field_of` each parameter of particles.

    within: the sharp cutoff of all stages of pairs; None: every pair. Maps are called as their fields, that
    of global parameters `term`_globals, energies `term`_energy_1, ... Raises `UserError` for expressions that
    cannot be read, and for energies of pairs that change when the particles are exchanged.
    """
    return _Stages(born, fields, within, units or UnitSystem.si()).compound()


class _Stages:
    """Binds one stage after another."""

    def __init__(self, born: CustomBorn, fields: Fields, within: Cutoff | None, units: UnitSystem):
        self.born, self.fields, self.within, self.units = born, fields, within, units
        self.names = born.arguments
        self.known = [*born.parameters, *born.constants]
        """Names of the fields that a stage may read."""

    def compound(self) -> Compound:
        maps = [self._constants_map()] if self.born.constants else []
        for stage in self.born.values:
            maps.append(self._bound(stage, f"computed value '{printable(stage.name, 40)}'", self._map_of))
            self.known.append(stage.name)
        terms = []
        for k, stage in enumerate(self.born.energies):
            declare = partial(self._energy_of, f"{self.born.term}_energy_{k + 1}")
            terms.append(self._bound(stage, f"energy term {k + 1}", declare))
        return Compound(terms, maps)

    def _constants_map(self) -> Any:
        """The map that gives global parameters to all particles."""
        own: dict[str, Any] = {
            self.names[name]: Parameter("1", default=value) for name, value in self.born.constants.items()
        }
        name = f"{self.born.term}_globals"
        source = f"def {name}(x, {', '.join(own)}):\n    return {', '.join(own)}\n"
        outputs = {argument: Output() for argument in own}
        made = local_map(name, over="nodes", gives=outputs, x=VECTOR, **own)(compiled_function(name, source))
        given = {self.names[name]: self.born.field_of(name) for name in self.born.constants}
        return bind(made, self.fields, gives=given, units=self.units)

    def _bound(self, stage: Stage, which: str, declare: Any) -> Any:
        """The term of a stage."""
        what = f"{self.born.what}: {which}"
        made, options = declare(stage, what), {}
        read = {self.names[name]: self.born.field_of(name) for name in self.known}
        tables = {self.names[name]: one.table for name, one in self.born.functions.items()}
        if stage.type != SINGLE:
            options = self._pair_options(stage)
        return bind(
            made, self.fields, renamed={a: one for a, one in read.items() if a in made.roles},
            tables={a: one for a, one in tables.items() if a in made.roles}, units=self.units, **options,
        )  # fmt: skip

    def _pair_options(self, stage: Stage) -> dict[str, Any]:
        """The cutoff and the exclusions of a stage of pairs."""
        excluded = stage.type == PAIRS and len(self.born.exclusions) > 0
        within = self.within
        if excluded and within is None:
            within = beyond_all_pairs(self.fields, self.units)
        return {"cutoff": within, "exclude": LinkedPairs.of(self.born.exclusions) if excluded else None}

    def _map_of(self, stage: Stage, what: str) -> Any:
        """The map of a computed value."""
        name = self.born.field_of(stage.name)
        function, roles = self._function(stage, what, name, 1.0)
        over = "nodes" if stage.type == SINGLE else "pairs"
        return local_map(name, over=over, gives=name, **roles)(function)

    def _energy_of(self, name: str, stage: Stage, what: str) -> Any:
        """The energy of a term."""
        function, roles = self._function(stage, what, name, self.units.convert("1 kJ/mol", "J"))
        if stage.type == SINGLE:
            return local_energy(name, over="nodes", **roles)(function)
        try:
            return local_energy(name, over="pairs", symmetries=("translation", "rotation"), **roles)(function)
        except EnergyError as error:
            if "unordered" not in str(error):
                raise
            text = "must be the same where particles 1 and 2 are exchanged, got another; write it symmetric"
            if "= nan" in str(error):
                text = "must be a number for particles about a nanometre apart, got nan; define it there"
            raise UserError(f"{what}: its energy {text}") from None

    def _function(self, stage: Stage, what: str, name: str, factor: float) -> tuple[Any, dict[str, Any]]:
        """The function of a stage, and the roles of its arguments."""
        pairs = stage.type != SINGLE
        variables, opening = self._variables(pairs)
        numbers = {name: one.arity for name, one in self.born.functions.items()}
        expression = parse_expression(what, stage.text, variables, numbers)
        calls = {n: partial(one.call_text, self.names[n]) for n, one in self.born.functions.items()}
        write = partial(
            write_function, name, opening=opening if pairs or {*"xyz"} & {*expression.variables} else [],
            expression=expression, symbols=Symbols(variables, {"r": "rr_"} if pairs else {}, calls=calls),
            factor=factor, claim="A stage of a CustomGBForce of OpenMM, by its own expression.",
        )  # fmt: skip
        words = {*re.findall(r"[A-Za-z_]\w*", write(arguments=()).partition("\n")[2])}
        smooth = smooth_names(expression, [n for n, one in self.born.functions.items() if not one.ranges])
        roles = {argument: role for argument, role in self._roles(smooth).items() if argument in words}
        if not any(isinstance(role, Node) for role in roles.values()):
            roles["x"] = VECTOR
        return compiled_function(name, write(arguments=(*roles,))), roles

    def _variables(self, pairs: bool) -> tuple[dict[str, str], list[str]]:
        """The text of each variable that a stage may read, and the lines that make r, or x, y, z."""
        nanometre = self.units.convert("1 nm", "m")
        scale = "" if nanometre == 1.0 else f"{1.0 / nanometre!r} * "
        found: dict[str, str] = {}
        for name in self.known:
            argument = self.names[name]
            if pairs and name in self.born.constants:  # u of a pair is the same where the two are exchanged
                found[name] = f"(0.5 * ({argument}[0] + {argument}[1]))"
            elif pairs:
                found |= {f"{name}{k + 1}": f"{argument}[{k}]" for k in range(2)}
            else:
                found[name] = f"{argument}[0]"
        if pairs:
            lines = [f"d_ = {scale}(x[0] - x[1])", "rr_ = d_.norm_sqr()", "r_ = ti.sqrt(rr_)"]
            return found | {"r": "r_"}, lines
        return found | {axis: f"p_[{k}]" for k, axis in enumerate("xyz")}, [f"p_ = {scale}x[0]"]

    def _roles(self, smooth: Collection[str]) -> dict[str, Any]:
        """The roles of all that a stage may read; `smooth`: the variables by which it has a derivative."""
        found: dict[str, Any] = {"x": VECTOR}
        for name in self.known:
            drawn = self.born.parameters.get(name, COMPUTED)
            if name in self.born.constants:
                drawn = self.born.constants[name] * CHANGED
            fixed = not {name, f"{name}1", f"{name}2"} & {*smooth}
            about = f"'{printable(name, 40)}' of a CustomGBForce, in OpenMM's units."
            found[self.names[name]] = particle_number(drawn, fixed, about)
        for name, one in self.born.functions.items():
            found[self.names[name]] = KnownTable(axes=one.table.ndim, values=one.table)
        return found
