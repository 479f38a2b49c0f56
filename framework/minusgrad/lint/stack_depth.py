"""Depth of the autodiff stack: how often one iteration of a loop pushes a local, found by the source.

    for i in x:                         an iteration
        s = 0.0
        for j in range(x.shape[0]):     an inner loop that runs: `s` and `j` are pushed each time
            s += x[j] * x[j]
        for k in ti.static(range(3)):   unrolled, with its body
            if x[k] > 0.0:
                s *= x[k]

The reverse of Taichi 1.7.4 pops old values of locals. Its stack has 32 places (`ad_stack_size`) without a
bounds check: beyond them other locals are overwritten, so that the process crashes or the gradient is wrong
without a message. An inner loop within loops alone is reversed by itself: of it, and of iterations without
inner loops, only locals that an `if` changes are pushed. In other cases every local counts.

Decisions 0214.
"""

import ast
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf, prod
from typing import Any, NamedTuple


class Pushed(NamedTuple):
    """A local, how many `times` an iteration pushes it (inf: unknown), and a statement that does."""

    name: str
    node: ast.stmt
    times: float


def pushed_locals(turn: Any, function: Any, known: Mapping[str, Any]) -> list[Pushed]:
    """The locals pushed in one iteration of an outermost loop. `known`: arguments that bound loops."""
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    own = {*inspect.signature(function).parameters, *(n.id for n in names(turn, ast.Store))}
    depths = _Depths({n: v for n, v in scope.items() if n not in own} | dict(known), turn)
    found: dict[str, Pushed] = {}
    for one in depths.of(turn.body, 1.0, depths.has_only_loops(turn.body)):
        before = found[one.name].times if one.name in found else 0.0
        found[one.name] = one._replace(times=before + one.times)
    locals_ = [one for one in found.values() if not is_loop(one.node)]
    most = max(
        (one.times for one in locals_), default=0.0
    )  # a loop is reported if no local is pushed as often
    return locals_ + [one for one in found.values() if is_loop(one.node) and one.times > most]


def outermost(body: list[ast.stmt]) -> Iterator[Any]:
    """The outermost loops that are not unrolled."""
    for statement in body:
        if is_loop(statement):
            yield statement
        else:
            for block in blocks(statement):
                yield from outermost(block)


def stands_alone(body: list[ast.stmt], again: set[str]) -> bool:
    """True if a block has only loops and constants that are not reassigned (not in `again`)."""
    return all(
        isinstance(s, ast.Pass)
        or (isinstance(s, ast.For) and (runs(s) or stands_alone(s.body, again)))
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        or (isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) and not stored_names(s) & again)
        for s in body
    )


def stored_again(turn: ast.AST) -> set[str]:
    """The locals that are written in more than one place."""
    return {n for n, times in Counter(n.id for n in names(turn, ast.Store)).items() if times > 1}


def stored_names(statement: ast.AST) -> set[str]:
    """The names that a statement writes, wholly or in part."""
    written = (n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store))
    return {base(n) for n in written} - {""}


def base(node: ast.AST) -> str:
    """The variable of a subscript or attribute."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def how_often(times: float) -> str:
    """A number of pushes in words."""
    return (
        "an unknown number of times in one iteration"
        if times == inf
        else f"{times:.0f} times in one iteration"
    )


def runs(node: ast.AST) -> bool:
    """True for a loop or an `if` that is executed at run time."""
    what = node.iter if isinstance(node, ast.For) else getattr(node, "test", None)
    static = isinstance(what, ast.Call) and ast.unparse(what.func).rpartition(".")[2] == "static"
    return isinstance(node, (ast.For, ast.While, ast.If)) and not static


def is_loop(node: ast.AST) -> bool:
    """True for a loop that is executed at run time."""
    return isinstance(node, (ast.For, ast.While)) and runs(node)


def names(node: ast.AST, context: type) -> list[ast.Name]:
    """The names that are read (`ast.Load`) or written (`ast.Store`) in a syntax tree."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


class _Depths:
    """Counts the pushes of the locals of an iteration."""

    def __init__(self, scope: Mapping[str, Any], turn: ast.AST):
        self.scope, self.again = scope, stored_again(turn)
        self.locals = {n.id for n in names(turn, ast.Store)}

    def of(self, body: list[ast.stmt], times: float, alone: bool) -> Iterator[Pushed]:
        """Count a block that runs `times` times; `alone`: only loops enclose it."""
        if not any(is_loop(n) for s in body for n in ast.walk(s)):
            yield from self._count_block(body, 1.0 if alone else times, not alone)
        elif not alone:
            yield from self._count_block(body, times, True)
        else:
            for statement in body:
                more = times * self._iteration_count(statement) if isinstance(statement, ast.For) else times
                for block in blocks(statement):
                    yield from self.of(block, more, self.has_only_loops(block))

    def has_only_loops(self, body: list[ast.stmt]) -> bool:
        """True if a block has no loops, or only loops."""
        return not any(is_loop(n) for s in body for n in ast.walk(s)) or stands_alone(body, self.again)

    def _count_block(self, body: list[ast.stmt], times: float, every: bool) -> Iterator[Pushed]:
        """Count statements that run `times` times: `every` one pushes, or only those in an `if`."""
        for statement in body:
            more = (
                times * self._iteration_count(statement)
                if isinstance(statement, (ast.For, ast.While))
                else times
            )
            for block in blocks(statement):
                yield from self._count_block(
                    block, more, every or (isinstance(statement, ast.If) and runs(statement))
                )
            if is_loop(statement):
                target = getattr(statement, "target", statement)
                yield from (Pushed(name, statement, more) for name in sorted(stored_names(target)))
            if every and not blocks(statement):
                for name in sorted(stored_names(statement) & self.locals):
                    yield Pushed(name, statement, times)

    def _iteration_count(self, loop: ast.For | ast.While) -> float:
        """The number of iterations of a loop; inf if it is unknown."""
        if isinstance(loop, ast.While):
            return 0.0  # Taichi refuses to reverse it
        try:
            return float(self._length_of(loop.iter))
        except Exception:  # it depends on numbers that are known only at run time
            return inf if runs(loop) else 1.0

    def _length_of(self, over: ast.expr) -> int:
        """The length of a range or array. Raises any error of Python if it is unknown."""
        name = ast.unparse(over.func).rpartition(".")[2] if isinstance(over, ast.Call) else ""
        if isinstance(over, ast.Call) and name == "static":
            return self._length_of(over.args[0])
        if isinstance(over, ast.Call) and name == "ndrange":
            ends = [self._evaluate_text(a) for a in over.args]
            return prod(e[1] - e[0] if isinstance(e, tuple) else e for e in ends)
        return len(self._evaluate_text(over))

    def _evaluate_text(self, text: ast.expr) -> Any:
        return eval(compile(ast.Expression(text), "a loop", "eval"), dict(self.scope))


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of a compound statement."""
    if not isinstance(node, (ast.For, ast.While, ast.If)):
        return []
    return [block for block in (node.body, node.orelse) if block]
