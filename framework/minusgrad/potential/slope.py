"""Slopes: fields that are derivatives of an energy, g = c dE/dz, and the transpose of maps.

E is a potential of its own, which is no part of U. Or it pairs the outputs of maps, y = sum of f(z), with
fields V of their shape, E = sum of V.y; then g = c (dy/dz)' V: the map that scatters particles to a grid
gives the gather from the grid.

    forward     g  = c dE/dz                       a gradient
    tangent     g. = c (d2E/dz dq) q.              a product
    adjoint     lq = (d2E/dq dz) (c lg)            the same product: a Hessian is symmetric

So slopes have first derivatives. Their second ones would be third derivatives of E.

Decisions 0299.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

from ..codegen.derivative_request import DerivativeRequest, Derivatives
from ..energies.declaration import identifier
from ..energies.fields import Field, Fields
from ..engine.kernels import BoundKernel, Code, at_each, real, short_loops_serial
from ..errors import EnergyError, choices
from ..scene.units import ONE, base_units, parse_unit
from .staged.staged_term import StagedTerm


class SlopeEnergy(Protocol):
    """The energy of a slope: a `Potential`."""

    fields: Fields

    @property
    def terms(self) -> Mapping[str, Any]: ...

    @property
    def parts(self) -> Mapping[str, Any]: ...

    @property
    def kernels(self) -> Mapping[str, Any]: ...

    @property
    def map_outputs(self) -> Mapping[str, Field]: ...

    @property
    def reads(self) -> set[str]: ...

    @property
    def uses_time(self) -> bool: ...

    def sweep(self, request: DerivativeRequest, t: float = 0.0) -> Derivatives: ...

    def add_output_tangents(self, tangents: Mapping[str, Any], into: Mapping[str, Any], t: float) -> None: ...

    def over(self, fields: Fields, twins: dict[str, Any]) -> "SlopeEnergy": ...


class Slope:
    """Fields g = c dE/dz, computed in the order of a potential's maps; `gives`: the name of g for each z.

        Slope("stress", Potential(fields, [rubber], frozen=True), {"F": "P"})                   P = dE/dF
        Slope("gather", Potential(fields, [], [scatter], frozen=True), {"v": "new_v"}, paired={"p": "V"})

    energy: E. factor: c, one number or one for each z. paired: the field V for each output of the energy's
    maps; without it E is the potential's value. unit: of g, of all or by z; default that of E over that of z,
    times that of c, which `factor_unit` gives by z (default 1).
    Outputs have the shape of z. Raises `EnergyError` for a z on which E does not depend, staged energies, an
    energy beside pairs, V that do not fit, and a name of g that a state has.
    """

    def __init__(
        self,
        name: str,
        energy: SlopeEnergy,
        gives: Mapping[str, str],
        factor: float | Mapping[str, float] = 1.0,
        paired: Mapping[str, str] | None = None,
        unit: str | Mapping[str, str] | None = None,
        factor_unit: Mapping[str, str] | None = None,
    ):
        self.name, self.energy, self.paired = identifier(name, "a slope"), energy, dict(paired or {})
        self._refuse_unlike(gives)
        fields = energy.fields
        self.factor = {z: float(factor[z] if isinstance(factor, Mapping) else factor) for z in gives}
        self.gives: dict[str, Field] = {}
        for z, given in gives.items():
            of_z = fields[z]
            of_g = (unit.get(z) if isinstance(unit, Mapping) else unit) or self._factor_unit(
                of_z, (factor_unit or {}).get(z, "1")
            )
            self.gives[z] = fields.derive(identifier(given, "a field"), len(of_z), of_g, of_z.shape[1:])

    def _refuse_unlike(self, gives: Mapping[str, str]) -> None:
        what, energy = f"slope '{self.name}'", self.energy
        if not gives:
            raise EnergyError(f"{what}: gives no field; name the derivative by at least one field")
        staged = [p for p in energy.parts.values() if isinstance(p, StagedTerm) and not p.linear]
        if staged:
            kind = "map" if staged[0].outputs else "energy"
            raise EnergyError(
                f"{what}: '{staged[0].name}' is a staged {kind}, which has no second derivatives; use a local"
                " one"
            )
        if bool(energy.terms) == bool(self.paired):
            raise EnergyError(
                f"{what}: needs the terms of an energy, or pairs of a map's output and a field, got"
                f" {'both' if self.paired else 'neither'}; give one of them"
            )
        if strange := [y for y in self.paired if y not in energy.map_outputs]:
            known = choices(strange[0], list(energy.map_outputs))
            raise EnergyError(f"{what}: '{strange[0]}' is no output of its maps{known}")
        for y, v in self.paired.items():
            if energy.fields[v].shape != energy.fields[y].shape:
                raise EnergyError(
                    f"{what}: '{y}' has shape {list(energy.fields[y].shape)}, got '{v}' of shape"
                    f" {list(energy.fields[v].shape)}; pair it with a field of its shape"
                )
        self._refuse_unlike_sums()
        if strange := [z for z in gives if z not in energy.reads]:
            known = choices(strange[0], sorted(energy.reads))
            raise EnergyError(f"{what}: its energy does not depend on '{strange[0]}'{known}")

    def _refuse_unlike_sums(self) -> None:
        """Refuse a sum of pairs in different units; a unit "1" may be an unknown one, and fits all."""
        units = {y: (self.energy.fields[y].unit, self.energy.fields[v].unit) for y, v in self.paired.items()}
        known = {y: parse_unit(a).times(parse_unit(b)) for y, (a, b) in units.items() if "1" not in (a, b)}
        first, *others = known.items() or [("", ONE)]
        for y, unit in others:
            if unit.dimension != first[1].dimension:
                pairs = [f"{n} . {self.paired[n]} in {base_units(known[n])}" for n in (first[0], y)]
                raise EnergyError(f"slope '{self.name}': sums {' and '.join(pairs)}; make a slope of each")

    def _factor_unit(self, of_z: Field, of_factor: str) -> str:
        """That of c E over that of z; "1", which fits all roles, if one of them is not known."""
        fields = self.energy.fields
        pairs = [parse_unit(fields[y].unit).times(parse_unit(fields[v].unit)) for y, v in self.paired.items()]
        of_energy = pairs[0] if pairs else parse_unit("J")
        if of_z.unit == "1" or of_energy.dimension == ONE.dimension:
            return "1"
        of_g = of_energy.times(parse_unit(of_z.unit).power(Fraction(-1))).times(parse_unit(of_factor))
        return base_units(of_g)

    def over(self, fields: Fields, twins: dict[str, Any]) -> "Slope":
        """A copy over other fields of the same names. `twins`: the copies of terms made so far, by name."""
        gives, unit = ({z: getattr(g, what) for z, g in self.gives.items()} for what in ("name", "unit"))
        return Slope(self.name, self.energy.over(fields, twins), gives, self.factor, self.paired, unit)

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that its outputs depend on, by name."""
        names = self.energy.reads | set(self.paired.values())
        return {name: self.energy.fields[name] for name in sorted(names)}

    @property
    def uses_time(self) -> bool:
        """Whether its energy depends on the time explicitly."""
        return self.energy.uses_time


class SlopeKernels:
    """The kernels of a slope in a potential: a call computes the outputs; `sweep` is its adjoint.

    `adjoints`: dU/dg for each output g, by its name.
    """

    writes_every_node = False

    def __init__(self, slope: Slope, adjoints: Mapping[str, Field]):
        self.slope, self._energy = slope, slope.energy
        fields = slope.energy.fields
        self._seeds = {y: fields[v].array for y, v in slope.paired.items()}
        self._outputs = {z: g.array for z, g in slope.gives.items()}
        self.forward = DerivativeRequest(gradient=self._outputs, seeds=self._seeds)
        self._adjoints = {z: adjoints[g.name].array for z, g in slope.gives.items()}
        self.along = {z: fields[z].twin().array for z in slope.gives}
        """The adjoints times their factors: the tangents of the product."""
        self.weighed = self._scaled_stores(self.along, self._adjoints)
        self._weigh = BoundKernel(short_loops_serial(self.weighed))
        self._scales: dict[int, BoundKernel] = {}

    def __call__(self, t: float) -> None:
        self._energy.sweep(self.forward, t)
        self._scale_in_place(self._outputs)

    @property
    def scaling_loops(self) -> Code:
        """Loops that multiply the outputs with their factors."""
        return self._scaled_stores(self._outputs, self._outputs) if self._has_factors else Code("")

    def tangents(self, tangents: Mapping[str, Any], into: Mapping[str, Any], t: float) -> None:
        """Overwrite the arrays `into`, by z, with the tangents of the outputs along others by their names."""
        energy = self._energy
        arguments = {n for n in tangents if n.partition(".")[0] in energy.parts}
        known = {n: w for n, w in tangents.items() if n in energy.reads or n in arguments or n == "t"}
        paired = {y: tangents[v] for y, v in self.slope.paired.items() if v in tangents}
        for array in into.values():
            array.fill(0)
        if known:
            request = DerivativeRequest(product=into, tangents=known, seeds=self._seeds, adds=True)
            energy.sweep(request, t)
        if paired:
            energy.sweep(DerivativeRequest(gradient=into, seeds=paired, adds=True), t)
        self._scale_in_place(into)

    def sweep(self, wanted: DerivativeRequest, t: float) -> Derivatives:
        """Add dU/d(field) to the arrays of `wanted`, by field; its slopes are by the energy's names."""
        self._weigh()
        request = self.adjoint(wanted)
        found = self._energy.sweep(request, t).changes if request else {}
        if into := self.by_output(wanted):
            self._energy.add_output_tangents(self.along, into, t)
        return Derivatives(slopes=found)

    def adjoint(self, wanted: DerivativeRequest) -> DerivativeRequest:
        """The request to the energy for dU/d(field), except for the fields that outputs are paired with."""
        product = {n: a for n, a in wanted.gradient.items() if n in self._energy.reads}
        return DerivativeRequest(
            product=product, changes=wanted.slopes, tangents=self.along, seeds=self._seeds, adds=True
        )

    def by_output(self, wanted: DerivativeRequest) -> dict[str, Any]:
        """The arrays of `wanted` for fields that outputs are paired with, by output: its tangent is added."""
        return {y: wanted.gradient[v] for y, v in self.slope.paired.items() if v in wanted.gradient}

    @property
    def _has_factors(self) -> bool:
        return any(c != 1.0 for c in self.slope.factor.values())

    def _scale_in_place(self, arrays: Mapping[str, Any]) -> None:
        """Multiply arrays, by z, with the factors."""
        if not self._has_factors:
            return
        key = id(next(iter(arrays.values())))
        if key not in self._scales:
            self._scales[key] = BoundKernel(short_loops_serial(self._scaled_stores(arrays, arrays)))
        self._scales[key]()

    def _scaled_stores(self, into: Mapping[str, Any], arrays: Mapping[str, Any]) -> Code:
        """Loops that store c times each of `arrays` in `into`, by z."""
        pieces = []
        for k, (z, c) in enumerate(self.slope.factor.items()):
            kind = real(self._energy.fields.dtype)
            times = "" if c == 1.0 else f"{kind}({c!r}) * "
            line = f"w{k}[{{at}}] = {times}l{k}[{{at}}]"
            pieces.append(Code(at_each(f"w{k}", into[z], line), {f"w{k}": into[z], f"l{k}": arrays[z]}))
        return Code.joined(pieces)
