"""ASE: the energy of a scene as a calculator, for optimisers, nudged elastic bands, dimers and phonons.

    from minusgrad.ase import Calculator

    atoms.calc = Calculator("scene.toml")

`pip install "minusgrad[ase]"`
"""

from .errors import MissingPackageError, pip_line

try:
    import ase as _ase  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "ase":
        raise
    raise MissingPackageError(f"ASE is not installed; {pip_line('ase')}", name="ase") from None

from .adapters.ase_calculator import Calculator

__all__ = ["Calculator"]


def __dir__() -> list[str]:
    return sorted({*__all__, "__all__", "__doc__", "__file__", "__name__"})
