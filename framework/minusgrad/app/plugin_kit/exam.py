"""The exam of a plugin's energies, as a test function of pytest."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

from ...assembly.registry import Registry
from ...check.questions import Finding
from ...energies.constraint import Constraint
from ...engine import runtime
from ...errors import MissingPackageError, UserError, unknown
from ...exam import energy_exam
from ...exam.instances import Instance
from .check_process import questions_to

INNER = "MINUSGRAD_INNER_EXAM"
"""Set in the process of the other engine, which starts no third one."""


def exam(plugin: str, instances: Mapping[str, Instance] | None = None) -> Callable:
    """A test function of pytest: the exam of minusgrad's own energies for those of an installed plugin.

        test_exam = exam("my_plugin")

    Each energy is asked at small random states of its declared scales, in two and in three dimensions: values
    and gradients against plain Python, its differences and the engine's reverse mode; Hessian products; the
    order of Taylor's remainder; f32; symmetries. Then come the questions of `minusgrad check`, which are all
    that maps, staged energies and energies over several sets are asked. A last row repeats everything with
    the other engine, if it is installed.

    plugin: its name. instances: by the name of an energy, the states at which it makes sense, such as
    `Instance(bond, state=lattice)` for an energy that is infinite where two nodes meet.
    Raises `UserError` for a plugin or an energy that does not exist, `MissingPackageError` without pytest.
    """
    try:
        import pytest
    except ModuleNotFoundError:
        raise MissingPackageError("pytest is not installed; pip install pytest", name="pytest") from None

    rows = [pytest.param(ask, id=name) for name, ask in questions(plugin, instances or {}).items()]
    other = next(name for name in runtime.PREFIXES if name != runtime.engine_name())
    if find_spec(other) is not None and INNER not in os.environ:
        rows.append(pytest.param(partial(_elsewhere, other), id=f"engine-{other}"))

    @pytest.mark.minusgrad
    @pytest.mark.parametrize("ask", rows)
    def test_exam(ask: Callable, request: Any) -> None:
        found = ask(request) if getattr(ask, "func", None) is _elsewhere else [*ask()]
        failed = [f for f in found if not f.passed]
        assert not failed, "\n".join(map(in_words, failed))

    return test_exam


def questions(plugin: str, instances: Mapping[str, Instance]) -> dict[str, Callable[[], Iterator[Finding]]]:
    """The questions to all energies of a plugin, by ENERGY-DIMENSION-QUESTION.

    Raises `UserError` for a plugin that is not installed, or cannot be loaded, and for instances of energies
    that it does not have.
    """
    registry = loaded(plugin)
    energies = {energy.name: energy for energy in registry.of_plugin(plugin)}
    for name in instances:
        if name not in energies:
            raise UserError(f"exam of '{plugin}': {unknown('energy', name, energies)}")
    asked: dict[str, Callable[[], Iterator[Finding]]] = {}
    for name, energy in energies.items():
        if name in instances or energy_exam.can_be_examined(energy):
            whole = energy.weighted_energy() if isinstance(energy, Constraint) else energy
            one = instances.get(name) or Instance(whole, compiles=None)  # type: ignore[arg-type]
            for d in one.dimensions:
                for question, ask in energy_exam.questions(one).items():
                    asked[f"{name}-{d}d-{question}"] = partial(ask, d)
        asked[f"{name}-check"] = partial(questions_to, energy, registry)
    return asked


def loaded(plugin: str) -> Registry:
    """The registry with this plugin and the core. Raises `UserError` if it is not there, or broken."""
    registry = Registry.load([plugin])
    registry.complete()
    if plugin in registry.broken:
        raise registry.broken[plugin]
    return registry


def in_words(f: Finding) -> str:
    """A finding in one line."""
    figure = "" if f.figure is None else f" ({f.figure:.2g})"
    return (
        f"{f.term}{'.' * bool(f.argument)}{f.argument}: {f.question}, {f.precision}: {f.text.strip()}{figure}"
    )


def _elsewhere(engine: str, request: Any) -> list[Finding]:
    """The same test function, in a process with the other engine."""
    name = request.node.originalname
    call = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*call, f"{request.node.path}::{name}"],
        cwd=request.config.invocation_params.dir,
        env={**os.environ, runtime.VARIABLE: engine, INNER: "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        encoding="utf-8",
    )
    text = "\n".join(done.stdout.splitlines()[-30:])
    return [Finding(name, "", "engine", done.returncode == 0, None, f"with {engine}:\n{text}{done.stderr}")]
