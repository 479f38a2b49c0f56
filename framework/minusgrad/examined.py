"""What `minusgrad check` is given, as subjects: a scene, an energy, a plugin, or a Python file."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from . import check
from .asked import Say
from .door import build
from .kernel_files import ask, load, subjects
from .questions import Finding
from .registry import Registry

Questions = Callable[[Say], Iterator[Finding]]


def examined(
    what: str, overrides: Sequence[str], plugins: Sequence[str]
) -> Iterator[tuple[str, bool, Questions]]:
    """Each subject: its name, whether others follow, and its questions. Raises `UserError`."""
    if what.endswith(".toml"):
        yield what, False, partial(_scene, what, overrides, plugins)
    elif what.endswith(".py"):
        path = Path(what)
        module = load(path)
        found = subjects(path, module)
        for k, one in enumerate(found):
            yield one.name, k + 1 < len(found), partial(ask, one, module)
    else:
        energies = _energies(Registry.load(None, list(map(Path, plugins))), what)
        for k, energy in enumerate(energies):
            yield energy.name, k + 1 < len(energies), partial(_energy, energy)


def _scene(what: str, overrides: Sequence[str], plugins: Sequence[str], say: Say) -> Iterator[Finding]:
    say("the scene built")
    simulation = build(what, [*overrides, 'runtime.precision="f64"'], list(map(Path, plugins)))
    say("the questions")
    for finding in check.of_potential(simulation.potential, simulation.stepper.time):
        say(f"{finding.term}: after {finding.question} of {finding.argument or 'its value'}")
        yield finding


def _energy(energy: Any, say: Say) -> Iterator[Finding]:
    say(f"energy '{energy.name}'")
    return check.of_energy(energy)


def _energies(registry: Registry, name: str) -> list[Any]:
    """The energy of that name, or all of the plugin of that name."""
    of_plugin = registry.of_plugin(name)
    return of_plugin if of_plugin and name not in registry.energies() else [registry.energy(name)]
