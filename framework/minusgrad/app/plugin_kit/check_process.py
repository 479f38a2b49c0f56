"""Gradient checks in a child process, so that a crash or an endless loop is a finding.

    parent                              child (`python -m minusgrad.app.plugin_kit.check_process`)
    the request, as JSON on stdin  -->
                                   <--  lines of JSON: {"doing": ...}, {"finding": ...}, {"refused": ...}
    a signal, or silence           -->  a finding about the last activity; the next subject follows

The child is started, not forked: a fork of a process with a running engine hangs.

Decisions 0081, 0117, 0338.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from logging import getLogger
from pathlib import Path
from threading import Timer
from typing import Any, TextIO

import numpy as np

from ...adjoint.checks import equilibrium_check, first_step, lagrangian_check, substep_check
from ...assembly.built_scene import BuiltScene
from ...assembly.ensembles.members import Members
from ...assembly.plugin_blame import blaming
from ...assembly.registry import Registry
from ...check import single_precision, term_check
from ...check.kernel_file import ask, load, subjects
from ...check.questions import Finding
from ...energies.constraint import Constraint
from ...energies.lagrangian import Lagrangian
from ...energies.magnetic_field import MagneticField
from ...engine import runtime
from ...errors import MinusgradError, PluginFailedError, Problem, RangeError, SceneError, UserError
from ...scene.document import load as load_scene
from ...steppers.integrator import Integrator
from ...steppers.magnetic.curl import curl_error, spaces
from ...steppers.magnetic.flow import flow_energy
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.programs.evolution import Evolution
from ...steppers.timed.gauss_radau.gauss_radau import GaussRadau
from ...steppers.variational.variational_integrator import VariationalIntegrator
from ..run_options import RunOptions
from ..runs import build
from ..verbs.shipped import places
from .process_end import ProcessEnd

logger = getLogger("minusgrad")
MOST_CURL = 1e-7
"""The largest error of a curl, in parts of the slopes of A: differences of order 6 are closer."""
SECONDS = 300.0
"""Seconds without output after which a kernel is reported as hanging."""


def findings(
    what: Sequence[str],
    overrides: Sequence[str] = (),
    plugins: Sequence[Path] = (),
    seconds: float = SECONDS,
    fitted: Path | None = None,
) -> Iterator[Finding]:
    """Check scenes, energies, plugins and files, each by its name, in a child process.

    fitted: a scene is checked with the values of the fit in this folder. Raises `UserError` for names that
    cannot be checked.
    """
    for one in what:
        begin = 0
        while True:
            asked = {
                "what": one,
                "overrides": list(overrides),
                "plugins": list(map(str, plugins)),
                "fitted": None if fitted is None else str(fitted),
                "reverses": True,
                "from": begin,
            }
            child = _CheckChild(asked, seconds)
            yield from child.findings()
            if child.end is not None and child.in_reverses_of_the_program:
                child = _CheckChild({**asked, "reverses": False}, seconds)
                yield from child.findings()
            if child.end is None:
                break
            yield child.end
            if not child.more:
                break
            begin = child.number + 1


class _CheckChild:
    """One child process. `end`: a finding if it died; `number`: the current subject.

    `doing` and `why`: its last activity, and a likely cause of a crash, with its line.
    """

    def __init__(self, asked: dict[str, Any], seconds: float):
        self.asked, self.seconds = asked, seconds
        self.number, self.more, self.name, self.doing = 0, False, str(asked["what"]), "its start"
        self.why = ["", ""]
        self.begun = False
        """True once the first subject is asked: what was to be checked is loaded."""
        self.end: Finding | None = None
        self._silent = False
        self._terms: set[str] = set()

    @property
    def in_reverses_of_the_program(self) -> bool:
        """True if it died while a file was loaded, whose own reverses may be to blame."""
        return str(self.asked["what"]).endswith(".py") and not self.begun and self.asked["reverses"]

    def findings(self) -> Iterator[Finding]:
        child = subprocess.Popen(
            [sys.executable, "-P", "-X", "faulthandler", "-m", __name__],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        assert child.stdin is not None
        assert child.stdout is not None
        refused: MinusgradError | None = None
        timer = self._timer(child)
        try:
            with child.stdin as pipe:
                json.dump(self.asked, pipe)
            lines = Drained(child.stderr)
            for line in child.stdout:
                timer.cancel()
                message = json.loads(line)
                timer = self._timer(child)
                if "finding" in message:
                    yield Finding(**message["finding"])
                self.number = message.get("number", self.number)
                self.more = message.get("more", self.more)
                if "name" in message:
                    self.name = message["name"]
                    if self.name != self.asked["what"]:
                        logger.debug("checking %s ...", self.name)
                self.begun = self.begun or "name" in message
                if "doing" in message:
                    self.doing, self.why = message["doing"], message.get("why", ["", ""])
                    self._say_term(message.get("term", ""))
                refused = _error(message) if "refused" in message else refused
            code = child.wait()
        finally:
            timer.cancel()
            child.kill()
            child.wait()
        if refused is not None:
            raise refused
        if code != 0:
            end = ProcessEnd(code, self.seconds if self._silent else None, self.doing, lines.all())
            self.end = end.finding(self.name, self.begun, str(self.asked["what"]), self.why)

    def _say_term(self, term: str) -> None:
        """Announce a term when its first answer is there."""
        if term and term not in self._terms:
            self._terms.add(term)
            logger.debug("checking %s: %s ...", self.name, term)

    def _timer(self, child: subprocess.Popen) -> Timer:
        def stop() -> None:
            self._silent = True
            child.kill()

        timer = Timer(self.seconds, stop)
        timer.daemon = True
        timer.start()
        return timer


def _environment() -> dict[str, str]:
    """The variables of the child: no architecture of the engine, and plots that need no screen."""
    kept = {k: v for k, v in os.environ.items() if k not in [f"{p}ARCH" for p in runtime.PREFIXES.values()]}
    return {"MPLBACKEND": "Agg", **kept}


def _error(message: dict[str, Any]) -> MinusgradError:
    """The error that the child reported, for the parent to raise."""
    refused = message["refused"]
    if isinstance(refused, list):
        return SceneError([Problem(*problem) for problem in refused])
    return UserError(refused) if message["code"] == UserError.exit_code else MinusgradError(refused)


class Drained:
    """The last lines of a stream, read in a thread."""

    def __init__(self, stream: Any):
        from collections import deque
        from threading import Thread

        self._lines: Any = deque(maxlen=200)
        self._thread = Thread(target=lambda: self._lines.extend(stream), daemon=True)
        self._thread.start()

    def all(self) -> list[str]:
        """The lines, without empty ones."""
        self._thread.join(timeout=5.0)
        return [line.strip() for line in self._lines if line.strip()]

    def last(self) -> str:
        return next(reversed(self.all()), "without output")


# The child ------------------------------------------------------------------------------------------


def main() -> int:
    """Check the subjects of the request on stdin; report on the original stdout."""
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)  # prints of checked files must not reach the parent
        asked = json.load(sys.stdin)
        try:
            _ask(asked, out)
        except SceneError as error:
            _tell(out, refused=error.problems)
        except MinusgradError as error:
            _tell(out, refused=str(error), code=error.exit_code)
        except SystemExit as error:  # of the checked code: an exit code of 0 would look like an answer
            raise RuntimeError(f"the checked code raises SystemExit({error.code!r})") from error
    return 0


def _tell(out: TextIO, **message: Any) -> None:
    out.write(json.dumps(message) + "\n")


def _announce(out: TextIO, doing: str, why: Sequence[str] = ("", ""), term: str = "") -> None:
    """Report the present activity, a likely cause of a crash, and the term of an answer."""
    _tell(out, doing=doing, why=why, term=term)


def _ask(asked: dict[str, Any], out: TextIO) -> None:
    from .check_process import examined

    for number, (name, more, questions) in enumerate(
        examined(
            asked["what"], asked["overrides"], asked["plugins"], asked["fitted"], asked.get("reverses", True)
        )
    ):
        if number < asked["from"]:
            continue
        _tell(out, number=number, more=more, name=name, doing="its start")
        for finding in questions(partial(_announce, out)):
            _tell(out, finding=finding.as_dict())


if __name__ == "__main__":
    sys.exit(main())


Announcement = Callable[..., None]
"""`_announce` on the stream to the parent."""
Questions = Callable[[Announcement], Iterator[Finding]]


def examined(
    what: str,
    overrides: Sequence[str],
    plugins: Sequence[str],
    fitted: str | None = None,
    reverses: bool = True,
) -> Iterator[tuple[str, bool, Questions]]:
    """For each subject: its name, whether others follow, and its questions. Raises `UserError`.

    reverses: False loads a file without running reverses of its kernels.
    """
    if (scene := _shipped_scene(what, plugins)) is not None:
        what, plugins = str(scene), [*map(str, places.own_plugins(scene)), *plugins]
    if fitted is not None and not what.endswith(".toml"):
        raise UserError(f"{what}: --fitted needs a scene; give the scene that was fitted")
    if what.endswith(".toml"):
        built, several = partial(build, what, fitted=fitted), _has_members(what, overrides)
        yield what, several, partial(_scene, built, what, overrides, plugins)
        for number, last in _few_members(what, overrides, plugins, fitted) if several else ():
            name, chosen = f"{what}, member {number}", [*overrides, f"ensemble.member={number}"]
            yield name, not last, partial(_scene, built, name, chosen, plugins)
    elif what.endswith(".py"):
        file = load(Path(what), reverses)
        found = subjects(file)
        for k, one in enumerate(found):
            yield one.name, k + 1 < len(found), partial(ask, one, file.module)
    else:
        registry = Registry.load(None, list(map(Path, plugins)))
        energies = _energies(registry, what)
        for k, energy in enumerate(energies):
            yield energy.name, k + 1 < len(energies), partial(_energy, energy, registry)


def _shipped_scene(what: str, plugins: Sequence[str]) -> Path | None:
    """The scene of minusgrad with this name, if no file, energy or plugin has it."""
    if not places.is_name(Path(what)) or what not in places.scenes():
        return None
    registry = Registry.load(None, list(map(Path, plugins)))
    is_taken = what in registry.energies() or bool(registry.of_plugin(what))
    return None if is_taken else places.scenes()[what]


def _has_members(what: str, overrides: Sequence[str]) -> bool:
    """True for a scene with [ensemble] that names no member."""
    table = load_scene(what, overrides).data.get("ensemble")
    return isinstance(table, dict) and "member" not in table


def _few_members(
    what: str, overrides: Sequence[str], plugins: Sequence[str], fitted: str | None
) -> list[tuple[int, bool]]:
    """The first, middle and last member of an ensemble, and which is the last. All values are judged."""
    options = RunOptions(what, overrides, plugins=list(map(Path, plugins)), fitted=fitted)
    validated = options.validated()
    with blaming(validated.registry):
        count = Members(validated).points.count
    return [(number, number == count - 1) for number in sorted({0, count // 2, count - 1})]


def _scene(
    built: Callable[..., BuiltScene],
    what: str,
    overrides: Sequence[str],
    plugins: Sequence[str],
    announce: Announcement,
) -> Iterator[Finding]:
    announce("the scene built")
    files, simulation = list(map(Path, plugins)), None
    try:
        simulation = built(overrides, files)
    except RangeError as error:
        yield Finding(what, "", "range", False, None, str(error), precision="f32")
    if simulation is not None and simulation.potential.fields.precision == "f32":
        yield from _asked(simulation, single_precision.of_single, announce)
        simulation = None
    if simulation is None:
        simulation = built([*overrides, 'runtime.precision="f64"'], files)
    yield from _asked(simulation, term_check.of_potential, announce, _steps)


def _asked(
    simulation: BuiltScene,
    ask: Callable[..., Iterator[Finding]],
    announce: Announcement,
    more: Callable[[BuiltScene], Iterator[Finding]] = lambda _: iter(()),
) -> Iterator[Finding]:
    """The findings about a scene's U and R, then `more`, with a progress message after each."""
    announce(f"the questions in {simulation.potential.fields.precision}")
    asked = [one for one in (simulation.potential, simulation.system.dissipation) if one is not None]
    with blaming(simulation.registry, PluginFailedError):
        of_energies = (ask(one, simulation.stepper.time) for one in asked)
        for finding in chain(chain.from_iterable(of_energies), more(simulation)):
            doing = f"{finding.term}: after {finding.question} of {finding.argument or 'its value'}"
            announce(doing, term=finding.term)
            yield finding


def _energy(energy: Any, registry: Registry, announce: Announcement) -> Iterator[Finding]:
    announce(f"energy '{energy.name}'")
    yield from questions_to(energy, registry)


def questions_to(energy: Any, registry: Registry) -> Iterator[Finding]:
    """The questions to an energy of a registry, in this process."""
    with blaming(registry, PluginFailedError):
        if isinstance(energy, MagneticField):
            yield from _field(energy)
        elif isinstance(energy, Lagrangian):
            yield from lagrangian_check.of_lagrangian(energy)
        else:
            whole = energy.weighted_energy() if isinstance(energy, Constraint) else energy
            yield from term_check.of_energy(whole)


def _field(field: MagneticField) -> Iterator[Finding]:
    """The curl of a vector potential against differences, and the flow as any function with derivatives."""
    for d in spaces(field):
        if not field.uniform:
            yield _curl(field, field.name, d)
        yield from term_check.of_energy(flow_energy(field, d, True, True), d)


def _curl(field: MagneticField, name: str, d: int) -> Finding:
    error, text = curl_error(field, d)
    return Finding(name, str(field.place), "curl", error < MOST_CURL, error, f"in {d} dimensions: {text}")


def _steps(simulation: BuiltScene) -> Iterator[Finding]:
    """Steps of programs, by Gauss-Radau, with constraints or flows; fitted equilibria; magnetic fields; L."""
    if isinstance(simulation.stepper, Evolution):
        yield from first_step.of_program(simulation.stepper)
    table, search = simulation.scene.fit, simulation.stepper
    if table is not None and table.of == "equilibrium" and isinstance(search, Minimiser):
        yield from equilibrium_check.of_equilibrium(search, list(table.parameters), simulation.last)
    yield from _flows(simulation)
    yield from _constraints(simulation)
    in_bath = isinstance(search, Integrator) and search.bath is not None
    own = isinstance(search, Integrator) and search.part_flow is not None
    if isinstance(search, Integrator | VariationalIntegrator) and (search.constraints or own) and not in_bath:
        yield from first_step.of_first_step(search)
    if isinstance(search, GaussRadau):
        yield from substep_check.of_gauss_radau(search)
    if simulation.lagrangian is not None:
        yield from lagrangian_check.of_lagrangians(simulation.lagrangian, simulation.stepper.time)


def _flows(simulation: BuiltScene) -> Iterator[Finding]:
    """The magnetic fields of a scene: their curls, and the flow of a step."""
    if simulation.magnetic is None:
        return
    force, rng = simulation.magnetic, np.random.default_rng(0)
    for term in force.terms:
        if not term.field.uniform:
            yield _curl(term.field, term.label, force.dimension(term.label))
    force.draw(rng)
    yield from term_check.of_potential(force.potential, simulation.stepper.dt)


def _constraints(simulation: BuiltScene) -> Iterator[Finding]:
    """The constraints of a scene, as the energy that they are with random multipliers."""
    if (constraints := simulation.constraints) is None:
        return
    before = constraints.multipliers
    constraints.set_multipliers(np.random.default_rng(0).normal(size=constraints.count))
    yield from term_check.of_potential(constraints.potential, simulation.stepper.time)
    constraints.set_multipliers(before)


def _energies(registry: Registry, name: str) -> list[Any]:
    """The energy of that name, or all of the plugin of that name."""
    of_plugin = registry.of_plugin(name)
    if name in registry.energies():
        return [registry.energy(name)]
    if not of_plugin and (folder := _not_installed(name)) is not None:
        raise UserError(
            f"plugin '{name}': must be installed to be checked, got the folder '{folder}' alone;"
            f" pip install -e {folder}"
        )
    return of_plugin or [registry.energy(name)]


def _not_installed(name: str) -> Path | None:
    """The folder of a distribution with a package of this name: below this one, or this one."""
    folders = [Path(name), Path(".")] if name.isidentifier() else []
    with_package = [f for f in folders if (f / name / "__init__.py").is_file()]
    return next((f for f in with_package if (f / "pyproject.toml").is_file()), None)
