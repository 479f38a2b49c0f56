"""A scene as a layer of a network: some of its fields and parameters are learnt."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ..app.run_options import Overrides, Plugins
from ..assembly.built_scene import BuiltScene
from ..errors import TensorError
from . import tensors as guests
from .energy_function import energy
from .members import member_count
from .run_function import rollout


class Layer(torch.nn.Module):
    """U of a scene, or with `steps` the states of its run, as a module; `learn` names its parameters.

        layer = minusgrad.torch.Layer("scenes/stretch.toml", ["spring.k"], steps=100)
        optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
        layer(x=x)["x"]

    They start at their values in the scene, and have their names in the scene in `state_dict`, "x" or
    "spring.k" (`layer.spring.k`). Others are arguments of each call, or keep the scene's values. `observe`,
    `memory`, `overrides` and `plugins` are those of `rollout`.

        layer = minusgrad.torch.Layer("scenes/stretch.toml", ["spring.k"], steps=100)
        layer(x=many, batch=64)["x"]            # many (64, n, d); all members share the learnt k
        layer = minusgrad.torch.Layer("scenes/stretch.toml", each=["spring.k"], batch=64, steps=100)
        layer(x=x)["x"]                         # (64, n, d); each member learns its own layer.spring.k

    `batch`: the number of members of a call that does not give another; `each`: names of parameters that
    every member learns for itself, of shape (batch, ...). Raises as `energy` and `rollout` do, and
    `TensorError` for names that the scene does not have.
    """

    def __init__(
        self,
        scene: Path | str | BuiltScene,
        learn: Sequence[str] = (),
        *,
        each: Sequence[str] = (),
        batch: int | None = None,
        steps: int | None = None,
        observe: Sequence[int] | None = None,
        memory: int = 1 << 30,
        overrides: Overrides = (),
        plugins: Plugins = (),
    ):
        super().__init__()
        if steps is None and observe is not None:
            raise TensorError("observe: needs `steps`; without them the layer is an energy")
        for what, names in (("learn", learn), ("each", each)):
            if isinstance(names, str):
                raise TensorError(f'{what}: needs a list of names, got {names!r}; give ["{names}"]')
        self.batch = member_count(batch)
        if each and batch is None:
            raise TensorError(
                f"each: needs the number of members, got no batch; give batch=..., or learn={each}"
            )
        if twice := [name for name in each if name in learn]:
            raise TensorError(f"'{twice[0]}': is in `learn` and in `each`; leave it out of one of them")
        self._function = (
            energy(scene, overrides, plugins)
            if steps is None
            else rollout(scene, steps, observe=observe, memory=memory, overrides=overrides, plugins=plugins)
        )
        self.learnt = (*learn, *each)
        for name in self.learnt:
            start = self._function.start(name)
            if name in each:
                start = torch.stack([start] * (self.batch or 1))
            self._register_parameter(name, torch.nn.Parameter(start))

    def forward(
        self, tensors: Mapping[str, Any] | None = None, /, *, batch: int | None = None, **more: Any
    ) -> Any:
        """U, or the states by field, from these tensors and the learnt parameters."""
        given = guests.named_arguments(tensors, more)
        for name in self.learnt:
            if name in given:
                raise TensorError(f"'{name}': is learnt by the layer; leave it out, here or of `learn`")
        learnt = {name: self._learnt_tensor(name) for name in self.learnt}
        return self._function({**given, **learnt}, batch=self.batch if batch is None else batch)

    def extra_repr(self) -> str:
        return ", ".join(f"{name} {list(self._learnt_tensor(name).shape)}" for name in self.learnt)

    def _learnt_tensor(self, name: str) -> torch.Tensor:
        """The tensor now registered under this name; PyTorch may have replaced it."""
        term, _, argument = name.rpartition(".")
        return getattr(self.get_submodule(term), argument)

    def _register_parameter(self, name: str, parameter: torch.nn.Parameter) -> None:
        """Register it under its own name; a parameter of a term, in a module with the term's name."""
        term, dot, argument = name.rpartition(".")
        try:
            if dot and term not in self._modules:
                self.add_module(term, torch.nn.Module())
            (self.get_submodule(term) if dot else self).register_parameter(argument, parameter)
        except KeyError:
            raise TensorError(
                f"'{name}': the name is an attribute of torch.nn.Module; rename it in the scene"
            ) from None
