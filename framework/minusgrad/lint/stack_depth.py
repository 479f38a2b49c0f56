"""How often one turn of a loop puts a local on the stack that its reverse needs: told by a kernel's text.

    for i in x:                         a turn
        s = 0.0
        for j in range(x.shape[0]):     an inner loop that runs: `s` and `j` are pushed each time
            s += x[j] * x[j]
        for k in ti.static(range(3)):   unrolled: so is what stands in it
            if x[k] > 0.0:
                s *= x[k]

The reverse of Taichi 1.7.4 pops what a local was. Its stack has 32 places (`ad_stack_size`), and nobody looks
whether it is full: behind them other locals are overwritten, so that the process dies, or the gradient is
wrong in silence. An inner loop around which nothing but loops stands is reversed by itself: of it, and of
turns without inner loops, only what an `if` changes is pushed. Else all is counted, whether needed or not.
"""

import ast
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf, prod
from typing import Any, NamedTuple


class Pushed(NamedTuple):
    """A local that is pushed so many `times` a turn (inf: not known) by this piece of text and others."""

    name: str
    node: ast.stmt
    times: float


def pushed(turn: Any, function: Any, known: Mapping[str, Any]) -> list[Pushed]:
    """In one turn (the tree of an outermost loop). `known`: what arguments are, as far as loops need it."""
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    own = {*inspect.signature(function).parameters, *(n.id for n in names(turn, ast.Store))}
    depths = _Depths({n: v for n, v in scope.items() if n not in own} | dict(known), turn)
    found: dict[str, Pushed] = {}
    for one in depths.of(turn.body, 1.0, depths.alone(turn.body)):
        before = found[one.name].times if one.name in found else 0.0
        found[one.name] = one._replace(times=before + one.times)
    locals_ = [one for one in found.values() if not is_loop(one.node)]
    most = max((one.times for one in locals_), default=0.0)  # a loop is told where no local says as much
    return locals_ + [one for one in found.values() if is_loop(one.node) and one.times > most]


def outermost(body: list[ast.stmt]) -> Iterator[Any]:
    """The loops that run and stand in no other that does."""
    for statement in body:
        if is_loop(statement):
            yield statement
        else:
            for block in blocks(statement):
                yield from outermost(block)


def stands_alone(body: list[ast.stmt], again: set[str]) -> bool:
    """Whether a block has loops, and names of constants that stay (they are not in `again`), alone."""
    return all(
        isinstance(s, ast.Pass)
        or (isinstance(s, ast.For) and (runs(s) or stands_alone(s.body, again)))
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        or (isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) and not stored(s) & again)
        for s in body
    )


def stored_again(turn: ast.AST) -> set[str]:
    """The locals that are written in more than one place."""
    return {n for n, times in Counter(n.id for n in names(turn, ast.Store)).items() if times > 1}


def stored(statement: ast.AST) -> set[str]:
    """The names that a piece of text writes, or a part of which it writes."""
    written = (n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store))
    return {base(n) for n in written} - {""}


def base(node: ast.AST) -> str:
    """The name before all brackets and points."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def how_often(times: float) -> str:
    """In words."""
    return "nobody knows how often in a turn" if times == inf else f"{times:.0f} times in a turn"


def runs(node: ast.AST) -> bool:
    """Whether it is a loop or an `if` that runs, and is not unrolled or decided while compiling."""
    what = node.iter if isinstance(node, ast.For) else getattr(node, "test", None)
    static = isinstance(what, ast.Call) and ast.unparse(what.func).rpartition(".")[2] == "static"
    return isinstance(node, (ast.For, ast.While, ast.If)) and not static


def is_loop(node: ast.AST) -> bool:
    """Whether it is a loop that runs."""
    return isinstance(node, (ast.For, ast.While)) and runs(node)


def names(node: ast.AST, context: type) -> list[ast.Name]:
    """The names that are read (`ast.Load`) or written (`ast.Store`) in a piece of code."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


class _Depths:
    """Counts what is pushed of the locals of a turn."""

    def __init__(self, scope: Mapping[str, Any], turn: ast.AST):
        self.scope, self.again = scope, stored_again(turn)
        self.locals = {n.id for n in names(turn, ast.Store)}

    def of(self, body: list[ast.stmt], times: float, alone: bool) -> Iterator[Pushed]:
        """Of a block, gone through so often, around which, if `alone`, nothing but loops stands."""
        if not any(is_loop(n) for s in body for n in ast.walk(s)):
            yield from self._all(body, 1.0 if alone else times, not alone)
        elif not alone:
            yield from self._all(body, times, True)
        else:
            for statement in body:
                more = times * self._turns(statement) if isinstance(statement, ast.For) else times
                for block in blocks(statement):
                    yield from self.of(block, more, self.alone(block))

    def alone(self, body: list[ast.stmt]) -> bool:
        """Whether it has no loops, or nothing else."""
        return not any(is_loop(n) for s in body for n in ast.walk(s)) or stands_alone(body, self.again)

    def _all(self, body: list[ast.stmt], times: float, every: bool) -> Iterator[Pushed]:
        """Of statements that are gone through so often: `every` one pushes, or those where an `if` runs."""
        for statement in body:
            more = times * self._turns(statement) if isinstance(statement, (ast.For, ast.While)) else times
            for block in blocks(statement):
                yield from self._all(
                    block, more, every or (isinstance(statement, ast.If) and runs(statement))
                )
            if is_loop(statement):
                target = getattr(statement, "target", statement)
                yield from (Pushed(name, statement, more) for name in sorted(stored(target)))
            if every and not blocks(statement):
                for name in sorted(stored(statement) & self.locals):
                    yield Pushed(name, statement, times)

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
