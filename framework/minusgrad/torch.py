"""Scenes in PyTorch: energies, runs and kernels as differentiable functions of tensors, and as layers.

    energy      U of a scene, with first and second derivatives
    rollout     the states of a run, as a function of how it starts and of its parameters
    Layer       either, with some of its fields and parameters to be learnt
    kernel      any differentiable Taichi kernel
    staged      kernels one after another

`pip install "minusgrad[torch]"`
"""

from .errors import UserError

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise UserError("PyTorch is not installed; pip install 'minusgrad[torch]'") from None

from .torch_energy import energy
from .torch_kernel import kernel, staged
from .torch_layer import Layer
from .torch_rollout import rollout

__all__ = ["Layer", "energy", "kernel", "rollout", "staged"]
