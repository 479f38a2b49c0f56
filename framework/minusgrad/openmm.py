"""OpenMM: the energy of a scene as a force, for its integrators, barostats and samplers.

    import minusgrad.openmm

    system.addForce(minusgrad.openmm.force("scene.toml"))

`pip install "minusgrad[openmm]"`
"""

from .errors import MissingPackageError, pip_line

try:
    import openmm as _openmm
except ModuleNotFoundError as error:
    if error.name != "openmm":
        raise
    raise MissingPackageError(f"OpenMM is not installed; {pip_line('openmm')}", name="openmm") from None
if not hasattr(_openmm, "PythonForce"):
    raise MissingPackageError(
        f"OpenMM {_openmm.__version__} has no PythonForce, which came with 8.5;"
        f" {pip_line('openmm').replace('install', 'install -U', 1)}",
        name="openmm",
    )

from .adapters.openmm_force import force

__all__ = ["force"]


def __dir__() -> list[str]:
    return sorted({*__all__, "__all__", "__doc__", "__file__", "__name__"})
