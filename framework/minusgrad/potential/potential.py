"""The potential energy of a scene: the sum of its terms, and its derivatives.

    U(fields, parameters, t) = sum over terms, sum over elements, u(...)

Some fields may be outputs of maps, y_p = sum of f: they are recomputed from the others whenever U is
evaluated, in the order of the maps, and dU/dy is propagated back through the maps in the opposite order.

Names: a field is "x"; an argument of a term or map is "gravity.G", "spring.rest"; the time is "t".

Decisions 0040.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest, Derivatives
from ..codegen.lane_statements import Vectors
from ..codegen.loop_choice import loops_of_energy
from ..elements.trees.near_pairs import NearPairs
from ..energies.constraint import MULTIPLIER, Constraint
from ..energies.fields import BOX, Fields
from ..energies.roles import Bounded, Node, TimeStep
from ..energies.term import Term
from ..engine import runtime, storage
from ..errors import EnergyError, RangeError
from .far_pairs.tree_kernels import TreeKernels
from .hessians.potential_hessians import PotentialHessians
from .map_chain import MapChain, outputs
from .non_finite import non_finite_field, non_finite_force
from .requests.common_parameters import CommonParameters
from .requests.prepared_sweep import LentTargets, PreparedSweep
from .requests.request_plan import RequestPlan
from .requests.request_validation import RequestValidation
from .requests.term_request import owner
from .slope import Slope
from .staged.staged_term import StagedTerm
from .term_kernels import MapKernels, TermKernels
from .watches.followed_images import FollowedImages

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Potential:
    """U and its derivatives: a sum of terms over fields, some of which may be outputs of maps.

        fields = Fields({"x": positions, "m": masses})
        potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
        potential.value(), potential.gradient("x"), potential.gradient("gravity.G")

    All is computed at the present values of the fields and parameters, in their units, and at the time t:
    where none is given, the present time of its simulation, or 0 (`now`). `terms` and
    `maps` are by name, `parts` are both (of a repeated map only the last sweep), `chain` the maps in order,
    `map_outputs` the fields that they write, `kernels` the compiled code of each term and map. `frozen`: map
    outputs that none of `maps` writes keep their values. Among `maps` there may be slopes (`Slope`), whose
    outputs are derivatives of other energies; the terms of these are `parts`, too, but not summed.

    Raises `EnergyError` for two terms of one name, maps in an order in which one reads the output of a
    later one, and (unless `frozen`) map outputs without their map.
    """

    def __init__(
        self,
        fields: Fields,
        terms: Sequence[Term | StagedTerm],
        maps: Sequence[Term | StagedTerm | Slope] = (),
        *,
        frozen: bool = False,
    ):
        names = [term.name for term in (*terms, *maps)]
        if len(set(names)) != len(names):
            raise EnergyError(f"two terms have one name: {', '.join(names)}; give them a `name` each")
        if found := [term.name for term in terms if isinstance(term.energy, Constraint)]:
            raise EnergyError(
                f"'{found[0]}': is a constraint, got it among energies; give it to Constraints, or to a scene"
                " as [[constraint]]"
            )
        self.chain = MapChain(maps)
        self.fields = fields
        self.terms: dict[str, Any] = {term.name: term for term in terms}
        self.maps, self.slopes = self.chain.maps, self.chain.slopes
        self._every = self.terms | self.maps | self._parts_of_slopes()
        self.parts = {n: part for n, part in self._every.items() if owner(n, part) == n}
        self.common = CommonParameters(self.terms, self.parts)
        self.map_outputs = self.chain.outputs
        if not frozen:
            self._refuse_orphans()
        self._changing = [p for p in self._every.values() if isinstance(p, Term) and not p.elements.fixed]
        self._elements = [term.elements for term in self._changing]
        self._images = FollowedImages.of(self._every.values(), fields)
        self._reads_outputs = not self.chain.outputs.keys().isdisjoint(
            field.name for part in (*terms, *maps) for field in part.fields.values()
        )
        self._read = [fields[name].array for name in sorted(self.reads)]
        self._outputs: dict[str, Any] = {}
        self._tangents: dict[str, Any] = {}
        self._hessians = PotentialHessians(self.fields, self.terms | self.maps, self.maps)
        self.scattered = False
        self._presumed: tuple[int, float, dict[str, float]] | None = None
        self.kernels: dict[str, Any] = {}
        self.clock: Callable[[], float] | None = None
        """Gives the present time of the simulation that it belongs to."""
        self._compile_kernels()

    def __repr__(self) -> str:
        parts = ", ".join([*self.terms, *(f"map {name}" for name in self.maps if name in self.parts)])
        return f"Potential({parts}; {self.fields})"

    @contextmanager
    def scattering(self) -> Iterator[None]:
        """Context manager: code for larger kernels (`FusedCode`) adds to nodes element by element.

        For kernels in which one thread goes through all elements (`codegen.one_thread.scattered_loops`).
        """
        self.scattered = True
        try:
            yield
        finally:
            self.scattered = False

    def _compile_kernels(self) -> None:
        """Make the kernels of all parts, for their present elements, and the plans that use them."""
        kernels = {n: self._part_kernels(part) for n, part in (self.terms | self.maps).items()}
        self.kernels = kernels
        for slope in self.slopes.values():
            self.kernels |= {n: k for n, k in slope.energy.kernels.items() if n not in self.kernels}
        self._kernels = self.kernels | self.chain.differentiators | self.chain.staged
        self._owners = self._every | self.slopes
        emitters = {n: k.emitter if isinstance(k, TermKernels) else None for n, k in self.kernels.items()}
        self._hessians.use(emitters)
        self._validation = RequestValidation(self.fields, self.parts, self.kernels, self.chain, self.common)
        self._plans: dict[tuple, PreparedSweep] = {}
        self._lent: dict[tuple, LentTargets] = {}
        for kept in (self._outputs, self._tangents):
            for name in [n for n, array in kept.items() if array.shape != self.fields[n].shape]:
                del kept[name]
        self._needed: dict[tuple, frozenset[str]] = {}

    def _parts_of_slopes(self) -> dict[str, Term]:
        """The terms and maps in the energies of slopes. Raises `EnergyError` for two terms of one name."""
        found: dict[str, Term] = {}
        for slope in self.slopes.values():
            for name, part in slope.energy.parts.items():
                if (found | self.terms | self.maps).get(name, part) is not part:
                    raise EnergyError(f"two terms have one name: {name}; give them a `name` each")
                found[name] = part
        return found

    def _part_kernels(self, part: Term | StagedTerm) -> TermKernels | StagedTerm:
        if isinstance(part, StagedTerm):
            return part
        if part.name not in self.chain.loops:
            known = self.kernels.get(part.name)
            if isinstance(known, TermKernels) and known.serves(part):
                return known
        made = TreeKernels if isinstance(part.elements, NearPairs) else TermKernels
        return made(part, self.chain.loops.get(part.name) or loops_of_energy(part))

    def _refuse_orphans(self) -> None:
        """Refuse a map output without its map: it would keep the values of another potential."""
        for part in self._every.values():
            for field in part.fields.values():
                if field.name in self.fields.derived - set(self.map_outputs) - self.fields.zeros:
                    raise EnergyError(
                        f"{part.name}: reads '{field.name}', the output of a map that is missing here;"
                        " add the map to `maps`"
                    )

    def twin(self, images_stay: bool | None = None) -> "Potential":
        """An independent copy: the same terms over copies of the fields, data and parameters.

        images_stay: whether images of listed tuples are those of the start whatever positions are written
        (default: as here).
        """
        fields = self.fields.twin()
        fields.images_stay = fields.images_stay if images_stay is None else images_stay
        return self.over(fields, {})

    def over(self, fields: Fields, twins: dict[str, Any]) -> "Potential":
        """A copy over other fields of the same names. `twins`: the copies of terms made so far, by name."""

        def twin(part: Term | StagedTerm) -> Any:
            if part.name not in twins:
                made: Any = part.twin(fields)
                if isinstance(part, Term) and part.owner:
                    made = made.sharing(twins.setdefault(f"the sweeps of {part.owner}", made))
                twins[part.name] = made
            return twins[part.name]

        slopes = {n: slope.over(fields, twins) for n, slope in self.slopes.items()}
        maps = [slopes[n] if n in slopes else twin(part) for n, part in self.chain.parts.items()]
        made = Potential(fields, [twin(part) for part in self.terms.values()], maps, frozen=True)
        made.clock = partial(float, self.now)
        return made

    @property
    def now(self) -> float:
        """The time t where none is given: the present one of its simulation, of a copy that of its making."""
        return 0.0 if self.clock is None else self.clock()

    @property
    def reads(self) -> set[str]:
        """The names of the fields that U depends on, without map outputs."""
        parts = [*self.terms.values(), *self.chain.parts.values()]
        read = {f.name for part in parts for f in part.fields.values()}
        read |= {f.name for part in parts if isinstance(part, Term) for f in part.uniform.values()}
        return read - set(self.map_outputs)

    @property
    def writes(self) -> int:
        """How often fields, parameters and data that U depends on were overwritten; it only grows.

        Kernels do not count, so a stepper counts its own writes. Equal numbers mean that a value or
        gradient computed before is still that of the present fields and parameters.
        """
        return sum([array.writes for array in self._read]) + sum([p.writes for p in self.parts.values()])

    def roles_of(self, name: str) -> list[tuple[str, Bounded]]:
        """The roles that a field or a parameter "term.argument" has in terms and maps, with their names."""
        if name not in self.fields:
            return [(name, self.parts[term].energy.roles[a]) for term, a in self.places_of(name)]
        return [
            (f"{part}.{argument}", role)
            for part, bound in self._every.items()
            for argument, role in bound.energy.of_role(Node).items()
            if bound.fields[argument].name == name
        ]

    @property
    def owners(self) -> list[str]:
        """What arguments belong to: the names of terms and maps, and of blocks with common parameters."""
        return [*self.parts, *self.common.blocks]

    def places_of(self, name: str) -> list[tuple[str, str]]:
        """The terms, with the argument, that an address means: several of a parameter that they share."""
        return self.common.places_of(name)

    @property
    def computed(self) -> list[tuple[str, Term | StagedTerm | Slope, list[str]]]:
        """The maps and slopes in order: name, object, and the names of the fields that it writes."""
        return [(n, part, [f.name for f in outputs(part)]) for n, part in self.chain.parts.items()]

    @property
    def uses_time(self) -> bool:
        """Whether any term depends on the time explicitly."""
        return any(part.uses_time for part in self.parts.values())

    @property
    def time_steps(self) -> list[str]:
        """The arguments "term.argument" that are the time step of a program (`TimeStep`)."""
        return [f"{n}.{a}" for n, part in self.parts.items() for a in part.energy.of_role(TimeStep)]

    @property
    def arguments(self) -> list[str]:
        """The parameters and differentiable data of all parts, by their names "term.argument".

        Multipliers of constraints are unknowns of a step, and no data.
        """
        found = []
        for part in self.parts.values():
            if isinstance(part, Term):
                values = {*part.parameters, *part.data}
                own = [a for a in part.energy.differentiable if a in values and a != MULTIPLIER]
                found += [part.address(a) for a in own]
            elif part.outputs:
                found += [f"{part.name}.{a}" for a in part.energy.differentiable if a in part.inputs]
        return list(dict.fromkeys(found))

    @property
    def in_lanes(self) -> list[str]:
        """The names of the terms whose kernels compute a block of elements at a time (SIMD)."""
        kernels = {n: k for n, k in self.kernels.items() if isinstance(k, TermKernels)}
        return [name for name, k in kernels.items() if isinstance(k.emitter, Vectors)]

    # Value

    def refresh(self, t: float | None = None, needed: Collection[str] | None = None) -> None:
        """Rebuild elements that are out of date, then recompute the map outputs from the present fields.

        Every evaluation begins with it. Elements see the map outputs of the refresh before. needed: the maps
        and slopes that are run (default: all).
        """
        t = self.now if t is None else t
        if self._images is not None:
            self._images.follow(partial(self.chain.compute_places, t))
        if self._changing:
            self._rebuild_elements(t)
        self.chain.refresh(t, needed)

    def _prepare(self, request: DerivativeRequest, key: tuple, t: float) -> None:
        """`refresh`; for the adjoints of outputs alone without those that no kernel of the sweep reads."""
        if self._images is not None:
            self._images.follow(partial(self.chain.compute_places, t))
        if not self.refreshes(request):
            if self._changing:
                self._rebuild_elements(t)
            self.chain.refresh(t, ())
        elif request.only_seeds and self.fixed:
            if key not in self._needed:
                self._needed[key], _ = self.chain.needed_parts(self.read_back(request), request.known)
            self.chain.refresh(t, self._needed[key])
        else:
            self.refresh(t)

    def _rebuild_elements(self, t: float) -> None:
        if any(elements.listed for elements in self._elements):
            if self.chain.to_places:
                self.chain.compute_places(t)
            self.fields.follow_lists()
        elements = [term.rebuild() for term in self._changing]
        if any(new is not old for new, old in zip(elements, self._elements, strict=True)):
            self._elements = elements
            self.chain.compile()
            self._compile_kernels()

    def refuse_exits(self) -> None:
        """Refuse windows that leave their grids, of all maps that do not declare their treatment."""
        local = [m for m in self.maps.values() if isinstance(m, Term)]
        undeclared = [m for m in local if m.grid and m.outside is None]
        for of_map in undeclared:
            of_map.outside = "refuse"
        if undeclared:
            self.chain.compile()
            self._compile_kernels()

    @property
    def stays(self) -> bool:
        """True if no element depends on where nodes were before: none is rebuilt, no image is followed."""
        return self.fixed and self._images is None

    @property
    def barriers(self) -> list[str]:
        """The terms that are finite on a part of space alone, which no step may leave (`free_part`)."""
        return [name for name, part in self._every.items() if _is_barrier(part)]

    def free_part(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
        """The part of the straight way between values of fields, by name, on which U is finite.

        Fields that are not given are as they are now. 1.0: all of it; smaller numbers are safe.
        """
        found = 1.0
        for name in self.barriers:
            part = self._every[name]
            ends = ({a: x.get(f.name, f.values) for a, f in part.fields.items()} for x in (before, after))
            found = min(found, part.elements.free_part(*ends))
        return found

    def refuse_crossed(self) -> None:
        """Raise `EnergyError` where nodes have passed a barrier, though numbers are finite."""
        for name in self.barriers:
            part = self._every[name]
            if text := part.elements.trouble({a: f.values for a, f in part.fields.items()}):
                raise EnergyError(f"{name}: {text}")

    @property
    def fixed(self) -> bool:
        """True if no term's elements are ever rebuilt, so that a kernel may take several steps."""
        return not self._changing

    def by_term(self, t: float | None = None) -> dict[str, float]:
        """The energy of each term at time t, by name; summed in fixed order in double precision."""
        t = self.now if t is None else t
        if self._presumed and self._presumed[:2] == (self.writes, t):
            return dict(self._presumed[2])
        self.refresh(t)
        return {name: self.kernels[name].value(t) for name in self.terms}

    def presume(self, energies: Mapping[str, float], t: float) -> None:
        """Take these energies for those of the terms at time t, until a field or parameter is written.

        For one who computed them otherwise, such as for all members of an ensemble at once.
        """
        self._presumed = self.writes, t, dict(energies)

    def value(self, t: float | None = None) -> float:
        """U at the present fields and parameters, and at time t."""
        return sum(self.by_term(t).values())

    def magnitude(self, t: float | None = None) -> float:
        """Sum of |u| over the elements (pairs: over the targets): the scale of the rounding in U."""
        t = self.now if t is None else t
        self.refresh(t)
        return sum(self.kernels[name].magnitude(t) for name in self.terms)

    def by_element(self, name: str, t: float | None = None) -> np.ndarray:
        """The energy of each element of a term, (E,) in f64; of pairs, for each target i with all j < i.

        Raises `EnergyError` for an unknown name, a map, and a staged term.
        """
        if not isinstance(self._validation.kernels(name), TermKernels) or name in self.maps:
            raise EnergyError(f"'{name}': is no sum of element energies; use by_term")
        t = self.now if t is None else t
        self.refresh(t)
        kernels = self.kernels[name]
        assert isinstance(kernels, TermKernels)
        return kernels.by_element(t)

    # Derivatives

    def gradient(self, wrt: str, t: float | None = None) -> np.ndarray:
        """dU/d(wrt): the shape of the field (in its precision), or of the argument's values (in f64).

        Raises `EnergyError` for a name without a derivative.
        """
        if wrt not in self.fields:
            return self.sweep(DerivativeRequest(slopes=(wrt,)), t).slopes[wrt]
        out = self._output_array(wrt)
        self.gradient_into({wrt: out}, t)
        return storage.host(out).copy()

    def product(self, tangents: Mapping[str, Any], wrt: str, t: float | None = None) -> np.ndarray:
        """The change of dU/d(wrt) along tangents: sum over b of d2U/(d(wrt) d(b)) times the tangent of b.

        `tangents`: by name, each of the shape of the field, or of the argument's values; "t": a number. The
        product has the shape of `wrt` (fields in their precision, others in f64).

            potential.product({"x": w}, "x")              H w
            potential.product({"x": w}, "spring.k")       (d2U/dk dx) w
            potential.product({"spring.k": 1.0}, "x")     how the gradient changes with k

        Raises `EnergyError` for a name without a derivative, another shape, staged energies.
        """
        if not isinstance(tangents, Mapping):
            raise EnergyError('tangents: must be given by name; write potential.product({"x": w}, "x")')
        stored = {n: self._tangent_array(n, values) for n, values in tangents.items()}
        if wrt not in self.fields:
            return self.sweep(DerivativeRequest(changes=(wrt,), tangents=stored), t).changes[wrt]
        out = self._output_array(wrt)
        self.sweep(DerivativeRequest(product={wrt: out}, tangents=stored), t)
        return storage.host(out).copy()

    def hessian(
        self, wrt: str | Sequence[str], t: float | None = None, project: str | None = None
    ) -> "csr_matrix":
        """d2U/(d(wrt) d(wrt)), sparse (CSR) and in f64; of several fields over all of them, in their order.

        Row of a number: the first row of its field + node * components + component. `project`: first make
        each element's part positive semi-definite, negative eigenvalues zero ("clamp") or positive ("abs");
        where a term depends on these fields through its Linear arguments F alone, that of d2u/dF2.
        The pattern never changes, zeros are kept, and all matrices share the arrays `indices` and `indptr`:
        never write them.

        Raises `EnergyError` where it is no sum over elements (fields that maps read, stages), or too large.
        """
        t = self.now if t is None else t
        self.refresh(t)
        return self._hessians.matrix(wrt, t, project)

    def element_hessians(
        self, term: str, wrt: str | Sequence[str], t: float | None = None, project: str | None = None
    ) -> np.ndarray:
        """The Hessian of each element of a term, (E, m, m) in f64, rows by (field, slot, component).

        Of pairs, of each two nodes i < j, in the order (0, 1), (0, 2), ...; `project` and errors as in
        `hessian`.
        """
        t = self.now if t is None else t
        self.refresh(t)
        return self._hessians.elements(term, wrt, t, project)

    def gradient_into(self, targets: Mapping[str, Any], t: float | None = None) -> None:
        """Overwrite each array of `targets` (by field) with dU/d(field): one kernel for each term."""
        self._swept_into(targets, t, value=False)

    def seconds(self, fields: Iterable[str], t: float | None = None) -> float:
        """The time of one gradient by these fields, from a part of each long kernel; 0 if none is long."""
        t = self.now if t is None else t
        request = DerivativeRequest(gradient={name: self._output_array(name) for name in fields})
        plan = self.plan(request, {})
        kernels = {n: k for n, k in self.kernels.items() if isinstance(k, TermKernels)}
        times = [kernels[n].seconds(part, t) for n, part in plan.requests.items() if n in kernels]
        return sum(times) + self.chain.seconds(t)

    def evaluate_into(self, targets: Mapping[str, Any], t: float | None = None) -> float:
        """U, and its gradient as `gradient_into` gives it, in one pass over the elements."""
        return self._swept_into(targets, t, value=True).value

    def rate(self, t: float | None = None) -> float:
        """dU/dt at fixed fields: the power that an explicit dependence on time feeds in."""
        t = self.now if t is None else t
        if self.uses_time:
            self._update_adjoints(t)
        if any(self.chain.parts[n].uses_time for n in (*self.slopes, *self.chain.staged)):
            return float(self.sweep(DerivativeRequest(slopes=("t",)), t).slopes["t"])
        summed = self.terms | self.maps
        return sum(self.kernels[name].rate(t) for name, part in summed.items() if part.uses_time)

    def sweep(self, request: DerivativeRequest, t: float | None = None) -> Derivatives:
        """Any of U, gradients, and their changes along tangents, one kernel for each term.

        The request is by names of this potential. Its arrays of fields, made by `storage.allocate`, are
        overwritten; the derivatives with respect to arguments and the time are returned, in f64. Raises
        `EnergyError` for a name without a derivative, an array that is given twice, and changes of staged
        energies.
        """
        t = self.now if t is None else t
        if self.fields.box_name in request.gradient or self.fields.box_name in request.product:
            return self._swept_with_box(request, t)
        return self._sweep_without_box(request, request.key({*request.gradient, *request.product}), t)

    def repeated(self, request: DerivativeRequest) -> Callable[[float], Derivatives]:
        """`sweep` of a request without tangents that is made often, as a function of time.

        The request's mappings must stay as they are.
        """
        if self.fields.box_name in request.gradient:
            return partial(self.sweep, request)
        return partial(self._sweep_without_box, request, request.key({*request.gradient}))

    def _sweep_without_box(self, request: DerivativeRequest, key: tuple, t: float) -> Derivatives:
        """`sweep` without the box; `key`: that of the request."""
        prepared = None if request.tangents else self._plans.get(key)
        if prepared is None:
            self._validation.check(request)
        self._prepare(request, key, t)
        if prepared is None or self._changing:  # where elements have changed, all plans were dropped
            prepared = None if request.tangents else self._plans.get(key)
        if prepared is None:
            plan = self.plan(request, self.chain.with_outputs(request.tangents, t))
            prepared = PreparedSweep(plan, self._owners, self._kernels)
            if not request.tangents:
                self._plans[key] = prepared
        total = prepared(t)
        for names, values in ((request.slopes, total.slopes), (request.changes, total.changes)):
            if names:
                values.update({n: np.zeros(self.shape(n)) for n in names if n not in values})
        return total

    def _swept_into(self, targets: Mapping[str, Any], t: float | None, value: bool) -> Derivatives:
        """U, if `value`, and gradients; into arrays of NumPy without a kernel of their own."""
        t = self.now if t is None else t
        key = (value, *targets)
        if (lent := self._lent.get(key)) is None and self._can_lend(targets):
            lent = self._lent[key] = LentTargets(self.fields, value, tuple(targets))
        if lent is None or not lent.suit(targets):
            return self.sweep(DerivativeRequest(value=value, gradient=targets), t)
        with lent.lending(targets):
            return self._sweep_without_box(lent.request, lent.key, t)

    def _can_lend(self, targets: Mapping[str, Any]) -> bool:
        """True if gradients by these fields can be lent arrays: fields of one size, in NumPy's memory."""
        known = all(name in self.fields and name != self.fields.box_name for name in targets)
        return known and self.fixed and runtime.arch() == "cpu"

    def _swept_with_box(self, request: DerivativeRequest, t: float) -> Derivatives:
        """`sweep` with the box among the fields: its derivatives are sums over all elements."""
        gradient, product = dict(request.gradient), dict(request.product)
        of_box = gradient.pop(BOX, None), product.pop(BOX, None)
        slopes = (*request.slopes, *[BOX] * (of_box[0] is not None))
        changes = (*request.changes, *[BOX] * (of_box[1] is not None))
        found = self.sweep(
            replace(request, gradient=gradient, product=product, slopes=slopes, changes=changes), t
        )
        for array, some in zip(of_box, (found.slopes, found.changes), strict=True):
            if array is not None:
                values = some.pop(BOX)
                storage.store(array, values + storage.host(array) if request.adds else values)
        return found

    def plan(self, request: DerivativeRequest, tangents: Mapping[str, Any]) -> RequestPlan:
        """The parts of a request; `tangents`: its own, and those of the map outputs that they change."""
        return RequestPlan.of(request, tangents, self.terms, self.chain, self._kernels)

    def read_back(self, request: DerivativeRequest) -> set[str]:
        """The fields that the kernels of a request by seeds alone read, outputs among them."""
        return self.plan(request, {}).read_fields(self._owners, self._kernels) | self.chain.read_by_windows

    def refreshes(self, request: DerivativeRequest) -> bool:
        """True if the derivatives of a request depend on map outputs, which are then recomputed."""
        return not request.seeds or self._reads_outputs

    def map_output_tangents(
        self, tangents: Mapping[str, Any], t: float | None = None
    ) -> dict[str, np.ndarray]:
        """The tangents of the map outputs that change along `tangents`, by field, in its shape.

        Tangents that no map reads are ignored. Raises `EnergyError` as `product` does.
        """
        if not self.map_outputs:
            return {}
        t = self.now if t is None else t
        self.refresh(t)
        owners = {*self.maps, *self._parts_of_slopes()}
        known = {n: w for n, w in tangents.items() if n in self.fields or n.partition(".")[0] in owners}
        found = self.chain.with_outputs({n: self._tangent_array(n, w) for n, w in known.items()}, t)
        return {n: storage.host(found[n]).copy() for n in self.map_outputs if n in found}

    def add_output_tangents(self, tangents: Mapping[str, Any], into: Mapping[str, Any], t: float) -> None:
        """Add the tangents of map outputs to arrays, by field; after a refresh. `tangents`: arrays, too."""
        found = self.chain.with_outputs(tangents, t)
        for name, array in into.items():
            if name in found:
                storage.store(array, storage.host(array) + storage.host(found[name]))

    def ranges(self, t: float) -> tuple[int, ...]:
        """The ranges that the arguments of each term and map lie in, as numbers; see `verified_ranges`."""
        every = (*self.kernels.values(), *self.chain.kernels.values())
        return tuple([k.ranges.number(t) for k in every if isinstance(k, (TermKernels, MapKernels))])

    # Parameters

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the values of "term.argument"; () of the time."""
        return self._validation.shape(name)

    def parameter(self, name: str) -> np.ndarray:
        """The values of "term.parameter", in the shape of one value, or (rows, *shape of one).

        Raises `EnergyError` for an unknown term or parameter.
        """
        term, argument = self.places_of(name)[0]
        return self._validation.kernels(term).parameter(argument)

    def set_parameter(self, name: str, value: Any) -> None:
        """Overwrite the values of "term.parameter", by an array that broadcasts to their shape.

        Raises `EnergyError` for an unknown term or parameter.
        """
        self.common.refuse_part(name)
        for term, argument in self.places_of(name):
            self._validation.kernels(term).set_parameter(argument, value)

    # Non-finite numbers

    def first_nonfinite(self, t: float, wrt: Iterable[str]) -> str | None:
        """The first field, map output, or force on one of the fields `wrt` that is not finite, and its node.

        A text that begins with its kind and name, as "term 'spring', node 3: its force on 'x' is not finite";
        None if all are finite. Numbers that leave the range on the way are the answer, too.
        """
        try:
            return self._first_nonfinite(t, wrt)
        except RangeError as error:
            return error.finding

    def _first_nonfinite(self, t: float, wrt: Iterable[str]) -> str | None:
        if found := non_finite_field(self.fields[name] for name in sorted(self.reads)):
            return found
        self._update_adjoints(t)
        if found := self.chain.first_exit(t) or non_finite_field(self.map_outputs.values(), "map output"):
            return found
        fields = [*(self.fields[name] for name in wrt), *self.map_outputs.values()]
        for name, part in (self.terms | self.maps).items():
            kernels = self.chain.staged.get(name) or self.kernels[name]
            if found := non_finite_force(name, part, kernels, fields, t):
                return found
        return None

    def first_nonfinite_output(self) -> str | None:
        """The first output of maps and slopes that is not finite, as of the last refresh, and its node."""
        return self.chain.first_nonfinite()

    def _update_adjoints(self, t: float) -> None:
        """dU/dy of all map outputs y, at the present fields."""
        if self.maps:
            self.sweep(DerivativeRequest(), t)
        else:
            self.refresh(t)

    def _output_array(self, field: str) -> Any:
        """An array for gradients with respect to a field, kept for the next call."""
        if field not in self._outputs:
            self._outputs[field] = storage.allocate(np.zeros_like(self.fields[field].values))
        return self._outputs[field]

    def _tangent_array(self, name: str, values: Any) -> Any:
        """A tangent as kernels take it: of a field in an array, kept for the next call."""
        self._validation.check_tangent(name, values)
        if name not in self.fields:
            return np.asarray(values, np.float64)
        if name not in self._tangents:
            self._tangents[name] = storage.allocate(np.zeros_like(self.fields[name].values))
        storage.store(self._tangents[name], np.asarray(values, self.fields[name].dtype))
        return self._tangents[name]


def _is_barrier(part: Any) -> bool:
    return isinstance(part, Term) and part.elements.barrier
