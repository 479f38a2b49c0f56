"""The potential of a scene: the sum of its terms, and its derivatives.

    U(fields, parameters, t) = sum over terms, sum over elements, u(...)

Some fields may be what maps give, y_p = sum of f: they are made anew from the others whenever U is asked
for, in the order of the maps, and dU/dy goes back through the maps in the opposite order.

Names: a field is "x"; an argument of a term or map is "gravity.G", "spring.rest"; the time is "t".
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest, Derivatives
from ..codegen.lane_loops import loops_of_energy
from ..codegen.lane_statements import Vectors
from ..codegen.map_loops import ADJOINT
from ..energies.fields import Field, Fields
from ..energies.local_energy import Bounded, Node, Time
from ..energies.term import Term
from ..engine import storage
from ..engine.kernels import Code
from ..errors import EnergyError, NonFiniteError
from .hessian import Hessians
from .staged_term import StagedTerm
from .term_kernels import MapKernels, TermKernels, loops_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Plan:
    """A sweep as it was shared out: what each term does, and which arrays hold zeros before.

    `copied`: of fields that maps give, the array asked for and the adjoint. `asked` keeps its arrays alive.
    """

    parts: Mapping[str, DerivativeRequest]
    cleared: Sequence[Any]
    copied: Sequence[tuple[Any, Any]]
    asked: DerivativeRequest


class Potential:
    """Value and gradient of a sum of terms over some fields, and over those that maps give.

    fields = Fields({"x": positions, "m": masses})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
    potential.value(), potential.gradient("x"), potential.gradient("gravity.G")

    `frozen`: fields that maps give, and none of `maps` does, stay as they are.
    """

    def __init__(
        self,
        fields: Fields,
        terms: Sequence[Term | StagedTerm],
        maps: Sequence[Term] = (),
        *,
        frozen: bool = False,
    ):
        names = [term.name for term in (*terms, *maps)]
        if len(set(names)) != len(names):
            raise EnergyError(f"two terms have one name: {', '.join(names)}; give them a `name` each")
        _check_order(maps)
        self.fields = fields
        self.terms: dict[str, Any] = {term.name: term for term in terms}
        self.maps = {term.name: term for term in maps}
        self.parts = self.terms | self.maps
        self.given = {m.gives.name: m.gives for m in maps if m.gives}
        if not frozen:
            self._refuse_orphans()
        # a name that no field of a state can have
        self._adjoints = {
            n: Field.of(f"0_{n}", np.zeros(f.shape), dtype=f.dtype) for n, f in self.given.items()
        }
        self._changes = {n: f.twin() for n, f in self._adjoints.items()}
        self._given_tangents = {n: f.twin() for n, f in self._adjoints.items()}
        loops = {m.name: loops_of(m, self._adjoints[m.gives.name]) for m in maps if m.gives}
        given = [loop.given for loop in loops.values()]
        self._forward = [
            MapKernels(loop, loop.given not in given[:k]) for k, loop in enumerate(loops.values())
        ]
        self._work: dict[str, Any] = {
            name: part
            if isinstance(part, StagedTerm)
            else TermKernels(part, loops.get(name) or loops_of_energy(part))
            for name, part in self.parts.items()
        }
        emitters = {n: w.emitter if isinstance(w, TermKernels) else None for n, w in self._work.items()}
        self._hessians = Hessians(fields, self.parts, self.maps, emitters)
        self._outputs: dict[str, Any] = {}
        self._tangents: dict[str, Any] = {}
        self._plans: dict[tuple, Plan] = {}

    def twin(self) -> "Potential":
        """The same potential over fields, data and parameters of its own, all as they are now."""
        fields = self.fields.twin()
        terms, maps = ([part.twin(fields) for part in some.values()] for some in (self.terms, self.maps))
        return Potential(fields, terms, maps, frozen=True)

    def _refuse_orphans(self) -> None:
        """What maps give is given by one of these: else it would be as another potential left it."""
        for part in self.parts.values():
            for field in part.fields.values():
                if field.name in self.fields.derived - set(self.given):
                    told = f"{part.name} reads '{field.name}', which a map gives that is not here"
                    raise EnergyError(f"{told}; add it to the maps")

    @property
    def reads(self) -> set[str]:
        """The fields that U depends on, those that maps give apart."""
        bound = {f.name for part in self.parts.values() for f in part.fields.values()}
        return bound - set(self.given)

    @property
    def in_lanes(self) -> list[str]:
        """The terms that are computed a block of elements at a time."""
        emitters = {name: getattr(work, "emitter", None) for name, work in self._work.items()}
        return [name for name, emitter in emitters.items() if isinstance(emitter, Vectors)]

    # Value

    def refresh(self, t: float = 0.0) -> None:
        """Make what the maps give anew, from the present fields."""
        for forward in self._forward:
            forward(t)

    def by_term(self, t: float = 0.0) -> dict[str, float]:
        """The energy of each term, shape () each, summed in fixed order in double precision."""
        self.refresh(t)
        return {name: self._work[name].value(t) for name in self.terms}

    def value(self, t: float = 0.0) -> float:
        """U at the present fields and parameters."""
        return sum(self.by_term(t).values())

    def magnitude(self, t: float = 0.0) -> float:
        """Sum of |u| over the elements (pairs: over the targets): the scale of the rounding in U."""
        self.refresh(t)
        return sum(self._work[name].magnitude(t) for name in self.terms)

    def by_element(self, name: str, t: float = 0.0) -> np.ndarray:
        """The energy of each element of a term, (E,) in f64; of pairs, for each target i with all j < i."""
        if not isinstance(work := self._at_work(name), TermKernels) or name in self.maps:
            raise EnergyError(f"'{name}' is no sum over elements that have an energy each")
        self.refresh(t)
        return work.by_element(t)

    # Derivatives

    def gradient(self, wrt: str, t: float = 0.0) -> np.ndarray:
        """dU/d(wrt): the shape of the field (in its precision), or of the argument's values (in f64)."""
        if wrt not in self.fields:
            return self.sweep(DerivativeRequest(slopes=(wrt,)), t).slopes[wrt]
        out = self._output(wrt)
        self.gradient_into({wrt: out}, t)
        return storage.host(out).copy()

    def product(self, tangents: Mapping[str, Any], wrt: str, t: float = 0.0) -> np.ndarray:
        """How dU/d(wrt) changes along tangents: sum over b of d2U/(d(wrt) d(b)) times the tangent of b.

        `tangents`: by name, each of the shape of the field, or of the argument's values; "t": a number. The
        product has the shape of `wrt` (fields in their precision, others in f64).

            potential.product({"x": w}, "x")              H w
            potential.product({"x": w}, "spring.k")       (d2U/dk dx) w
            potential.product({"spring.k": 1.0}, "x")     how the gradient changes with k

        Raises `EnergyError` for a name that nothing can be differentiated by, another shape, staged energies.
        """
        if not isinstance(tangents, Mapping):
            raise EnergyError('tangents are given by name: potential.product({"x": w}, "x")')
        moved = {n: self._tangent(n, values) for n, values in tangents.items()}
        if wrt not in self.fields:
            return self.sweep(DerivativeRequest(changes=(wrt,), tangents=moved), t).changes[wrt]
        out = self._output(wrt)
        self.sweep(DerivativeRequest(product={wrt: out}, tangents=moved), t)
        return storage.host(out).copy()

    def hessian(self, wrt: str | Sequence[str], t: float = 0.0, project: str | None = None) -> "csr_matrix":
        """d2U/(d(wrt) d(wrt)), sparse and in f64; of several fields over all of them, one after another.

        Row of a number: where its field begins + node * components + component. `project`: first make each
        element's part positive semi-definite, negative eigenvalues zero ("clamp") or positive ("abs"). The
        pattern never changes, zeros are kept, and all matrices share the arrays `indices` and `indptr`: never
        write them.

        Raises `EnergyError` where it is no sum over elements (fields that maps read, stages), or too large.
        """
        self.refresh(t)
        return self._hessians.matrix(wrt, t, project)

    def element_hessians(
        self, term: str, wrt: str | Sequence[str], t: float = 0.0, project: str | None = None
    ) -> np.ndarray:
        """The Hessian of each element of a term, (E, m, m) in f64, rows by (field, slot, component).

        Of pairs, of each two nodes i < j, in the order (0, 1), (0, 2), ...; `project` as in `hessian`.
        """
        self.refresh(t)
        return self._hessians.elements(term, wrt, t, project)

    def gradient_into(self, targets: Mapping[str, Any], t: float = 0.0) -> None:
        """Overwrite each array of `targets` (by field) with dU/d(field): one kernel for each term."""
        self.sweep(DerivativeRequest(gradient=targets), t)

    def evaluate_into(self, targets: Mapping[str, Any], t: float = 0.0) -> float:
        """U, and its gradient as `gradient_into` gives it, in one pass over the elements."""
        return self.sweep(DerivativeRequest(value=True, gradient=targets), t).value

    def sweep(self, asked: DerivativeRequest, t: float = 0.0) -> Derivatives:
        """Any of U, gradients, and their changes along tangents, one kernel for each term.

        By names of this potential; arrays of fields are overwritten, and as `storage.allocate` makes them.
        """
        key = asked.key({*asked.gradient, *asked.product})
        plan = None if asked.tangents else self._plans.get(key)
        if plan is None:
            self._check_names(asked)
        self.refresh(t)
        if plan is None:
            plan = self._plan(asked, self._moved(asked.tangents, t))
            if not asked.tangents:
                self._plans[key] = plan
        for array in plan.cleared:
            array.fill(0)
        answer = Derivatives()
        for name, wanted in plan.parts.items():
            _collect(answer, name, self._work[name].sweep(wanted, t), self.parts[name])
        for into, array in plan.copied:
            storage.store(into, storage.host(array))
        for names, values in ((asked.slopes, answer.slopes), (asked.changes, answer.changes)):
            values.update({n: np.zeros(self.shape(n)) for n in names if n not in values})
        return answer

    def _plan(self, asked: DerivativeRequest, moved: Mapping[str, Any]) -> "Plan":
        """What is asked of each term. The first that gives to an array begins it anew, or finds zeros."""
        slopes = {n: f.array for n, f in self._adjoints.items()}
        changes = {n: f.array for n, f in self._changes.items()} if moved else {}
        gradient, product = {**asked.gradient, **slopes}, {**asked.product, **changes}
        whole = replace(asked, gradient=gradient, product=product, tangents=moved)
        parts = {name: self._part_of(name, whole) for name in (*self.terms, *reversed(self.maps))}
        parts = {name: wanted for name, wanted in parts.items() if wanted}
        left = {("d", n): array for n, array in whole.gradient.items()}
        left |= {("dd", n): array for n, array in whole.product.items()}
        cleared = []
        for name, wanted in parts.items():
            overwrite = []
            for order, arguments in (("d", wanted.gradient), ("dd", wanted.product)):
                for argument in arguments:
                    key = order, self.parts[name].fields[argument].name
                    if key in left and self._work[name].writes_every_node:
                        overwrite.append((order, argument))
                        del left[key]
                    elif key in left:
                        cleared.append(left.pop(key))
            parts[name] = replace(wanted, overwrite=tuple(overwrite))
        copied = [(a, slopes[n]) for n, a in asked.gradient.items() if n in slopes]
        copied += [(a, changes[n]) for n, a in asked.product.items() if n in changes]
        return Plan(parts, [*cleared, *left.values()], copied, asked)

    def shape(self, name: str) -> tuple[int, ...]:
        """Of the values of "term.argument", or of the time."""
        term, _, argument = name.partition(".")
        return () if name == "t" else self._work[term].shape(argument)

    def given_tangents(self, tangents: Mapping[str, Any], t: float = 0.0) -> dict[str, np.ndarray]:
        """How what the maps give changes along tangents, by field: those of which anything moves."""
        if not self.maps:
            return {}
        self.refresh(t)
        known = {n: w for n, w in tangents.items() if n in self.fields or n.partition(".")[0] in self.maps}
        moved = self._moved({n: self._tangent(n, w) for n, w in known.items()}, t)
        return {n: storage.host(moved[n]).copy() for n in self.given if n in moved}

    def _moved(self, tangents: Mapping[str, Any], t: float) -> dict[str, Any]:
        """The tangents, and those of what the maps give."""
        moved = dict(tangents)
        for (name, part), forward in zip(self.maps.items(), self._forward, strict=True):
            if moved and part.gives:
                into = self._given_tangents[part.gives.name].array
                if part.gives.name not in moved:
                    into.fill(0)
                if along := _of_part(name, part, moved):
                    forward.along(along, into, t)
                moved[part.gives.name] = into
        return moved

    def _part_of(self, name: str, asked: DerivativeRequest) -> DerivativeRequest:
        """What is asked of one term, by its own arguments."""
        part, is_map = self.parts[name], name in self.maps
        along = _of_part(name, part, asked.tangents)
        if is_map and asked.tangents and part.gives:
            along[ADJOINT] = self._changes[part.gives.name].array
        return DerivativeRequest(
            value=asked.value and not is_map,
            gradient=self._wanted(name, asked.gradient),
            slopes=_own(name, part, asked.slopes),
            product=self._wanted(name, asked.product) if along else {},
            changes=_own(name, part, asked.changes) if along else (),
            tangents=along,
        )

    def term_gradient_into(self, name: str, targets: Mapping[str, Any], t: float = 0.0) -> None:
        """Add one term's own dU/d(field) to each array of `targets`; of a map, that of its local energy."""
        if wanted := self._wanted(name, targets):
            self._work[name].gradient_into(wanted, t)

    def _put_adjoints(self, t: float) -> None:
        """dU/dy of everything that maps give, at the present fields."""
        if self.maps:
            self.sweep(DerivativeRequest(), t)

    def rate(self, t: float = 0.0) -> float:
        """dU/dt at fixed fields: the power that an explicit dependence on time feeds in."""
        if self.uses_time:
            self._put_adjoints(t)
        return sum(self._work[name].rate(t) for name, part in self.parts.items() if part.uses_time)

    def roles_of(self, name: str) -> list[tuple[str, Bounded]]:
        """The roles that a field or a parameter "term.argument" has in terms and maps, with their names."""
        if name not in self.fields:
            term, _, argument = name.partition(".")
            return [(name, self.parts[term].energy.roles[argument])]
        return [
            (f"{part}.{argument}", role)
            for part, bound in self.parts.items()
            for argument, role in bound.energy.of_role(Node).items()
            if bound.fields[argument].name == name
        ]

    @property
    def uses_time(self) -> bool:
        """Whether any term depends on the time explicitly."""
        return any(term.uses_time for term in self.parts.values())

    # Code for kernels of others

    def gradient_code(self, targets: Mapping[str, Any], prefix: str = "term") -> Code:
        """Loops that add dU/d(field) of all terms to `targets`, to stand in a larger kernel (scalar `t`).

        The names of the terms' own arrays begin with `prefix`.
        """
        pieces = []
        for k, name in enumerate(self.terms):
            wanted = self._wanted(name, targets)
            if wanted:
                pieces.append(self._work[name].emitter.named(f"{prefix}{k}_").gradient(wanted))
        return Code.joined(pieces)

    def sweep_code(self, asked: DerivativeRequest, prefix: str = "term") -> Code:
        """Loops for what is asked (`gradient`, `product`, `changes`), for a larger kernel (scalar `t`).

        By names of this potential. Targets are added to; the changes of what is no field are left in
        buffers, for `changes_code`.
        """
        pieces = []
        self.put_tangents({n: v for n, v in asked.tangents.items() if n not in self.fields})
        for k, name in enumerate(self.terms):
            if wanted := self._part_of(name, asked):
                pieces.append(self._work[name].emitter.named(f"{prefix}{k}_").sweep(wanted)[0])
        return Code.joined(pieces)

    def put_tangents(self, tangents: Mapping[str, Any]) -> None:
        """Give tangents of "term.argument" the values that kernels with `sweep_code` read."""
        for name, values in tangents.items():
            term, _, argument = name.partition(".")
            self._work[term].emitter.set_tangent(argument, values)

    def changes_code(self, name: str, into: str, array: Any, prefix: str = "term") -> Code:
        """Serial loops that subtract the changes of "term.argument", which a sweep left, from `into`.

        The array is (rows, components) in f64, as `backward.rows_of` makes it.
        """
        term, _, argument = name.partition(".")
        k = list(self.terms).index(term)
        return self._work[term].emitter.named(f"{prefix}{k}_").taken(argument, into, array)

    def statements(self, targets: Mapping[str, Any]) -> float:
        """About how many statements one evaluation of the gradient runs: what a serial step costs.

        Infinitely many with maps or staged terms, whose kernels are launched one by one.
        """
        if not all(isinstance(self._work[name], TermKernels) and name in self.terms for name in self.parts):
            return math.inf
        total = 0
        for name, term in self.terms.items():
            if wanted := self._wanted(name, targets):
                total += term.elements.elements * self._work[name].emitter.gradient(wanted).text.count("\n")
        return total

    def rate_code(self, add: str) -> list[Code]:
        """For each term that depends on time: loops for its dU/dt, and one of `add`, {} a part of it."""
        found = []
        for k, (name, term) in enumerate(self.terms.items()):
            if term.uses_time:
                clock = next(iter(term.energy.of_role(Time)))
                emitter = self._work[name].emitter.named(f"term{k}_")
                found.append(emitter.derivative(clock)[0])
                line = add.format(emitter.row(f"d_{clock}", 0))
                found.append(emitter.naming(f"for e in range({emitter.prefix}nodes.shape[0]):\n    {line}\n"))
        return found

    # Parameters

    def parameter(self, name: str) -> np.ndarray:
        """The values of "term.parameter": shape of one value, or rows of them."""
        term, _, argument = name.partition(".")
        return self._at_work(term).parameter(argument)

    def set_parameter(self, name: str, value: Any) -> None:
        """Give "term.parameter" other values of the same shape."""
        term, _, argument = name.partition(".")
        self._at_work(term).set_parameter(argument, value)

    # Trouble

    def first_nonfinite(self, t: float, wrt: Iterable[str]) -> str | None:
        """The first field value, or force of a term on a field of `wrt`, that is not finite; None if none."""
        for name in sorted(self.reads):
            if (node := first_bad(self.fields[name].values)) is not None:
                return f"field '{name}', node {node} is not finite"
        self._put_adjoints(t)
        for given in self.given.values():
            if (node := first_bad(given.values)) is not None:
                return f"what maps give to '{given.name}' is not finite at node {node}"
        for name in self.parts:
            for field in (*wrt, *self.given):
                out = self._output(field)
                out.fill(0)
                self.term_gradient_into(name, {field: out}, t)
                if (node := first_bad(storage.host(out))) is not None:
                    return f"term '{name}', node {node}: its force on '{field}' is not finite"
        return None

    # Inside

    def _output(self, field: str) -> Any:
        """An array for gradients with respect to a field, kept for the next call."""
        if field not in self._outputs:
            self._outputs[field] = storage.allocate(np.zeros_like(self.fields[field].values))
        return self._outputs[field]

    def _tangent(self, name: str, values: Any) -> Any:
        """A tangent as kernels take it: of a field in an array, kept for the next call."""
        if np.asarray(values).dtype.kind not in "iuf":
            raise EnergyError(f"the tangent of '{name}' needs real numbers")
        if name not in self.fields:
            self._check_argument(name, True) if name != "t" else None
            if np.shape(values) not in ((), self.shape(name)):
                shapes = f"{list(np.shape(values))}, its values {list(self.shape(name))}"
                raise EnergyError(f"the tangent of '{name}' has shape {shapes}")
            return np.asarray(values, np.float64)
        if np.shape(values) != self.fields[name].shape:
            shapes = f"{list(np.shape(values))}, the field {list(self.fields[name].shape)}"
            raise EnergyError(f"the tangent of '{name}' has shape {shapes}")
        if name not in self._tangents:
            self._tangents[name] = storage.allocate(np.zeros_like(self.fields[name].values))
        storage.store(self._tangents[name], np.asarray(values, self.fields[name].dtype))
        return self._tangents[name]

    def _check_names(self, asked: DerivativeRequest) -> None:
        """Raises `EnergyError` for a name that nothing here has, and for tangents of what maps give."""
        for name in (*asked.gradient, *asked.product):
            self.fields[name]
        targets = [*asked.gradient.values(), *asked.product.values()]
        if len({id(array) for array in targets}) < len(targets):
            raise EnergyError("one array stands for two derivatives; each needs an array of its own")
        if found := [n for n in (*asked.slopes, *asked.changes) if n in self.fields]:
            raise EnergyError(f"'{found[0]}' is a field: its derivatives go into an array of its shape")
        for name in (*asked.slopes, *asked.changes, *asked.tangents):
            if name in self.given and name in asked.tangents:
                told = ", ".join(sorted(self.reads))
                raise EnergyError(f"'{name}' is what maps give; it moves with what it is made of: {told}")
            if name != "t" and name not in self.fields:
                self._check_argument(name, name in asked.tangents)

    def _check_argument(self, name: str, moves: bool) -> None:
        """Raises `EnergyError` where "term.argument" has no derivative."""
        term, dot, argument = name.partition(".")
        self._at_work(term) if dot else self.fields[name]
        part = self.parts[term]
        known = [a for a in part.energy.differentiable if a not in part.fields]
        known += [] if moves else getattr(part.energy, "linear", ())
        if argument not in known:
            there = ", ".join(known) or "none"
            raise EnergyError(f"{term} has no derivative with respect to '{argument}' (there are: {there})")

    def _at_work(self, name: str) -> Any:
        if name not in self._work:
            raise EnergyError(f"no term named '{name}' (there are: {', '.join(self._work)})")
        return self._work[name]

    def _wanted(self, name: str, targets: Mapping[str, Any]) -> dict[str, Any]:
        """The term's arguments that stand for a target field."""
        wanted = {}
        for argument, field in self.parts[name].fields.items():
            if field.name in targets:
                wanted[argument] = targets[field.name]
        return wanted


def _of_part(name: str, part: Term | StagedTerm, tangents: Mapping[str, Any]) -> dict[str, Any]:
    """The tangents of a term's own arguments, by argument."""
    found = {a: tangents[f.name] for a, f in part.fields.items() if f.name in tangents}
    for argument in part.energy.roles:
        if f"{name}.{argument}" in tangents:
            found[argument] = tangents[f"{name}.{argument}"]
    return found | {a: tangents["t"] for a in part.energy.of_role(Time) if "t" in tangents}


def _own(name: str, part: Term | StagedTerm, asked: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that are the term's, as its arguments."""
    found = [n.partition(".")[2] for n in asked if n.partition(".")[0] == name]
    return *found, *(a for a in part.energy.of_role(Time) if "t" in asked)


def _collect(answer: Derivatives, name: str, found: Derivatives, part: Term | StagedTerm) -> None:
    """Add what a term answered to the answer of all."""
    answer.value += found.value
    clocks = part.energy.of_role(Time)
    for into, some in ((answer.slopes, found.slopes), (answer.changes, found.changes)):
        for argument, values in some.items():
            if argument in clocks:
                into["t"] = into.get("t", np.zeros(())) + values
            into[f"{name}.{argument}"] = values


def _check_order(maps: Sequence[Term]) -> None:
    """What a map reads is complete: no later map gives to it."""
    for k, early in enumerate(maps):
        for late in maps[k:]:
            if late.gives in early.fields.values():
                name = late.gives.name if late.gives else ""
                told = f"map '{late.name}' gives to '{name}' after map '{early.name}' has read it"
                raise EnergyError(f"{told}; list it before")


def first_bad(values: np.ndarray) -> int | None:
    """The first node with a value that is not finite."""
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    return None if finite.all() else int(np.argmin(finite))


def refuse_non_finite(fields: Sequence[Field], where: str) -> None:
    """Raise `NonFiniteError` naming the first field and node that are not finite."""
    for field in fields:
        node = first_bad(field.values)
        if node is not None:
            raise NonFiniteError(f"{where}: field '{field.name}', node {node} is not finite")
