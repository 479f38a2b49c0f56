"""A Python file to check: its kernels, and the energies that it declares.

Its cases are declared in the file (`@checked`) or in `FILE.check.toml` beside it. Without declarations they
are inferred: the body of a `with ti.ad.Tape(loss)` is a case; else the kernels without arguments that reach
one loss together, in the order of the file.

Decisions 0082.
"""

import ast
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..energies.local_energy import LocalEnergy
from ..engine import runtime
from ..errors import MinusgradError, TraceError, UserError
from ..interpreter.case import Case, CaseTable, tables_beside, take_declared
from ..interpreter.recorded_launches import Recording
from ..scene.input_files import refuse_special
from . import term_check
from .kernel_check import of_case
from .kernel_subject import NO_REASON, Announce, Cause
from .kernels.forward_mode import ForwardRun, watched_forward_mode
from .kernels.reverses_by_hand import WatchedReverses, watched_reverses
from .outcomes import not_asked, of_exception
from .programs.modules_beside import let_import_beside
from .programs.program_run import ProgramRun, body_of, loss_of, names_missing, owner_of
from .programs.windows import close_opencv
from .questions import Finding

Subject = Case | ForwardRun | LocalEnergy
"""What a file is asked about."""


class CheckedFile(NamedTuple):
    """A loaded file: its module, and what its program did while it was loaded."""

    module: ModuleType
    run: ProgramRun
    by_hand: WatchedReverses
    """The reverses that it ran by hand."""
    forward: list[ForwardRun]
    """Its blocks of forward mode."""


def load(path: Path, reverses: bool = True) -> CheckedFile:
    """The file as a module, with the engine that it imports, headless, on the check's architecture.

    reverses: False leaves out the reverses of kernels, which may end the process; the file then ends where
    it first fails. Raises `UserError` if importing fails.
    """
    refuse_special(path)
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    runtime.engine(_imported_by(path))
    runtime.start()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    beside_it = let_import_beside(path)
    if path.stem not in beside_it.kept:
        sys.modules[path.stem] = module
    run, text = ProgramRun(path, reverses), path.read_text(encoding="utf-8", errors="replace")
    close_opencv(text)
    with (
        watched_reverses(module, text) as watched,
        watched_forward_mode(module, path) as forward,
        _blamed_on(run, watched, beside_it.hidden_files()),
        run.running(),
    ):
        spec.loader.exec_module(module)
    return CheckedFile(module, run, watched, forward)


@contextmanager
def _blamed_on(run: ProgramRun, by_hand: WatchedReverses, hidden: Sequence[str] = ()) -> Iterator[None]:
    """An exception of the file as a `UserError` with its line.

    One of the engine in a reverse ends the file; what it reverses is known, and the check is refused it, too.
    """
    path = run.path
    try:
        yield
    except MinusgradError:
        raise
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno}: {error.msg}") from None
    except BaseException as error:
        known = run.entered and not run.reverses
        if known or ((run.entered or by_hand.back) and isinstance(error, runtime.refusals())):
            return
        line = _line_of(error, path)
        text = f"{path}{line}: importing it fails: {type(error).__name__}: {error}"
        if isinstance(error, ImportError) and f"{error.name}.py" in hidden:
            text += (
                f"; {error.name}.py beside it has the name of a module of Python or of the check; rename it"
            )
        raise UserError(text) from None


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


def subjects(file: CheckedFile) -> list[Subject]:
    """The cases and energies of a loaded file; one that is not asked if it has kernels and no case.

    Raises `UserError` if there is nothing to check.
    """
    path, module = file.run.path, file.module
    cases = [*take_declared(), *tables_beside(path)]
    energies = [
        v for v in vars(module).values() if isinstance(v, LocalEnergy) and v.function.__module__ == path.stem
    ]
    found: list[Subject] = [*cases, *energies]
    if not found:
        found = list(_infer_cases(file))
    if not found:
        nothing = (
            f"{path}: has no energies, no `with ti.ad.Tape(loss)`, and no kernels without arguments that"
            f" reach a loss; declare a case with @checked(...), or in {path.with_suffix('.check.toml').name}"
        )
        if "autograd.Function" in path.read_text(encoding="utf-8", errors="replace"):
            nothing += "; a `backward` that reverses no kernel is asked by torch.autograd.gradcheck"
        if not any(_is_kernel(node) for node in ast.walk(file.run.tree)):
            raise UserError(nothing)
        found.append(Case("its kernels", CaseTable(), unasked=nothing))
    return found


def ask(subject: Subject, module: ModuleType, announce: Announce) -> Iterator[Finding]:
    """All findings about one case or energy."""
    if isinstance(subject, ForwardRun):
        yield from subject.findings(announce)
        return
    if isinstance(subject, LocalEnergy):
        announce(f"energy '{subject.name}'")
        yield from term_check.of_energy(subject)
        return
    if subject.unasked:
        yield not_asked(subject.name, "", "value", subject.unasked)
        return
    doing = f"the preparation of '{subject.name}'"

    def now(what: str, why: Cause = NO_REASON, /) -> None:
        nonlocal doing
        doing = what
        announce(what, why)

    now(doing)
    try:
        yield from of_case(Recording(module, subject, np.random.default_rng(0)), now)
    except TraceError as error:
        yield not_asked(subject.name, "", "value", str(error))
    except UserError as error:
        if not subject.guessed:
            raise
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


def _infer_cases(file: CheckedFile) -> Iterator[Case | ForwardRun]:
    module, run, by_hand, forward = file
    text, reverses = run.path.read_text(encoding="utf-8", errors="replace"), list(by_hand.cases())
    unseen = (".grad(" in text and not reverses) or ("FwdMode(" in text and not forward)
    if not run.complete or (not run.tapes and unseen):
        with (
            watched_reverses(module, text) as by_hand,
            watched_forward_mode(module, run.path) as later,
            _blamed_on(run, by_hand),
        ):
            run.run_main(module)
        reverses, forward = list(by_hand.cases()), forward or later
    for number, tape in enumerate(run.tapes):
        name = "the tape's body" if len(run.tapes) == 1 else f"the body of tape {number + 1}"
        yield _of_tape(name, file, tape)
    if not run.tapes:
        yield from forward or reverses or _by_loss(run.tree, module)


def _of_tape(name: str, file: CheckedFile, tape: ast.With) -> Case:
    """The statements under a tape: as its program entered it, or with the names of the file."""
    module, run, *_ = file
    entered = run.entered.get(tape)
    scope = owner_of(run.tree, module, tape) if entered is None else entered.scope
    try:
        body = body_of(run.path, module, tape, scope)
    except SyntaxError as error:
        where = f"{run.path}:{error.lineno or tape.lineno}"
        return Case(name, CaseTable(), unasked=f"{where}: {error.msg}, under a tape")
    if entered is not None:
        return Case(name, CaseTable(), body, guessed=True, loss=entered.loss, found=entered.found)
    missing = names_missing(tape, module, scope)
    if missing:
        reason = (
            f"{run.path}:{tape.lineno}: the program never gets here, and '{missing}' has no value outside"
        )
        return Case(name, CaseTable(), unasked=f"{reason}; call this function in the file, or declare a case")
    loss = loss_of(tape) or ""
    array = eval(loss, dict(vars(module)), dict(scope)) if loss else None
    return Case(name, CaseTable(), body, guessed=True, loss=array)


def _by_loss(tree: ast.Module, module: ModuleType) -> Iterator[Case]:
    """Kernels without arguments that reach one loss."""
    kernels = [n for n in tree.body if isinstance(n, ast.FunctionDef) and not n.args.args and _is_kernel(n)]
    writes = {k.name: _accessed_arrays(k, ast.Store) for k in kernels}
    reads = {k.name: _accessed_arrays(k, ast.Load) for k in kernels}
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


def _is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list)


def _is_loss(value: Any) -> bool:
    return getattr(value, "shape", None) in ((), (1,)) and getattr(value, "grad", None) is not None


def _accessed_arrays(kernel: ast.FunctionDef, context: type) -> set[str]:
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
