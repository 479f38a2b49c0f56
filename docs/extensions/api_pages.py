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
BESIDE = {"minusgrad": ("open",)}
"""Public names that `import *` leaves to Python."""
SKIPPED = ("ti", "random", "memory", "images")
"""The engine, and modules."""


PARTS = {
    "scripting.stepper_blocks": "Steppers",
    "steppers": "Steppers",
    "scripting": "Simulations, runs, fits",
    "app": "Simulations, runs, fits",
    "sweeps": "Simulations, runs, fits",
    "energies.fields": "Fields and states",
    "elements": "Fields and states",
    "energies": "Energies and maps",
    "potential": "Potentials and derivatives",
    "adjoint": "Potentials and derivatives",
    "symbolic": "Functions for energies",
    "engine": "Functions for energies",
    "scene": "Blocks of scenes",
    "assembly": "Blocks of scenes",
    "files": "Blocks of scenes",
    "errors": "Errors",
}
"""The sections of a page, by the beginnings of the modules that define the names."""
OTHER = "Others"
ORDER = (
    *(
        "Simulations, runs, fits",
        "Results",
        "Energies and maps",
        "Fields and states",
        "Potentials and derivatives",
    ),
    *("Steppers", "Functions for energies", "Blocks of scenes", "Errors", OTHER),
)


RETURNED = {
    "minusgrad": (
        "minusgrad.app.results.run.Run",
        "minusgrad.app.results.fit.Fit",
        "minusgrad.app.results.ensemble_run.EnsembleRun",
    )
}
"""Classes of which users get objects, by page; they have no public name."""


def pages() -> dict[Path, str]:
    """The text of each page by its path."""
    return {GENERATED / "api" / f"{name}.md": page(name, about) for name, about in MODULES.items()}


def page(name: str, about: str) -> str:
    """The page of a module: a directive of autodoc for each name."""
    module = import_module(name)
    names = sorted(
        (one for one in [*module.__all__, *BESIDE.get(name, ())] if one not in SKIPPED),
        key=lambda one: (not inspect.isclass(getattr(module, one)), one.lower()),
    )
    shared = [one for one in names if name != USERS and one in import_module(USERS).__all__]
    links = ", ".join(f"{{py:obj}}`{one} <{USERS}.{one}>`" for one in shared)
    also = f"Also here, as in `{USERS}`: {links}.\n\n" if shared else ""
    parts: dict[str, list[str]] = {}
    for one in names:
        if one not in shared:
            parts.setdefault(part(name, one), []).append(directive(f"{name}.{one}", getattr(module, one)))
    returned = [directive(path, resolved(path)) for path in RETURNED.get(name, ())]
    if returned:
        parts["Results"] = returned
    sections = "".join(section(title, parts, name) for title in ORDER if title in parts)
    return f"# `{name}`\n\n{about}\n\n{also}{sections}"


def resolved(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def section(title: str, parts: dict[str, list[str]], name: str) -> str:
    """Directives under a heading, unless there is only one group of them."""
    heading = f"## {title}\n\n" if len(parts) > 1 else ""
    body = "\n".join(parts[title])
    return f"{heading}```{{eval-rst}}\n.. currentmodule:: {name}\n\n{body}\n```\n\n"


def part(module: str, name: str) -> str:
    """The title of the section of a name: by the package that defines it."""
    homes = getattr(import_module(module), "_HOMES", {})
    home = next((path for path, names in homes.items() if name in names.split()), "")
    return next((title for begin, title in PARTS.items() if home.startswith(begin)), OTHER)


def directive(name: str, value: object) -> str:
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members:\n   :class-doc-from: class\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {name}\n"
    return f".. autodata:: {name}\n   :no-value:\n"
