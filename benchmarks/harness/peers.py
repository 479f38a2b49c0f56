"""Packages that the project does not need, and as many threads for each as for the rest."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .cases import MissingColumnError
from .session import threads

DISTRIBUTIONS = {"warp": "warp-lang"}
"""Of modules that are not called as they are installed."""


def peer(name: str) -> Any:
    """The module, which takes as many threads as everything else.

    Raises `MissingColumnError`, naming it, where it is not installed.
    """
    try:
        module = import_module(name)
    except ImportError:
        raise MissingColumnError(f"{DISTRIBUTIONS.get(name, name)} is not installed") from None
    if prepare := _PREPARE.get(name):
        prepare(module)
    return module


def _torch(torch: Any) -> None:
    torch.set_num_threads(threads())


def _jax(jax: Any) -> None:  # it takes as many threads as the process has cores
    jax.config.update("jax_enable_x64", True)


def _numba(numba: Any) -> None:
    numba.set_num_threads(threads())


def _warp(warp: Any) -> None:
    warp.config.quiet = True
    warp.init()


_PREPARE = {"torch": _torch, "jax": _jax, "numba": _numba, "warp": _warp}


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
