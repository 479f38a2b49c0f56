"""The outputs of maps as a function of tensors: y = sum of f, at given fields, parameters and time.

Backward is a sweep that begins with the slopes as adjoints of the outputs: dL/dz = (dy/dz)' dL/dy.

Decisions 0394.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from torch.autograd.function import Function

import torch

from ..app.run_options import Overrides, Plugins
from ..app.runs import built_or_given
from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..codegen.derivative_request import DerivativeRequest
from ..engine import storage
from ..errors import PluginFailedError, TensorError, choices
from ..potential.potential import Potential
from ..scene.document import SceneSource
from . import tensors as guests
from .energy_function import ENGINE, Blame, Energy, LastDerivative, apply_function
from .members import TensorMembers, checked_call

NO_SECOND = "outputs of maps have first derivatives here, and no second ones"


class Outputs(Energy):
    """Outputs of maps as functions of tensors, by name: fields ("x"), "term.argument", the time "t".

        seen = minusgrad.torch.outputs("scenes/water_renderer.toml", ["seen"])
        seen(height=height)["seen"]                     # (cells,)

    The inputs are those of an energy, and checked like them. A result is a tensor for each output, of the
    shape of the field; with `batch` = B of one dimension more, (B, ...). Outputs have first derivatives;
    second ones raise `TensorError`.
    """

    def __init__(self, potential: Potential, names: Sequence[str] | None, blamed: Blame = nullcontext):
        super().__init__(potential, blamed)
        every = self._potential.map_outputs
        known = [name for name, field in every.items() if field.pair_set is None]
        if not known:
            to, got = "", "energies"
            if every:
                to, got = " to nodes", "those of directed pairs, whose number changes,"
            raise TensorError(f"outputs: there is no map{to}, got {got} alone; use minusgrad.torch.energy")
        if strange := [name for name in names or () if name not in known]:
            raise TensorError(f"no output named '{strange[0]}'{choices(strange[0], known)}")
        self.names = tuple(known if names is None else names)
        arrays = {n: self._potential.map_outputs[n].array for n in self.names}
        self._results = arrays
        dtype = self._potential.fields.dtype
        self._slopes = {n: storage.vacant(array.shape, dtype) for n, array in arrays.items()}
        self._requests: dict[tuple[tuple[str, ...], tuple[str, ...]], DerivativeRequest] = {}

    @guests.eager
    def __call__(
        self, tensors: Mapping[str, Any] | None = None, /, *, batch: int | None = None, **more: Any
    ) -> Any:
        found = apply_function(_Outputs, self, *checked_call(self.guests, tensors, more, batch))
        return dict(zip(self.names, found, strict=True))

    # Called by autograd

    def results(self, members: TensorMembers, given: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The outputs at the tensors of each member."""
        found = [guests.empty_tensor(members.shape(a.shape), self._precision) for a in self._results.values()]
        with ENGINE, self._blamed():
            for k in members:
                with self._place_member(k, members, given, {}, {}) as t:
                    self._potential.refresh(t)
                for every, array in zip(found, self._results.values(), strict=True):
                    members.row(every, k)[...] = guests.tensor(storage.host(array), self._precision)
        return tuple(found)

    def gradients(
        self,
        members: TensorMembers,
        given: Mapping[str, torch.Tensor],
        wanted: Sequence[str],
        slopes: Mapping[str, torch.Tensor],
    ) -> list[torch.Tensor]:
        """dL/d(name) for each name in `wanted`, from dL/dy of some outputs, of all members."""
        asked = self._kept_request(tuple(wanted), tuple(slopes))
        found = self._derivative_rows(members, wanted)
        into = {n: found[n] for n in asked.gradient}
        with ENGINE, self._blamed():
            for k in members:
                seeds = [(self._slopes[n], members.row(slope, k)) for n, slope in slopes.items()]
                with self._place_member(k, members, given, into, {}, seeds) as t:
                    swept = self._potential.sweep(asked, t)
                for n in asked.slopes:
                    members.row(found[n], k)[...] = guests.tensor(swept.slopes[n], self.guests[n].dtype)
        return [members.sum_over_members(n, one) for n, one in found.items()]

    def _kept_request(self, wanted: tuple[str, ...], sloped: tuple[str, ...]) -> DerivativeRequest:
        """One object for each set of names: kernels are kept by their request."""
        if (wanted, sloped) not in self._requests:
            self._requests[wanted, sloped] = DerivativeRequest(
                gradient={n: self._into[n] for n in wanted if n in self._seats},
                slopes=tuple(n for n in wanted if n not in self._seats),
                seeds={n: self._slopes[n] for n in sloped},
                only_seeds=True,
            )
        return self._requests[wanted, sloped]


class _Outputs(Function):
    @staticmethod
    def forward(
        ctx: Any, outputs: Outputs, names: tuple[str, ...], members: TensorMembers, *tensors: torch.Tensor
    ) -> Any:
        ctx.outputs, ctx.names, ctx.members = outputs, names, members
        ctx.wanted = [n for n, needed in zip(names, ctx.needs_input_grad[3:], strict=True) if needed]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return outputs.results(members, dict(zip(names, tensors, strict=True)))

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor | None) -> tuple[Any, ...]:
        saved = ctx.saved_tensors
        given = dict(zip(ctx.names, saved, strict=True))
        pairs = zip(ctx.outputs.names, slopes, strict=True)
        known = {n: s.contiguous() for n, s in pairs if s is not None}
        found = ctx.outputs.gradients(ctx.members, given, ctx.wanted, known)
        if torch.is_grad_enabled():
            found = LastDerivative.apply(NO_SECOND, found, *saved, *known.values())
        by_name = dict(zip(ctx.wanted, found, strict=True))
        return None, None, None, *(by_name.get(n) for n in ctx.names)


def outputs(
    scene: SceneSource | BuiltScene | Potential,
    names: Sequence[str] | None = None,
    overrides: Overrides = (),
    plugins: Plugins = (),
) -> Outputs:
    """The outputs of a scene's maps, or of a potential's, as a function of tensors.

    names: of the output fields; default: all. `overrides` and `plugins` are those of `minusgrad.run`. Raises
    `SceneError` with all mistakes of a scene, and `TensorError` for names that no map gives.
    """
    built = built_or_given(scene, overrides, plugins, BuiltScene, Potential)
    if isinstance(built, BuiltScene):
        return Outputs(built.potential, names, partial(blaming, built.registry, PluginFailedError))
    return Outputs(built, names)
