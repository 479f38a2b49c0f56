"""A Python file to check: its kernels, and the energies that it declares.

Its cases are declared in the file (`@checked`) or in `FILE.check.toml` beside it. Without declarations they
are inferred: the body of a `with ti.ad.Tape(loss)` is a case; else the kernels without arguments that reach
one loss together, in the order of the file.
"""

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..energies.local_energy import LocalEnergy
from ..engine import runtime
from ..errors import MinusgradError, TraceError, UserError
from ..interpreter.case import Case, CaseTable, beside, take_declared
from ..interpreter.recorded_launches import Recording
from ..scene.input_files import refuse_special
from . import term_check
from .kernel_check import of_case
from .kernel_subject import NO_REASON, Cause, Progress
from .kernels.reverses_by_hand import watched_reverses
from .outcomes import not_asked, of_exception
from .questions import Finding


def load(path: Path) -> ModuleType:
    """The file as a module, with the engine that it imports. Raises `UserError` if importing fails."""
    refuse_special(path)
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    runtime.engine(_imported_by(path))
    runtime.start()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        with watched_reverses(module, path.read_text(errors="replace")) as watched:
            spec.loader.exec_module(module)
        module.__dict__["__reverses__"] = watched
    except MinusgradError:
        raise
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno}: {error.msg}") from None
    except BaseException as error:
        line = _line_of(error, path)
        raise UserError(f"{path}{line}: importing it fails: {type(error).__name__}: {error}") from None
    return module


def _imported_by(path: Path) -> str | None:
    """The engine that a file imports by name; None if it takes minusgrad's."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None  # reported when it is imported
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.split(".")[0] in runtime.PREFIXES:
                return name.split(".")[0]
    return None


def subjects(path: Path, module: ModuleType) -> list[Case | LocalEnergy]:
    """The cases and energies of a loaded file. Raises `UserError` if there are none."""
    cases = [*take_declared(), *beside(path)]
    energies = [
        v for v in vars(module).values() if isinstance(v, LocalEnergy) and v.function.__module__ == path.stem
    ]
    found: list[Case | LocalEnergy] = [*cases, *energies]
    if not found:
        found = list(_inferred(path, module))
    if not found:
        raise UserError(
            f"{path}: has no energies, no `with ti.ad.Tape(loss)`, and no kernels without arguments that"
            f" reach a loss; declare a case with @checked(...), or in {path.with_suffix('.check.toml').name}"
        )
    return found


def ask(subject: Case | LocalEnergy, module: ModuleType, progress: Progress) -> Iterator[Finding]:
    """All findings about one case or energy."""
    if isinstance(subject, LocalEnergy):
        progress(f"energy '{subject.name}'")
        yield from term_check.of_energy(subject)
        return
    doing = f"the preparation of '{subject.name}'"

    def now(what: str, why: Cause = NO_REASON, /) -> None:
        nonlocal doing
        doing = what
        progress(what, why)

    now(doing)
    try:
        yield from of_case(Recording(module, subject, np.random.default_rng(0)), now)
    except TraceError as error:
        yield not_asked(subject.name, "", "value", str(error))
    except MinusgradError:
        raise
    except Exception as error:
        yield of_exception(subject.name, doing, error, Path(module.__file__ or ""))


def _line_of(error: BaseException, file: Path) -> str:
    """The last line of the file in an error's traceback."""
    found, frames = "", error.__traceback__
    while frames is not None:
        if Path(frames.tb_frame.f_code.co_filename).resolve() == file.resolve():
            found = f":{frames.tb_lineno}"
        frames = frames.tb_next
    return found


# Inferred cases ----------------------------------------------------------------------------------


def _inferred(path: Path, module: ModuleType) -> Iterator[Case]:
    tree = ast.parse(path.read_text())
    tapes = [n for n in ast.walk(tree) if isinstance(n, ast.With) and _tape(n) is not None]
    for number, tape in enumerate(tapes):
        name = "the tape's body" if len(tapes) == 1 else f"the body of tape {number + 1}"
        loss = _tape(tape)
        yield Case(name, CaseTable(loss=loss or None), _body(path, module, tape), guessed=True)
    if not tapes:
        by_hand = list(vars(module)["__reverses__"].cases())
        yield from by_hand or _by_loss(tree, module)


def _tape(node: ast.With) -> str | None:
    """The loss of a `with ti.ad.Tape(loss)`; None for another `with`."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Tape"):
            arguments = [k.value for k in call.keywords if k.arg == "loss"] + call.args
            return ast.unparse(arguments[0]) if arguments else ""
    return None


def _body(path: Path, module: ModuleType, tape: ast.With) -> Callable:
    """The statements under a tape, as a function of no arguments."""
    function = ast.parse("def body(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = tape.body
    text = ast.fix_missing_locations(ast.Module([function], []))
    scope: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), vars(module), scope)
    return scope["body"]


def _by_loss(tree: ast.Module, module: ModuleType) -> Iterator[Case]:
    """Kernels without arguments that reach one loss."""
    kernels = [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef)
        and not n.args.args
        and any("kernel" in ast.unparse(d) for d in n.decorator_list)
    ]
    writes = {k.name: _accessed(k, ast.Store) for k in kernels}
    reads = {k.name: _accessed(k, ast.Load) for k in kernels}
    single = {n for n, v in vars(module).items() if _is_loss(v)}
    for last in kernels:
        for loss in sorted(writes[last.name] & single):
            if any(loss in reads[k.name] - writes[k.name] for k in kernels):
                continue
            needed, chain = set(reads[last.name]), [last.name]
            for kernel in reversed(kernels[: kernels.index(last)]):
                if writes[kernel.name] & needed - {loss}:
                    chain.insert(0, kernel.name)
                    needed |= reads[kernel.name]
            yield Case(last.name, CaseTable(loss=loss, forward=tuple(chain)))


def _is_loss(value: Any) -> bool:
    return getattr(value, "shape", None) in ((), (1,)) and getattr(value, "grad", None) is not None


def _accessed(kernel: ast.FunctionDef, context: type) -> set[str]:
    """The arrays whose elements a kernel reads, or writes."""
    found = set()
    for node in ast.walk(kernel):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, context):
            base: ast.expr = node
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            found.add(ast.unparse(base))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].startswith("atomic_"):
            found.add(ast.unparse(node.args[0]).split("[")[0])
    return found
