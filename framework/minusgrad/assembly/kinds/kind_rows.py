"""Rows of the index of kinds: an energy, a map, or a block of a scene as plain data.

Decisions 0130.
"""

import sys
from typing import Any

from ...scene.state_tables.sides_table import declared_model


def row(model: Any, energy: Any = None, is_loss: bool = False) -> dict[str, Any]:
    """The row of a kind: its first sentence; of energies their declaration, and the name of a form."""
    found: dict[str, Any] = {"about": first_sentence(model)}
    if energy is not None and not is_loss:
        found["energy"] = declaration(energy)
        if (form := getattr(energy, "plane_stress", None)) is not None:
            found["form"] = form.name
    return found


def first_sentence(model: Any) -> str:
    """The first sentence of the docstring, up to an empty line."""
    paragraph = (model.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(paragraph.split())


def declaration(energy: Any) -> dict[str, Any]:
    """An energy, map, dissipation, ... as plain data."""
    over = getattr(energy, "over", "stages")
    arguments = [
        {"name": name, "role": type(role).__name__.lower(), "unit": role.unit, "shape": list(role.shape)}
        for name, role in energy.roles.items()
    ]
    return {
        "over": over if isinstance(over, (str, int)) else list(over),
        "gives": ", ".join(getattr(energy, "outputs", ())) if hasattr(energy, "gives") else None,
        "symmetries": list(getattr(energy, "symmetries", ())),
        "arguments": arguments,
        "claim": energy.claim,
    }


def place(model: Any, energy: Any | None, package: str) -> str:
    """Where a kind is defined: "module:name", "module:table.name"; "" where no module of the package has it.

    The table is a dictionary by names of energies.
    """
    if energy is None:
        model = declared_model(model)
        at = f"{model.__module__}:{model.__name__}"
        return at if getattr(sys.modules[model.__module__], model.__name__, "") is model else ""
    called = str(energy.name)
    below = (name for name in sys.modules if name == package or name.startswith(f"{package}."))
    home = getattr(getattr(energy, "function", None), "__module__", "")
    for module in sorted(below, key=lambda name: (name != home, name)):
        for name, value in vars(sys.modules[module]).items():
            if value is energy:
                return f"{module}:{name}"
            if isinstance(value, dict) and value.get(called) is energy:
                return f"{module}:{name}.{called}"
    return ""
