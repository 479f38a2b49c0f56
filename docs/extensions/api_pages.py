"""API reference: one page for each public module, with everything that its `__all__` names."""

import inspect
from importlib import import_module
from pathlib import Path

from .links import GENERATED

MODULES = {
    "minusgrad": "Users: declare energies, run scenes, compute with potentials.",
    "minusgrad.plugin": "Authors of plugins: states, steppers, observers, compounds.",
    "minusgrad.torch": "PyTorch: energies, runs and kernels as differentiable functions.",
    "minusgrad.ase": "ASE: the energy of a scene as a calculator.",
    "minusgrad.openmm": "OpenMM: the energy of a scene as a force.",
}
USERS = "minusgrad"
SKIPPED = ("ti", "random", "memory", "images")
"""The engine, and modules."""


def pages() -> dict[Path, str]:
    """The text of each page by its path."""
    return {GENERATED / "api" / f"{name}.md": page(name, about) for name, about in MODULES.items()}


def page(name: str, about: str) -> str:
    """The page of a module: a directive of autodoc for each name."""
    module = import_module(name)
    names = sorted((one for one in module.__all__ if one not in SKIPPED), key=str.lower)
    shared = [one for one in names if name != USERS and one in import_module(USERS).__all__]
    body = "\n".join(directive(f"{name}.{one}", getattr(module, one)) for one in names if one not in shared)
    links = ", ".join(f"{{py:obj}}`{one} <{USERS}.{one}>`" for one in shared)
    also = f"Also here, as in `{USERS}`: {links}.\n\n" if shared else ""
    return f"# `{name}`\n\n{about}\n\n{also}```{{eval-rst}}\n.. currentmodule:: {name}\n\n{body}\n```\n"


def directive(name: str, value: object) -> str:
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members:\n   :class-doc-from: class\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n   :no-value:\n"
