"""The kernels of one term of a potential, compiled at their first use.

Decisions 0032, 0050, 0208.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from math import nan
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest, Derivatives, Sweep
from ..codegen.map_loops import MapLoops
from ..codegen.one_thread.scattered_loops import ScatteredLoops
from ..codegen.term_loops import Emitter
from ..energies.fields import FEW_COLUMNS, MOST_COLUMNS, ordered_sum, sum_of_few
from ..energies.roles import Time
from ..energies.term import Term
from ..energies.values.element_data import require_range
from ..energies.values.parameter_values import Values
from ..engine import runtime, storage
from ..engine.column_sums import ColumnSums
from ..engine.kernels import BoundKernel, Code, short_loops_serial, words, zero_loops
from ..errors import EnergyError, unknown
from .watches.hidden_inputs import HiddenInputs
from .watches.verified_ranges import VerifiedRanges

ELEMENTS, BLOCKS = "u of each element", "u of each block of elements"
"""The two kinds of energy buffers."""


class TermKernels:
    """Value and derivatives of one term; of a map, those of its local energy lambda_p f.

    All sums in double precision and in fixed order.
    """

    def __init__(self, term: Term, emitter: Emitter):
        self.term, self.emitter, self._elements = term, emitter, term.elements
        self._launches: dict[str, tuple[BoundKernel, Any, Code]] = {}
        self._proven: set[tuple[str, int]] = set()
        self.ranges = VerifiedRanges(term)
        self._sums: dict[int, ColumnSums] = {}
        self._emitted: dict[str, Sweep] = {}
        self._sweeps: dict[tuple, TermSweep] = {}
        self._hidden = HiddenInputs(term)

    def serves(self, term: Term) -> bool:
        """True if they are the kernels of a term with its present elements."""
        return term is self.term and term.elements is self._elements

    @cached_property
    def scattered_loops(self) -> ScatteredLoops:
        """The loops for one thread. Raises `EnergyError` for elements that have none."""
        return ScatteredLoops(self.term)

    @property
    def writes_every_node(self) -> bool:
        """True if the kernels write every node of the fields; their output then needs no zeroing."""
        return self.emitter.writes_every_node

    def is_undefined(self, value: bool = True) -> bool:
        """True where all numbers of the term are NaN, whatever its kernels give (`HiddenInputs.any`)."""
        return not self.term.elements.defined or self._hidden.any(value)

    def value(self, t: float) -> float:
        """The term's energy, a summand of U."""
        if self.is_undefined():
            return nan
        return ordered_sum(self._fill_buffer(BLOCKS, t, summed=True))

    def by_element(self, t: float) -> np.ndarray:
        """The energy of each element, (E,) in f64; of pairs, for each target i with all j < i."""
        if self.is_undefined():
            return np.full(self.term.elements.rows, nan)
        return self._fill_buffer(ELEMENTS, t)[:, 0].copy()

    def magnitude(self, t: float) -> float:
        """Sum of |u| over the elements (pairs: over the targets)."""
        if self.is_undefined():
            return nan
        return ordered_sum(np.abs(self._fill_buffer(ELEMENTS, t)))

    def seconds(self, wanted: DerivativeRequest, t: float) -> float:
        """The time that a sweep takes, from some slices of it; 0 for one that is not long."""
        return BoundKernel(self.emitter.sweep_with_total(wanted)[0], "t").seconds(t)

    def sweep(self, wanted: DerivativeRequest, t: float) -> Derivatives:
        """The requested derivatives, by one kernel; adds to arrays that it does not `overwrite`."""
        return self._resolve_request(wanted)(t)

    def not_a_number(self, wanted: DerivativeRequest) -> Derivatives:
        """NaN for all numbers of a request, at the nodes of the term."""
        fill_members(self.emitter.term, {**wanted.gradient})
        fill_members(self.emitter.term, {**wanted.product})
        slopes, changes = (
            {a: np.full(self.shape(a), nan) for a in names} for names in (wanted.slopes, wanted.changes)
        )
        return Derivatives(nan if wanted.value else 0.0, slopes, changes)

    def prepare_sweep(self, wanted: DerivativeRequest) -> Callable[[float], Derivatives]:
        """`sweep` for this request as a function of time, until the next request with tangents."""
        return self._resolve_request(wanted)

    def _resolve_request(self, wanted: DerivativeRequest) -> "TermSweep":
        for argument, values in wanted.tangents.items():
            if argument not in self.emitter.term.read:
                self.emitter.set_tangent(argument, values)  # makes the array, too
        key = wanted.key(self.emitter.term.read)
        if key not in self._sweeps:
            code, buffers = self.emitter.sweep_with_total(wanted)
            code = self._with_short_loops(code)
            # the request keeps the arrays that the key names
            self._sweeps[key] = TermSweep(self, self._kernel_of_code(code), buffers, code, wanted)
        found = self._sweeps[key]
        found.wanted = wanted  # of the same arrays; in another range it is verified along these tangents
        return found

    def _with_short_loops(self, code: Code) -> Code:
        """The code with its short loops on one thread; of changing elements the number decides nothing."""
        lasting = isinstance(self.emitter, MapLoops) or self._elements.fixed
        return short_loops_serial(code) if lasting else code

    def arrays(self, wanted: DerivativeRequest) -> set[int]:
        """The ids of the arrays that the kernel of a sweep names."""
        made = self._sweeps.get(wanted.key(self.emitter.term.read))
        code = made.code if made else self.emitter.sweep(wanted)[0]
        return {id(array) for name, array in code.arrays.items() if name in words(code.text)}

    def _launch_verified(self, launch: BoundKernel, wanted: DerivativeRequest, code: Code, t: float) -> None:
        """Run a kernel, and verify its output after the first launch in a range of its arguments."""
        if not self.term.elements.rows and not wanted.overwrite:
            return  # no elements add nothing; a kernel is compiled and verified when there are some
        launch(t)
        proof = launch.source, self.ranges.number(t)
        if proof in self._proven or not self.term.elements.rows:
            return
        self.emitter.swept = self._emitted.get(launch.source)
        self.emitter.verify(wanted, code, t)
        self._proven.add(proof)

    def _kernel_of_code(self, code: Code) -> BoundKernel:
        """The kernel of loops that were emitted last, whose graph is kept until they are verified."""
        launch = BoundKernel(code, "t")
        if self.emitter.swept is not None:
            self._emitted.setdefault(launch.source, self.emitter.swept)
        return launch

    def gradient_into(self, targets: Mapping[str, Any], t: float) -> None:
        """Add dU/d(argument) to each array of `targets`, by node field argument."""
        self.sweep(DerivativeRequest(gradient=targets), t)

    def gradient(self, argument: str, t: float) -> np.ndarray:
        """dU/d(argument) in the shape of its values, for arguments other than node fields."""
        return self.sweep(DerivativeRequest(slopes=(argument,)), t).slopes[argument]

    def _of_rows(self, argument: str, each: np.ndarray) -> np.ndarray:
        """The derivative with respect to an argument's values, in their shape, from rows of elements."""
        term = self.term
        if argument in term.data or argument in term.energy.linear:
            return each.reshape(len(each), *term.shape(argument)).copy()
        if argument in term.uniform:
            return np.array([ordered_sum(column) for column in each.T]).reshape(term.uniform[argument].shape)
        if argument not in term.parameters:
            return np.array(ordered_sum(each))
        values = term.parameters[argument]
        if values.index is None:
            return np.array([ordered_sum(column) for column in each.T]).reshape(values.rows.shape[1:])
        rows = np.zeros((len(values.rows), each.shape[1]))
        np.add.at(rows, values.index, each)  # one after another, in the order of the elements
        return rows.reshape(values.shape)

    def rate(self, t: float) -> float:
        """The term's dU/dt at fixed fields."""
        return sum(float(self.gradient(clock, t)) for clock in self.term.energy.of_role(Time))

    def shape(self, argument: str) -> tuple[int, ...]:
        """The shape of a derivative with respect to an argument other than a node field."""
        term = self.term
        if argument in term.parameters:
            return self.parameter(argument).shape
        if argument in term.uniform:
            return term.uniform[argument].shape
        of_one = term.shape(argument)
        return of_one if argument in term.energy.of_role(Time) else (term.elements.count, *of_one)

    def parameter(self, argument: str) -> np.ndarray:
        """The values of a parameter: of the shape of one value, or rows of them in the form given."""
        values = self._argument_values(argument)
        return values.rows.reshape(values.shape).copy()

    def set_parameter(self, argument: str, value: Any) -> None:
        """Overwrite a parameter's values, in the same shape."""
        values = self._argument_values(argument)
        require_range(f"{self.term.name}.{argument}", np.asarray(value), values.rows.dtype)
        shape = values.shape if values.form else values.rows.shape
        held = np.broadcast_to(np.asarray(value, values.rows.dtype), shape)
        values.set(held.reshape(values.rows.shape))
        self.term.writes += 1
        self.emitter.set_parameter(argument, values.rows)

    def _argument_values(self, argument: str) -> Values:
        parameters = self.term.parameters
        if argument not in parameters:
            raise EnergyError(f"{self.term.name}: {unknown('parameter', argument, parameters)}")
        return parameters[argument]

    def _is_summed(self, buffer: str) -> bool:
        """True for a buffer of `sweep` whose rows are added up by `ordered_sum`."""
        kind, _, argument = buffer.partition("_")
        if buffer == "total" or kind not in ("d", "dd"):
            return buffer == "total"
        values = self.term.parameters.get(argument)
        return argument in self.term.energy.of_role(Time) or (values is not None and values.index is None)

    def _buffer_rows(self, buffer: Any, summed: bool) -> np.ndarray:
        """The rows of a buffer; on a device sums of them, which `ordered_sum` adds up to the same bits."""
        if runtime.arch() == "cpu" or not summed or (count := self.emitter.count(buffer)) <= MOST_COLUMNS:
            return self.emitter.rows(buffer)
        if id(buffer) not in self._sums:
            self._sums[id(buffer)] = ColumnSums(buffer, MOST_COLUMNS)
        return self._sums[id(buffer)](count)

    def _fill_buffer(self, what: str, t: float, summed: bool = False) -> np.ndarray:
        """The buffer that loops fill: ELEMENTS or BLOCKS; on a device sums of its rows, if `summed`."""
        if what not in self._launches:
            code, buffer = self.emitter.value() if what == ELEMENTS else self.emitter.total()
            code = self._with_short_loops(code)
            self._launches[what] = self._kernel_of_code(code), buffer, code
        launch, buffer, code = self._launches[what]
        self._launch_verified(launch, DerivativeRequest(value=True), code, t)
        return self._buffer_rows(buffer, summed)


class TermSweep:
    """The kernel of one request to a term, and its buffers; a call returns the derivatives at time t."""

    __slots__ = ("_buffers", "_kernels", "_total", "code", "launch", "wanted")

    def __init__(
        self,
        kernels: TermKernels,
        launch: BoundKernel,
        buffers: Mapping[str, Any],
        code: Code,
        wanted: DerivativeRequest,
    ):
        self._kernels, self.launch, self._buffers = kernels, launch, buffers
        self.code, self.wanted = code, wanted
        self._total = self._energy_parts() if wanted.value and len(buffers) == 1 else None

    def _energy_parts(self) -> np.ndarray | None:
        """The numbers whose sum is U, in the memory that the kernel writes; None where they are copied."""
        if runtime.arch() != "cpu" or not self._kernels.term.elements.fixed:
            return None
        numbers = self._kernels.emitter.rows(self._buffers["total"]).reshape(-1)
        return numbers if np.shares_memory(numbers, self._buffers["total"]) else None

    def __call__(self, t: float) -> Derivatives:
        kernels, wanted = self._kernels, self.wanted
        if kernels.is_undefined(wanted.value):
            return kernels.not_a_number(wanted)
        kernels._launch_verified(self.launch, wanted, self.code, t)
        if not self._buffers:
            return Derivatives()
        if self._total is not None:
            few = len(self._total) <= FEW_COLUMNS
            return Derivatives(sum_of_few(self._total.tolist()) if few else ordered_sum(self._total))
        found = {
            name: kernels._buffer_rows(buffer, kernels._is_summed(name))
            for name, buffer in self._buffers.items()
        }
        value = ordered_sum(found["total"]) if wanted.value else 0.0
        slopes = {a: kernels._of_rows(a, found[f"d_{a}"]) for a in wanted.slopes}
        changes = {a: kernels._of_rows(a, found[f"dd_{a}"]) for a in wanted.changes}
        return Derivatives(value, slopes, changes)


class MapKernels:
    """The kernels of one map; a call adds its outputs at the present fields; those in `first` it overwrites.

    `first`: the names of the outputs that no map before has written.
    """

    def __init__(self, loops: MapLoops, first: Collection[str]):
        self.loops = loops
        self._cleared = [f for f in loops.given if f.name in first and not loops.gives_to_all]
        self._code = loops.forward_loops(overwrite=first if loops.gives_to_all else ())
        self._launched = short_loops_serial(self._code)
        self._launch = BoundKernel(self._launched, "t")
        self.located = loops.location_loops()
        self._locate = BoundKernel(self.located, "t") if self.located.text else None
        self._along: dict[tuple, tuple[BoundKernel, Code, Any]] = {}
        self._proven: set[tuple[int, int]] = set()
        self.ranges = VerifiedRanges(loops.term)
        own = {a: f for a, f in loops.term.fields.items() if a in loops.map.roles}
        self._hidden = HiddenInputs(replace(loops.term, energy=loops.map, fields=own))

    @property
    def code(self) -> Code:
        """The loops of a call."""
        return Code.joined([*(zero_loops(f"f_{f.name}", f.array) for f in self._cleared), self._code])

    def is_undefined(self) -> bool:
        """True where all outputs are NaN, whatever the kernels give (`HiddenInputs.any`)."""
        return not self.loops.term.elements.defined or self._hidden.any(value=True)

    def __call__(self, t: float) -> None:
        if self.is_undefined():
            for output in self.loops.given:
                output.array.fill(nan)
            return
        for field in self._cleared:
            field.array.fill(0)
        self._launch(t)
        self._verify_outputs(self._launched, {}, t)

    def _verify_outputs(self, code: Code, tangents: Mapping[str, Any], t: float) -> None:
        """Verify the outputs after the first launch of a code in a range of the arguments."""
        proof = id(code), self.ranges.number(t)
        if proof not in self._proven and self.loops.verify_forward(code, tangents, t):
            self._proven.add(proof)

    def locate(self, t: float) -> None:
        """Compute the windows of elements only, which derivatives need."""
        if self._locate and not self.is_undefined():
            self._locate(t)

    def seconds(self, t: float) -> float:
        """The time that a call takes, from some slices of it; 0 for one that is not long."""
        return self._launch.seconds(t)

    def add_tangents(self, tangents: Mapping[str, Any], into: Mapping[str, Any], t: float) -> None:
        """Add the tangents of the map's outputs to arrays, by output; `tangents` are by the map's arguments.

        The fields must not have changed since the map was called.
        """
        if self.is_undefined():
            for field in self.loops.given:
                into[field.name].fill(nan)
            return
        arrays = (id(into[field.name]) for field in self.loops.given)
        key = *DerivativeRequest(tangents=tangents).key(self.loops.term.read), *arrays
        for argument, values in tangents.items():
            if argument not in self.loops.term.read:
                self.loops.set_tangent(argument, values)
        if key not in self._along:
            code = self.loops.forward_loops(tangents, into)
            self._along[key] = BoundKernel(code, "t"), code, (tangents, into)
        launch, code, _ = self._along[key]
        launch(t)
        self._verify_outputs(code, tangents, t)


def fill_members(term: Term, targets: Mapping[str, Any]) -> None:
    """Set arrays, by node field argument, to NaN at the nodes of a term; all where these are not known."""
    for argument, array in targets.items():
        values = storage.host_copy(array)
        values[term.members(argument) if term.elements.defined else slice(None)] = nan
        storage.store(array, values)
