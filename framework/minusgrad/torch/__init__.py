"""PyTorch bridge: energies, runs and kernels as differentiable functions of tensors, and as layers.

Enters: tensors, a scene file or a potential. Leaves: tensors whose `backward` the engine computes. May
import: `errors`, `engine`, `scene`, `energies`, `codegen`, `potential`, `steppers`, `adjoint`, `assembly`,
`app`.

    energy      U of a scene, with first and second derivatives
    outputs     the outputs of maps, with first derivatives
    rollout     the states of a run, as a function of how it starts and of its parameters
    equilibrium the state where forces balance, as a function of fields, parameters and data
    Layer       energy or rollout as a module, some of whose fields and parameters are learnt
    kernel      any differentiable Taichi kernel
    staged      kernels one after another

`pip install "minusgrad[torch]"`
"""

from ..errors import MissingPackageError, pip_line

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise MissingPackageError(f"PyTorch is not installed; {pip_line('torch')}", name="torch") from None

from .energy_function import energy
from .equilibrium_function import equilibrium
from .kernel_function import kernel, staged
from .layer import Layer
from .output_function import outputs
from .run_function import rollout

__all__ = ["Layer", "energy", "equilibrium", "kernel", "outputs", "rollout", "staged"]


def __dir__() -> list[str]:
    return sorted({*__all__, "__all__", "__doc__", "__file__", "__name__"})
