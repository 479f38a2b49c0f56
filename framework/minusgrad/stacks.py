"""How often one turn of a loop puts a local on the stack that its reverse needs: told by a kernel's text.

    for i in x:                         a turn
        s = 0.0
        for j in range(x.shape[0]):     an inner loop that runs: each time `s` is pushed
            s += x[j] * x[j]
        for k in ti.static(range(3)):   unrolled: pushed only where an `if` that runs decides
            if x[k] > 0.0:
                s *= x[k]

The reverse of Taichi 1.7.4 pops what a local was. Its stack has 32 places (`ad_stack_size`), and nobody looks
whether it is full: behind them other locals are overwritten, so that the process dies, or the gradient is
wrong in silence.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from math import inf, prod
from typing import Any, NamedTuple


class Pushed(NamedTuple):
    """A local that is pushed so many `times` a turn (inf: not known) by this piece of text and others."""

    name: str
    node: ast.stmt
    times: float


def pushed(tree: Any, function: Any, known: Mapping[str, Any]) -> Iterator[Pushed]:
    """Of one turn (a loop's tree) of a function. `known`: what its arguments are, as far as loops need it."""
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    own = {*inspect.signature(function).parameters, *(n.id for n in names(tree, ast.Store))}
    yield from _Depths({n: v for n, v in scope.items() if n not in own} | dict(known)).of(tree.body)


def how_often(times: float) -> str:
    """In words."""
    return "nobody knows how often in a turn" if times == inf else f"{times:.0f} times in a turn"


def runs(node: ast.AST) -> bool:
    """Whether it is a loop or an `if` that runs, and is not unrolled or decided while compiling."""
    what = node.iter if isinstance(node, ast.For) else getattr(node, "test", None)
    return isinstance(node, (ast.For, ast.While, ast.If)) and "static(" not in ast.unparse(what or node)


def changed(body: list[ast.stmt]) -> set[str]:
    """Names that the body makes from themselves."""
    found = set()
    for node in (n for s in body for n in ast.walk(s)):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            read = {n.id for n in names(node.value, ast.Load)}
            found |= read & {n.id for t in node.targets for n in names(t, ast.Store)}
    return found


def names(node: ast.AST, context: type) -> list[ast.Name]:
    """The names that are read (`ast.Load`) or written (`ast.Store`) in a piece of code."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


class _Depths:
    """Blocks of text, each with the locals that begin in it: they live on a stack of that block's own."""

    def __init__(self, scope: Mapping[str, Any]):
        self.scope = scope

    def of(self, body: list[ast.stmt]) -> Iterator[Pushed]:
        """What statements of the body, together, push of the locals that begin in it."""
        begun, found = set[str](), dict[str, Pushed]()
        for statement in body:
            inner = blocks(statement)
            for one in self._pushes(statement, 1.0, frozenset(), False) if inner else ():
                if one.name in begun:
                    before = found[one.name].times if one.name in found else 0.0
                    found[one.name] = one._replace(times=before + one.times)
            for block in inner:
                yield from self.of(block)
            if not inner:
                begun |= {n.id for n in names(statement, ast.Store)}
        yield from found.values()

    def _pushes(
        self, node: ast.stmt, times: float, carried: frozenset[str], branch: bool
    ) -> Iterator[Pushed]:
        """Each statement that pushes: where a loop that runs changes a local, or an `if` that runs does."""
        for block in blocks(node):
            if isinstance(node, (ast.For, ast.While)):
                yield from self._all(
                    block,
                    times * self._turns(node),
                    carried | (changed(block) if runs(node) else frozenset()),
                    branch,
                )
            else:
                yield from self._all(block, times, carried, branch or runs(node))
        if not blocks(node):
            for name in (n.id for n in names(node, ast.Store)):
                if branch or name in carried:
                    yield Pushed(name, node, times)

    def _all(
        self, body: list[ast.stmt], times: float, carried: frozenset[str], branch: bool
    ) -> Iterator[Pushed]:
        for statement in body:
            yield from self._pushes(statement, times, carried, branch)

    def _turns(self, loop: ast.For | ast.While) -> float:
        """How often a loop is gone through; one that runs: inf where that is not known."""
        if isinstance(loop, ast.While):
            return 0.0  # it has no reverse, and whoever asks for one is told
        try:
            return float(self._length(loop.iter))
        except Exception:  # it hangs on numbers that only a run has
            return inf if runs(loop) else 1.0

    def _length(self, over: ast.expr) -> int:
        """Of what a loop goes over. Raises whatever Python raises where it is not known."""
        name = ast.unparse(over.func).rpartition(".")[2] if isinstance(over, ast.Call) else ""
        if isinstance(over, ast.Call) and name == "static":
            return self._length(over.args[0])
        if isinstance(over, ast.Call) and name == "ndrange":
            ends = [self._value(a) for a in over.args]
            return prod(e[1] - e[0] if isinstance(e, tuple) else e for e in ends)
        return len(self._value(over))

    def _value(self, text: ast.expr) -> Any:
        return eval(compile(ast.Expression(text), "a loop", "eval"), dict(self.scope))


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of what has some."""
    if not isinstance(node, (ast.For, ast.While, ast.If)):
        return []
    return [block for block in (node.body, node.orelse) if block]
