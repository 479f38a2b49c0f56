"""An equilibrium as a function of tensors: from parameters, data and fields to where forces balance.

Backward is one linear system with the Hessian at the equilibrium (`adjoint.equilibria`), which is kept from
forward: nothing is searched twice.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from torch.autograd.function import Function

import torch

from ..adjoint.equilibria.equilibrium import Equilibrium as Balance
from ..app.run_options import Overrides, Plugins
from ..app.runs import built_or_given
from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..errors import NonFiniteError, PluginFailedError, TensorError
from ..potential.watches.followed_images import other_images
from ..scene.document import SceneSource
from ..steppers.minimisers.continuation.followed_load import FollowedLoad
from ..steppers.minimisers.minimiser import Minimiser
from ..steppers.minimisers.newton import Newton
from . import tensors as guests
from .energy_function import ENGINE, LastDerivative, apply_function
from .hold_input import HoldInput
from .members import Collected, TensorMembers, checked_call
from .tensors import DTYPES, Guest
from .term_input import Input

NO_SECOND = "an equilibrium has first derivatives here, and no second ones"


class EquilibriumFunction(guests.Lasting):
    """The equilibrium of a scene as a function of tensors, by name: fields, parameters and differentiable
    data of terms, numbers of holds ("grip.displacement").

        hanging = minusgrad.torch.equilibrium("scenes/stiffness_from_shape.toml")
        x = hanging(**{"neo_hookean.youngs_modulus": E})["x"]        # (n, d)

    It returns the fields that the scene's minimiser seeks. Of those a tensor has two parts: its free
    components are where the search begins, with a derivative of zero, and its held components the places of
    the supports, which have one. Every call starts from the scene, with the given tensors in place of its
    values. With `batch` = B, an input with one dimension more, (B, ...), has a value for each member, and the
    others are shared (`members`). Second derivatives raise `TensorError`.

    Raises `NonFiniteError` if no equilibrium is found, and `SingularSystemError` in backward, naming the
    mode, where it is not unique.
    """

    def __init__(self, simulation: BuiltScene, iterations: int):
        search = simulation.stepper
        if isinstance(search, FollowedLoad):
            raise TensorError(
                "load_steps: a tensor's equilibrium is found in one search, got some; leave `load_steps` out"
            )
        if not isinstance(search, Minimiser):
            raise TensorError(
                f"stepper '{search.name}': moves in time, and finds no equilibrium; use a minimiser, such as"
                ' "newton", or minusgrad.torch.rollout'
            )
        solver = search.solver.method if isinstance(search, Newton) else "auto"
        self._one = Balance(search, [], iterations, solver)
        self._blamed = partial(blaming, simulation.registry, PluginFailedError)
        potential = simulation.potential
        self._precision = DTYPES[potential.fields.dtype.name]
        self._sought = tuple(field.name for field in search.moving)
        self._fields = {
            n: potential.fields[n].values.copy() for n in self._one.inputs if n in potential.fields
        }
        self.guests = {n: Guest(n, values.shape, self._precision) for n, values in self._fields.items()}
        numbers = search.holds.numbers
        self._inputs: dict[str, Input | HoldInput] = {n: HoldInput(numbers, n) for n in numbers.names}
        for name in self._one.inputs:
            if name not in potential.fields and name not in numbers:
                self._inputs[name] = Input(self._one.owner(name), name)
        for name, one in self._inputs.items():
            self.guests[name] = Guest(name, one.start.shape, self._precision)

    @guests.eager
    def __call__(
        self, tensors: Mapping[str, Any] | None = None, /, *, batch: int | None = None, **more: Any
    ) -> dict[str, torch.Tensor]:
        found = apply_function(_Found, self, *checked_call(self.guests, tensors, more, batch))
        return dict(zip(self._sought, found, strict=True))

    def start(self, name: str) -> torch.Tensor:
        """A copy of the default value of input `name`."""
        if name not in self.guests:
            raise guests.strange(name, self.guests)
        values = self._inputs[name].start if name in self._inputs else self._fields[name]
        return guests.tensor(values, self._precision)

    # Called by autograd

    def found_fields(
        self, members: TensorMembers, given: Mapping[str, torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        """The fields that are sought, at the equilibrium of each member."""
        fields = self._one.potential.fields
        kept = {n: np.empty(members.shape(fields[n].shape), fields.dtype) for n in self._sought}
        with ENGINE, self._blamed():
            for k in members:
                with members.naming_member(k):
                    self._set_start(members.of_member(given, k))
                    if not self._one.find():
                        raise NonFiniteError(f"the equilibrium: {self._one.trouble}")
                for n, every in kept.items():
                    members.row(every, k)[...] = fields[n].values
        return tuple(guests.tensor(every, self._precision) for every in kept.values())

    def gradients(
        self,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        found: Mapping[str, torch.Tensor],
        wanted: Sequence[str],
        slopes: Mapping[str, torch.Tensor],
    ) -> list[torch.Tensor]:
        """dL/d(name) for each name in `wanted`, from the slopes dL/d(field) at the equilibria `found`."""
        collected = Collected(members)
        with ENGINE, self._blamed():
            for k in members:
                at, right = (
                    {n: guests.numbers(members.row(one, k)) for n, one in some.items()}
                    for some in (found, slopes)
                )
                self._set_start(members.of_member(given, k))
                self._one.return_to(at)
                pulled = self._one.pulled_back(
                    {n: np.asarray(s, np.float64) for n, s in right.items()}, wanted
                )
                for n in wanted:
                    collected.add(n, pulled[n])
        return [collected.tensor(n, self._precision) for n in wanted]

    def _set_start(self, given: Mapping[str, torch.Tensor]) -> None:
        """Set every field and parameter to its given value, or to its default."""
        for name, start in self._fields.items():
            values = guests.numbers(given[name]) if name in given else start
            self._one.potential.fields[name].set(values)
        for name, one in self._inputs.items():
            one.put(given.get(name))
        sought = self._one.potential
        if "x" in given and (found := other_images(sought.parts.values(), sought.fields)):
            raise TensorError(
                f"'x': puts {found}, which a search keeps; give positions that are not wrapped, as those of"
                " start('x')"
            )
        numbers = [name for name in given if isinstance(self._inputs.get(name), HoldInput)]
        for name in numbers:
            self._refuse_twice(name, given)
        self._one.place_supports(where_they_are=not numbers)

    def _refuse_twice(self, number: str, given: Mapping[str, torch.Tensor]) -> None:
        """Raise `TensorError` for places of supports beside a number of their hold."""
        field = self._one.holds.numbers.place(number)[0].field.name
        if field in given:
            raise TensorError(
                f"'{field}' and '{number}': both move the same supports; give one of them and leave"
                " the other out"
            )


def equilibrium(
    scene: SceneSource | BuiltScene,
    iterations: int | None = None,
    *,
    overrides: Overrides = (),
    plugins: Plugins = (),
) -> EquilibriumFunction:
    """The equilibrium that the scene's minimiser finds within `iterations` (default: the scene's steps).

    scene, overrides, plugins: as of `minusgrad.run`.
    A simulation from `minusgrad.build` belongs to the function afterwards. Raises `SceneError` with all the
    scene's mistakes, `EnergyError` for an energy without a sparse Hessian, and `TensorError` for a stepper
    that is no minimiser.
    """
    simulation = built_or_given(scene, overrides, plugins, BuiltScene)
    return EquilibriumFunction(simulation, simulation.last if iterations is None else iterations)


class _Found(Function):
    @staticmethod
    def forward(
        ctx: Any,
        one: EquilibriumFunction,
        names: tuple[str, ...],
        members: TensorMembers,
        *tensors: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        found = one.found_fields(members, dict(zip(names, tensors, strict=True)))
        ctx.one, ctx.names, ctx.members = one, names, members
        ctx.wanted = [n for n, needed in zip(names, ctx.needs_input_grad[3:], strict=True) if needed]
        ctx.save_for_backward(*tensors, *found)
        ctx.set_materialize_grads(False)
        return found

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> tuple[Any, ...]:
        one, saved = ctx.one, ctx.saved_tensors
        tensors, states = saved[: len(ctx.names)], saved[len(ctx.names) :]
        given = dict(zip(ctx.names, tensors, strict=True))
        found = dict(zip(one._sought, states, strict=True))
        known = {n: s for n, s in zip(one._sought, slopes, strict=True) if s is not None}
        gradients = one.gradients(ctx.members, given, found, ctx.wanted, known)
        if torch.is_grad_enabled():
            gradients = LastDerivative.apply(NO_SECOND, gradients, *tensors, *known.values())
        by_name = dict(zip(ctx.wanted, gradients, strict=True))
        return None, None, None, *(by_name.get(n) for n in ctx.names)
