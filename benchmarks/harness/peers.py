"""Packages that the project does not need, and as many threads for each as for the rest."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from .cases import MissingColumnError
from .session import threads

DISTRIBUTIONS = {"warp": "warp-lang", "jax_md": "jax-md", "torch_sim": "torch-sim-atomistic"}
"""Of modules that are not called as they are installed."""


def peer(name: str) -> Any:
    """The module, which takes as many threads as everything else.

    Raises `MissingColumnError`, naming it, where it is not installed.
    """
    require(name)
    try:
        module = import_module(name)
    except ImportError as error:
        raise MissingColumnError(f"{_called(name)} cannot be imported: {error}") from None
    if prepare := _PREPARE.get(name):
        prepare(module)
    return module


def require(name: str) -> None:
    """Refuse a module that is not installed, without its import: a program of its own will do that.

    Raises `MissingColumnError`, naming it.
    """
    try:
        found = find_spec(name)
    except ValueError:  # None in sys.modules
        found = None
    if found is None:
        raise MissingColumnError(f"{_called(name)} is not installed")


def _called(name: str) -> str:
    return DISTRIBUTIONS.get(name, name)


def _torch(torch: Any) -> None:
    torch.set_num_threads(threads())


def _jax(jax: Any) -> None:  # it takes as many threads as the process has cores
    jax.config.update("jax_enable_x64", True)


def _numba(numba: Any) -> None:
    numba.set_num_threads(threads())


def _pytreegrav(module: Any) -> None:
    _numba(import_module("numba"))


def _warp(warp: Any) -> None:
    warp.config.quiet = True
    warp.init()


_PREPARE = {"torch": _torch, "jax": _jax, "numba": _numba, "pytreegrav": _pytreegrav, "warp": _warp}


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
