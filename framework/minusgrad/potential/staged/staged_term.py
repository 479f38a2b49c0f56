"""Staged terms: a staged energy or map bound to fields, run forward and in reverse.

This is the one place that clears arrays, runs stages forward, clears adjoints, seeds and reverses.

Decisions 0315.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...codegen.derivative_request import DerivativeRequest, Derivatives
from ...energies.fields import Field, Fields, Grid, ordered_sum
from ...energies.roles import Parameter, Time
from ...energies.staged_energy import Stage, Staged, arguments
from ...energies.staged_map import StagedMap
from ...engine import device_refusals, runtime, storage
from ...errors import EnergyError, choices
from .kernel_constants import KernelConstants
from .stage_probe import StageProbe
from .staged_arrays import StagedArrays, clear, fill, stage_label


@dataclass
class StagedTerm:
    """A staged energy or map with its inputs, and the owner of the arrays that Taichi differentiates.

    `fields` are by argument, `inputs` (data and parameters) too. Their values are copied into the engine's
    arrays at each call. `outputs`: the fields that a map gives, by their declared names, which a potential's
    `StagedMapKernels` write; empty of an energy. `cells`: the grid that these lie on, if any.
    """

    name: str
    energy: Staged
    fields: dict[str, Field]
    inputs: dict[str, np.ndarray]
    sizes: dict[str, int]
    dtype: np.dtype
    outputs: dict[str, Field] = field(default_factory=dict)
    cells: Grid | None = None
    writes: int = 0
    """How often its parameters and data were overwritten since it was bound; it only grows."""
    writes_every_node: ClassVar[bool] = False
    """A sweep adds to the arrays of gradients and never overwrites them."""
    owner: ClassVar[str] = ""
    """It is no sweep of a repeated map."""

    def __post_init__(self) -> None:
        for values in self.inputs.values():
            storage.locked(values)
        self._store = StagedArrays(self.name, self.energy, self.fields, self.inputs, self.sizes, self.dtype)
        self._probed = False
        self._forward_done = False
        self._constants = {id(stage): KernelConstants(stage.kernel) for stage in self.energy.stages}

    def address(self, argument: str) -> str:
        """The name "term.argument" that an argument has in derivatives and files."""
        return f"{self.name}.{argument}"

    def twin(self, fields: Fields) -> "StagedTerm":
        """The same term over other fields of the same names; with copies of data and parameters."""
        bound = {a: fields[f.name] for a, f in self.fields.items()}
        inputs = {a: values.copy() for a, values in self.inputs.items()}
        outputs = {n: fields[f.name] for n, f in self.outputs.items()}
        return StagedTerm(self.name, self.energy, bound, inputs, self.sizes, self.dtype, outputs, self.cells)

    @property
    def linear(self) -> bool:
        """True of a map whose outputs are linear in its fields."""
        return isinstance(self.energy, StagedMap) and self.energy.is_linear

    @property
    def uses_time(self) -> bool:
        """True if the energy depends on the time explicitly."""
        return bool(self.energy.of_role(Time))

    def value(self, t: float = 0.0) -> float:
        """U: the sum of all outputs."""
        return sum(ordered_sum(values) for values in self.output_values(t).values())

    def output_values(self, t: float = 0.0) -> dict[str, np.ndarray]:
        """The values of each output, by name."""
        self._forward(t)
        return {name: self._store.values(name) for name in self.energy.outputs}

    def tangents(self, along: Mapping[str, np.ndarray], t: float = 0.0) -> dict[str, np.ndarray]:
        """The tangents of the outputs of a linear map, by name, along those of fields, by argument."""
        for argument, found in self.fields.items():
            self._store.write_array(argument, along.get(argument, np.zeros(found.shape)))
        self._run_forward(t)
        self._forward_done = False  # the arrays hold no values of fields
        return {name: self._store.values(name) for name in self.energy.outputs}

    def sweep(self, wanted: DerivativeRequest, t: float = 0.0) -> Derivatives:
        """U and first derivatives. Raises `EnergyError` for products and changes, which are second ones."""
        if wanted.product or wanted.changes:
            raise EnergyError(
                f"{self.name}: a staged energy has first derivatives only, because Taichi reverses its"
                " kernels once; for second ones write it as a local energy, or as maps and one"
            )
        found = (
            self.gradients((*wanted.gradient, *wanted.slopes), t) if wanted.gradient or wanted.slopes else {}
        )
        for argument, target in wanted.gradient.items():
            storage.store(target, storage.host(target) + found[argument])
        value = self.value(t) if wanted.value else 0.0
        return Derivatives(value, {a: found[a] for a in wanted.slopes})

    def gradient(self, argument: str, t: float = 0.0) -> np.ndarray:
        """dU/d(argument), in its shape: of a field, a parameter, a differentiable datum, or the time."""
        return self.gradients((argument,), t)[argument]

    def gradient_into(self, targets: Mapping[str, Any], t: float = 0.0) -> None:
        """Add dU/d(argument) to each array of `targets`: one forward and one reverse pass for all."""
        for argument, found in self.gradients(tuple(targets), t).items():
            storage.store(targets[argument], storage.host(targets[argument]) + found)

    def gradients(
        self, wanted: Sequence[str], t: float = 0.0, seeds: Mapping[str, Any] | None = None
    ) -> dict[str, np.ndarray]:
        """Sum over outputs of seed . d(output)/d(argument), for each argument wanted, in its shape.

        `seeds`: the derivative of a scalar with respect to each output; left out, that of U, which is 1.
        Raises `EnergyError` for arguments without a derivative, unknown outputs, and kernels that break the
        rules of reverse mode (`stage_probe`).
        """
        self._require_known(wanted, self.energy.differentiable, "derivative with respect to")
        seeds = dict.fromkeys(self.energy.outputs, 1.0) if seeds is None else seeds
        self._require_known(seeds, self.energy.outputs, "output")
        self._forward(t)
        return self.back(wanted, t, seeds)

    def back(self, wanted: Sequence[str], t: float, seeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The same, for known names, where the last forward run was at the present inputs."""
        of_fields = self._needs_no_values and all(a in self.fields for a in wanted)
        if not (self._forward_done or of_fields):  # a reverse pass may overwrite arrays, to recompute others
            self._forward(t)
        self._run_backward(seeds)
        return {a: self._store.copy_array(a, self.arrays[a].grad) for a in wanted}

    def changes(
        self, wanted: Sequence[str], t: float, seeds: Mapping[str, Any], along: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """How `back` changes along tangents of fields, of a linear map, for arguments that are no fields."""
        self.tangents(along, t)
        self._run_backward(seeds)
        return {a: self._store.copy_array(a, self.arrays[a].grad) for a in wanted}

    def rate(self, t: float = 0.0) -> float:
        """dU/dt at fixed fields."""
        return sum(float(self.gradient(clock, t)) for clock in self.energy.of_role(Time))

    def magnitude(self, t: float = 0.0) -> float:
        """Sum of |output|: an estimate of the scale of the rounding in U."""
        return sum(ordered_sum(np.abs(values)) for values in self.output_values(t).values())

    def shape(self, argument: str) -> tuple[int, ...]:
        """The shape of a datum's or parameter's values."""
        return self.inputs[argument].shape

    def parameter(self, argument: str) -> np.ndarray:
        """The values of a parameter."""
        self._require_known((argument,), tuple(self.energy.of_role(Parameter)), "parameter")
        return self.inputs[argument].copy()

    def set_parameter(self, argument: str, value: Any) -> None:
        """Overwrite the values of a parameter, by an array that broadcasts to their shape."""
        self.set_input(argument, value)

    def set_input(self, argument: str, value: Any) -> None:
        """Overwrite the values of a parameter or datum, by an array that broadcasts to their shape."""
        self._require_known((argument,), tuple(self.inputs), "datum or parameter")
        old = self.inputs[argument]
        self.inputs[argument] = storage.locked(
            np.broadcast_to(np.asarray(value, old.dtype), old.shape).copy()
        )
        self.writes += 1

    def unsteady(self, t: float = 0.0, repeats: int = 8) -> list[str]:
        """Outputs, and arguments with a gradient, whose bits differ between runs on the same inputs.

        The cause is a kernel that adds in parallel (`energies.staged_energy`). An empty list proves
        nothing on one thread, and may be chance in `repeats` runs.
        """
        runs = [self._output_bits(t) for _ in range(repeats)]
        return [name for name, bits in runs[0].items() if any(run[name] != bits for run in runs)]

    @property
    def arrays(self) -> dict[str, Any]:
        """All its arrays in the engine, by name; those of real numbers have an adjoint, `grad`."""
        return self._store.by_name

    def _require_known(
        self, asked: Iterator[str] | Sequence[str] | Mapping, known: Sequence[str], what: str
    ) -> None:
        if strange := [name for name in asked if name not in known]:
            raise EnergyError(f"{self.name} has no {what} '{strange[0]}'{choices(strange[0], known)}")

    def _output_bits(self, t: float) -> dict[str, bytes]:
        found = self.gradients(self.energy.differentiable, t)
        found.update({name: self._store.values(name) for name in self.energy.outputs})
        return {name: values.tobytes() for name, values in found.items()}

    # Forward and reverse

    @property
    def _needs_no_values(self) -> bool:
        """True of a linear map that recomputes nothing: derivatives by fields need no forward pass before."""
        return self.linear and not any(stage.recompute for stage in self.energy.stages)

    def _forward(self, t: float) -> None:
        for argument, found in self.fields.items():
            self._store.write_array(argument, found.values)
        self._run_forward(t)

    def _run_forward(self, t: float) -> None:
        """Run the stages forward, from the fields that are in the arrays, and the present inputs."""
        for argument, values in (self.inputs | dict.fromkeys(self.energy.of_role(Time), np.array(t))).items():
            self._store.write_array(argument, values)
        for act, what in self.energy.schedule.forward:
            if act == "run" and not self._probed:
                with device_refusals.in_words(stage_label(self.name, self.energy.stages[what])):
                    StageProbe(self._store, self._run_stage).check(what)
            self._run_act(act, what)
        self._probed = self._forward_done = True

    def _run_backward(self, seeds: Mapping[str, Any]) -> None:
        self._forward_done = False
        for array in self.arrays.values():
            if array.grad is not None:
                clear(array.grad)
        for output, seed in seeds.items():
            fill(self.arrays[output].grad, np.broadcast_to(seed, self._store.shape(output)))
        for act, what in self.energy.schedule.backward:
            self._run_act(act, what)

    def _run_act(self, act: str, what: Any) -> None:
        match act:
            case "clear":
                clear(self.arrays[what])
            case "forget":
                clear(self.arrays[what].grad)
            case "run":
                self._run_stage(self.energy.stages[what])
            case "reverse":
                self.run_back(self.energy.stages[what])

    def _run_stage(self, stage: Stage) -> None:
        self._constants[id(stage)].refuse_changed(stage_label(self.name, stage), "forward")
        stage.kernel(*self._passed_arguments(stage, stage.kernel))

    def run_back(self, stage: Stage) -> None:
        """Run one stage in reverse, from the present adjoints.

        Raises `EnergyError` where Taichi cannot reverse it, and `DeviceError` where the device cannot.
        """
        subject = stage_label(self.name, stage)
        if stage.backward is not None:
            with device_refusals.in_words(subject):
                stage.backward(*self._passed_arguments(stage, stage.backward))
            return
        self._constants[id(stage)].refuse_changed(subject, "reverse")
        device_refusals.refuse_reverse(subject)
        try:
            with device_refusals.in_words(subject), runtime.deep_stacks():
                stage.kernel.grad(*self._passed_arguments(stage, stage.kernel))
        except runtime.refusals() as error:
            raise EnergyError(
                f"{subject}: Taichi cannot reverse this kernel ({_compiler_reason(error)}); split"
                " it into several stages, or give it a `backward`"
            ) from None

    def _passed_arguments(self, stage: Stage, function: Callable) -> Iterator[Any]:
        """The arguments of a kernel or a `backward`: arrays, their adjoints (`d_x`), numbers."""
        held = {a: self.arrays[array] for a, array in stage.arrays.items()}
        offered = {**{f"d_{a}": array.grad for a, array in held.items()}, **held, **stage.numbers}
        return (offered[argument] for argument in arguments(function))


def _compiler_reason(error: BaseException) -> str:
    """The compiler's message without file and line: its first line, or its last after a traceback."""
    lines = str(error).strip().split("\n")
    return lines[-1 if lines[0].endswith(":") else 0].split("] ", 1)[-1].strip().rstrip(".")
