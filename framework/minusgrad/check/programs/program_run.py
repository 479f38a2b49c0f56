"""A run of a checked program, as `python FILE.py` would run it, until each of its tapes was entered.

    architecture    that of the check, whatever `init` of the program names
    windows         stand-ins that close themselves
    main            if a tape was not entered, the body of `if __name__ == "__main__":` runs, too
    end             when all tapes were entered, or after `SECONDS`

At the first entry of a tape the arrays are recorded as they are, with the names of its function, so that its
statements can be run again from there.

Decisions 0083.
"""

import ast
import builtins
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from types import CodeType, FrameType, ModuleType
from typing import Any

from ...engine import runtime
from ...interpreter.program_arrays import FoundArrays, alive
from ...interpreter.recorded_launches import around_kernels
from .windows import ProgramEnd, without_windows

SECONDS = 60.0
"""After these a program is ended at its next launch."""
ENOUGH = 3
"""Entries of tapes after which a file is ended that has entered all of them."""


@dataclass
class Entered:
    """The first entry of a tape: the names around it, its loss, and the arrays at that time."""

    scope: dict[str, Any]
    loss: Any
    found: FoundArrays


@dataclass
class ProgramRun:
    """A program's text, and the tapes that its run has entered, by the node of their `with`.

    `reverses`: False leaves the reverses of kernels out, because they end the process.
    """

    path: Path
    reverses: bool = True
    tapes: list[ast.With] = field(default_factory=list)
    entered: dict[ast.With, Entered] = field(default_factory=dict)
    ended: bool = False
    entries: int = 0
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    in_main: bool = False
    begun: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        try:
            self.tree = ast.parse(self.path.read_bytes())
        except (SyntaxError, ValueError):
            return  # reported when it is imported
        self.tapes = [n for n in ast.walk(self.tree) if isinstance(n, ast.With) and loss_of(n) is not None]

    @property
    def complete(self) -> bool:
        return all(node in self.entered for node in self.tapes)

    # Running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within the block the program runs headless, and its tapes are recorded; it may end early."""
        engine = runtime.engine()
        with ExitStack() as stack:
            stack.enter_context(without_windows(engine))
            stack.enter_context(_on_the_architecture(engine))
            stack.enter_context(_as_a_script(self.path))
            stack.enter_context(around_kernels(self._record_launch))
            stack.enter_context(self._recorded_tapes(engine.ad.Tape))
            try:
                yield
            except ProgramEnd:
                self.ended = True

    def run_main(self, module: ModuleType) -> None:
        """Run the body of `if __name__ == "__main__":`, until all tapes are entered.

        Raises what the program raises.
        """
        code = _compile_main(self.tree, self.path)
        if code is None or self.ended:
            return
        self.in_main, self.begun = True, monotonic()
        with self.running():
            try:
                exec(code, vars(module))
            except SystemExit:
                return

    def _record_launch(self, kernel: Any, run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        del arguments
        if monotonic() - self.begun > SECONDS and (self.in_main or self.entered):
            raise ProgramEnd
        if not self.reverses and kernel.autodiff_mode.name == "REVERSE":
            return None
        return run()

    # Tapes

    @contextmanager
    def _recorded_tapes(self, tapes: Any) -> Iterator[None]:
        enter, leave = tapes.__enter__, tapes.__exit__

        def entered(tape: Any) -> Any:
            made = enter(tape)
            self._enter_tape(tape, sys._getframe(1))
            return made

        def left(tape: Any, *error: Any) -> Any:
            found = leave(tape, *error)
            if error[0] is None and self.tapes and self.complete:
                self._may_end()
            return found

        tapes.__enter__, tapes.__exit__ = entered, left
        try:
            yield
        finally:
            tapes.__enter__, tapes.__exit__ = enter, leave

    def _enter_tape(self, tape: Any, frame: FrameType) -> None:
        node = self._with_node(frame)
        self.entries += 1
        if node is None or node in self.entered:
            return
        state = runtime.part("lang.impl").get_runtime()
        taping, state.target_tape = state.target_tape, None  # reading arrays launches kernels
        try:
            local = {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
            found = alive(frame.f_globals, {**local, "__name__": frame.f_globals.get("__name__", "")})
            for array in found.owners:
                array.settle()
        finally:
            state.target_tape = taping
        self.entered[node] = Entered(local, tape.loss, found)

    def _with_node(self, frame: FrameType | None) -> ast.With | None:
        """The `with` of the file that is being entered."""
        file = os.path.realpath(self.path)
        while frame is not None:
            if os.path.realpath(frame.f_code.co_filename) == file:
                here = [
                    n for n in self.tapes if n.lineno <= frame.f_lineno < max(n.body[0].lineno, n.lineno + 1)
                ]
                return here[-1] if here else None
            frame = frame.f_back
        return None

    def _may_end(self) -> None:
        """End the program once a tape has run, in `main`, or for some time."""
        if self.in_main or self.entries >= ENOUGH:
            raise ProgramEnd


def loss_of(node: ast.With) -> str | None:
    """The loss of a `with ti.ad.Tape(loss)`; None for another `with`."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Tape"):
            arguments = [k.value for k in call.keywords if k.arg == "loss"] + call.args
            return ast.unparse(arguments[0]) if arguments else ""
    return None


def body_of(path: Path, module: ModuleType, node: ast.With, scope: dict[str, Any]) -> Callable[[], Any]:
    """The statements under a tape as a function; `scope`: names of the function around them.

    Raises `SyntaxError` for statements that leave that function, such as a return.
    """
    function = ast.parse("def body(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = node.body
    inside = [n for statement in node.body for n in ast.walk(statement)]
    used = {n.id for n in inside if isinstance(n, ast.Name)}
    used -= {name for n in inside if isinstance(n, ast.Global) for name in n.names}
    known = {name: value for name, value in scope.items() if name in used}
    function.args.kwonlyargs = [ast.arg(name) for name in known]
    function.args.kw_defaults = [None for _ in known]
    made: dict[str, Any] = {}
    text = ast.fix_missing_locations(ast.Module([function], []))
    exec(compile(text, str(path), "exec"), vars(module), made)
    return partial(made["body"], **known) if known else made["body"]


def owner_of(tree: ast.Module, module: ModuleType, node: ast.With) -> dict[str, Any]:
    """The names of a tape in a method that the program never called: `self`, an object of the file."""
    for kind in ast.walk(tree):
        if not isinstance(kind, ast.ClassDef):
            continue
        for method in kind.body:
            if isinstance(method, ast.FunctionDef) and node in ast.walk(method) and method.args.args:
                owner = getattr(module, kind.name, None)
                objects = [
                    v for v in vars(module).values() if isinstance(owner, type) and isinstance(v, owner)
                ]
                return {method.args.args[0].arg: objects[0]} if objects else {}
    return {}


def names_missing(node: ast.With, module: ModuleType, scope: dict[str, Any]) -> str:
    """A name without a value that a tape's statements, or its loss, read; "" if there is none."""
    inside = list(ast.walk(node))
    names = [n for n in inside if isinstance(n, ast.Name)]
    made = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    made |= {n.arg for n in inside if isinstance(n, ast.arg)}
    known = {*made, *scope, *vars(module), *vars(builtins)}
    return next((n.id for n in names if n.id not in known), "")


def _compile_main(tree: ast.Module, path: Path) -> CodeType | None:
    """The body of `if __name__ == "__main__":`, compiled."""
    for node in tree.body:
        if (
            isinstance(node, ast.If)
            and "__name__" in ast.unparse(node.test)
            and "__main__" in ast.unparse(node.test)
        ):
            return compile(ast.fix_missing_locations(ast.Module(node.body, [])), str(path), "exec")
    return None


@contextmanager
def _on_the_architecture(engine: ModuleType) -> Iterator[None]:
    """Within the block `init` starts the engine on the architecture of the check."""
    named: Callable[..., Any] = engine.init
    arch = getattr(engine, runtime.arch())

    def init(_arch: Any = None, *rest: Any, **options: Any) -> Any:
        options.pop("arch", None)
        options.pop("enable_fallback", None)
        try:
            return named(arch, *rest, **options)
        except KeyError as error:  # options of other releases, such as flatten_if
            known = {name: value for name, value in options.items() if name not in str(error)}
            if len(known) == len(options):
                raise
            return named(arch, *rest, **known)

    engine.init = init  # type: ignore[attr-defined]
    try:
        yield
    finally:
        engine.init = named  # type: ignore[attr-defined]


@contextmanager
def _as_a_script(path: Path) -> Iterator[None]:
    """Within the block the program has its own name as its only argument, and plots draw no window."""
    arguments, sys.argv = sys.argv, [str(path)]
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        yield
    finally:
        sys.argv = arguments
