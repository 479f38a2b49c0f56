"""Code of a Gauss-Radau substep: its length, predicted b, accelerations at the nodes, judgement, sums.

    begin      x, v <- fields; h <- the rest of the step in equal parts; b and g as the last substep predicts
    place      fields <- x(s_at), v(s_at) by the present b
    correct    a <- -(dU/dx + dR/dv) / m; at s_0 it is a_0, at the others g and b become right there
    judge      whether another iteration is needed
    finish     fields, sums and memory after the substep; the fields before it where it must be shorter

Between `place` and `correct` forces are computed at the fields. All pieces communicate by arrays: vectors
(N,) of components, matrices (7, N), and `numbers`, so that one kernel of many substeps (`substeps`) and
launches with the forces of a large scene in between compute the same formulas. `at` is the number of a node,
`iteration` counts passes over the nodes. Compensated sums need exact arithmetic
(`engine.kernels.BoundKernel`).

Decisions 0347.
"""

from collections.abc import Sequence

import numpy as np

from ....engine.kernels import Code
from .quadrature import (
    APART,
    CONTINUED,
    NODES,
    POSITION,
    STAGES,
    TO_DIFFERENCES,
    TO_POWERS,
    VELOCITY,
)
from .radau_arrays import RadauArrays

ITERATIONS = 12
"""The most corrections of the b; three are usual."""
SAFETY = 0.25
"""Substeps grow by 1 / SAFETY at most, and are taken again where they should shrink by less than SAFETY."""
SHRINK = 0.05
"""A substep that is taken again is not shorter than this part of it."""
LEAST = 1e-12
"""The shortest substep, in parts of a step."""
NOT_FINITE, TOO_SHORT = 1.0, 2.0
"""Values of `status`; 0: all is well."""


class RadauCode(RadauArrays):
    """The pieces of code for some motions."""

    begun = "x[i]"
    """The place at the start of a substep, as text."""

    # Many substeps in one kernel

    def substeps(self, forces: Sequence[Code], rates: Sequence[Code], recorded: bool) -> Code:
        """For a kernel of (steps, first, t0, dt): at most so many substeps, taken or refused.

        forces: loops for dU/dx and dR/dv at the fields and time `t`. rates: loops that add dU/dt to
        `radau_flows[0, at]`. recorded: with a record of each.
        """
        clear = self._code("flows[0, at] = 0.0\n" if rates else "")
        node = Code.joined([self.place(), self.clock(), *forces, clear, *rates, self.correct()])
        node = self.when("at > 0 or iteration == 0", node).inside(f"for at in range({STAGES + 1}):")
        iteration = self.when("{going} > 0.0", Code.joined([node, self.judge()]))
        iterations = iteration.inside(f"for iteration in range({ITERATIONS}):")
        pieces = [
            self.begin(),
            self.when("{status} == 0.0", iterations),
            *([self.when("{status} == 0.0", self.record())] if recorded else []),
            self.when("{status} == 0.0", self.finish()),
        ]
        one = self.when("{left} > 0.0 and {status} == 0.0", Code.joined(pieces))
        return one.inside("ti.loop_config(serialize=True)\nfor sub in range(steps):")

    def when(self, condition: str, code: Code) -> Code:
        test = self._numbers(f"if {condition}:")
        return code.inside(test.text).naming(**test.arrays)

    def clock(self) -> Code:
        """The time at the present node."""
        return self._numbers("t = {time}\n")

    # The pieces

    def begin(self) -> Code:
        """For scalars first, t0, dt: the time at the start of the step is t0 + (first + done) dt."""
        text = f"""\
ileft = dt - {{elapsed}} + {{rest}}
{{parts}} = ti.max(1.0, ti.ceil(ti.abs(ileft) / ti.abs({{wanted}}) * (1.0 - 1e-12)))
{{h}} = ileft / {{parts}}
{{start}} = t0 + (first + {{done}}) * dt + {{elapsed}}
{{time}} = {{start}}
{{going}} = 1.0
{{off}} = 1e300
if ti.abs({{h}}) < {LEAST!r} * ti.abs(dt):
    {{status}} = {TOO_SHORT!r}
iratio = ti.f64(0.0)
if {{last}} != 0.0:
    iratio = {{h}} / {{last}}
"""
        body = "".join(f"guess[{k}, i] = {self._continued(k)}\n" for k in range(STAGES))
        body += "".join(f"b[{k}, i] = guess[{k}, i] + (kept[{k}, i] - predicted[{k}, i])\n" for k in range(7))
        body += "".join(f"g[{k}, i] = {_sum(TO_DIFFERENCES[k], 'b[{}, i]')}\n" for k in range(STAGES))
        return Code.joined([self._numbers(text), self._gathered(), self._each(body)])

    def place(self) -> Code:
        """The fields at node `at`, if it is not the first."""
        pieces = [self._numbers("ih = {h}\n")]
        for k in range(1, STAGES + 1):
            s, b = float(NODES[k]), _sum(POSITION[k - 1], "b[{}, i]")
            moved = f"ih * {s!r} * (v[i] - rv[i]) + ih * ih * ({0.5 * s * s!r} * a0[i] + {b})"
            line = f"y[i] = {self.begun} + ({moved} - rx[i])"
            pieces.append(self._each(line + "\n").inside(f"if at == {k}:"))
        pieces.append(self._scattered("y", "position", "at > 0"))
        if self.friction:
            for k in range(1, STAGES + 1):
                b = _sum(VELOCITY[k - 1], "b[{}, i]")
                line = f"y[i] = v[i] + (ih * ({float(NODES[k])!r} * a0[i] + {b}) - rv[i])"
                pieces.append(self._each(line + "\n").inside(f"if at == {k}:"))
            pieces.append(self._scattered("y", "velocity", "at > 0"))
        times = "".join(
            f"if at == {k}:\n    {{time}} = {{start}} + ih * {float(s)!r}\n" for k, s in enumerate(NODES)
        )
        return Code.joined([*pieces, self._numbers(times)])

    def correct(self) -> Code:
        """a at node `at`, and there right b."""
        pieces = [self._accelerations()]
        test = f"""\
if ti.math.isnan(a[i]) or ti.math.isinf(a[i]):
    {{status}} = {NOT_FINITE!r}
"""
        pieces.append(self._each(test))
        pieces.append(self._each("a0[i] = a[i]\n").inside("if at == 0:"))
        for k in range(STAGES):
            line = f"idiff = {_quoted(APART[k, 0])} * (a[i] - a0[i])\n"
            line += "".join(f"idiff = {_quoted(APART[k, j + 1])} * (idiff - g[{j}, i])\n" for j in range(k))
            line += f"ichange = idiff - g[{k}, i]\ng[{k}, i] = idiff\n"
            line += "".join(
                f"b[{j}, i] = b[{j}, i] + {_quoted(TO_POWERS[j, k])} * ichange\n" for j in range(k + 1)
            )
            if k == STAGES - 1:
                line += "{off} = ti.max({off}, ti.abs(ichange))\n{size} = ti.max({size}, ti.abs(a[i]))\n"
                pieces.append(
                    self._numbers("if at == 7:\n    {before} = {off}\n    {off} = 0.0\n    {size} = 0.0\n")
                )
            pieces.append(self._each(line).inside(f"if at == {k + 1}:"))
        return Code.joined(pieces)

    def judge(self, least: float = 1e300) -> Code:
        """After an `iteration`: b_7 no longer changes, or no longer less and by at most `least` of |a|."""
        return self._numbers(
            "if {status} != 0.0 or {off} <= 1e-16 * {size} or (iteration > 1 and {off} >= {before}"
            f" and {{off}} <= {least!r} * {{size}}):\n"
            "    {going} = 0.0\n"
        )

    def record(self) -> Code:
        """The substep in the next row, which is written again if it is refused."""
        vectors = [self.begun, "v[i]", "rx[i]", "rv[i]", "a0[i]", *(f"b[{k}, i]" for k in range(STAGES))]
        marks = """\
irow = ti.i32({substeps} - {mark})
marks[irow, 0] = {h}
marks[irow, 1] = {start}
marks[irow, 2] = ti.f64(0.0)
if {size} > 0.0:
    marks[irow, 2] = {off} / {size}
"""
        lines = "".join(f"past[irow, {k}, i] = {vector}\n" for k, vector in enumerate(vectors))
        return Code.joined([self._numbers(marks), self._each(lines)])

    def finish(self) -> Code:
        text = f"""\
itop = ti.f64(0.0)
for i in range(x.shape[0]):
    itop = ti.max(itop, ti.abs(b[6, i]))
ifactor = ti.f64({1.0 / SAFETY!r})
if itop > 0.0:
    ifactor = ti.pow({{tolerance}} * {{size}} / itop, ti.f64({1.0 / 7.0!r}))
ih = {{h}}
itaken = 0
if ifactor >= {SAFETY!r}:
    itaken = 1
"""
        refused = "y[i] = x[i]\n"
        sums = "{substeps} = {substeps} + 1.0\n"
        for row, name, counts in ((0, "work", self.works), (1, "dissipated", bool(self.friction))):
            if counts:
                sums += "iflow = ti.f64(0.0)\nfor k in range(weights.shape[0]):\n"
                sums += f"    iflow = iflow + weights[k] * flows[{row}, k]\n"
                sums += f"{{{name}}} = {{{name}}} + ih * iflow\n"
        sums += f"""\
{{last}} = ih
{{wanted}} = ti.abs(ih) * ti.min(ifactor, {1.0 / SAFETY!r})
if {{parts}} == 1.0:
    {{elapsed}} = 0.0
    {{rest}} = 0.0
    {{done}} = {{done}} + 1.0
    {{left}} = {{left}} - 1.0
else:
    ipiece = ih - {{rest}}
    itotal = {{elapsed}} + ipiece
    {{rest}} = (itotal - {{elapsed}}) - ipiece
    {{elapsed}} = itotal
"""
        again = f"{{wanted}} = ti.abs(ih) * ti.max(ifactor, {SHRINK!r})\n"
        chosen = [
            Code.joined([self._advanced(), self._numbers(sums)]).inside("if itaken == 1:"),
            Code.joined([self._each(refused), self._numbers(again)]).inside("if itaken == 0:"),
        ]
        fields = [self._scattered("y", "position"), self._scattered("v", "velocity")]
        return Code.joined([self._numbers(text), *chosen, *fields])

    def accept(self) -> Code:
        """After a substep that is taken in any case: fields and memory."""
        fields = [self._scattered("y", "position"), self._scattered("v", "velocity")]
        return Code.joined(
            [self._numbers("ih = {h}\n"), self._advanced(), self._numbers("{last} = ih\n"), *fields]
        )

    def _advanced(self) -> Code:
        """x as y, v, the errors of their sums, and what the next substep remembers."""
        text = f"""\
ipart = (ih * v[i] + ih * ih * (0.5 * a0[i] + {_sum(POSITION[-1], "b[{}, i]")}) - ih * rv[i]) - rx[i]
inew = x[i] + ipart
rx[i] = (inew - x[i]) - ipart
y[i] = inew
ipart = ih * (a0[i] + {_sum(VELOCITY[-1], "b[{}, i]")}) - rv[i]
inew = v[i] + ipart
rv[i] = (inew - v[i]) - ipart
v[i] = inew
"""
        text += "".join(
            f"kept[{k}, i] = b[{k}, i]\npredicted[{k}, i] = guess[{k}, i]\n" for k in range(STAGES)
        )
        return self._each(text)

    def _continued(self, k: int) -> str:
        """b_k of a(s) continued into a substep that is `iratio` times as long."""
        terms = _sum(CONTINUED[k], "kept[{}, i]")
        return " * ".join([f"({terms})", *["iratio"] * (k + 1)])

    def _accelerations(self) -> Code:
        """a <- -(dU/dx + dR/dv) / m, and v dR/dv."""
        pieces = []
        if self.friction:
            pieces.append(self._code("flows[1, at] = 0.0\n"))
        for k, motion in enumerate(self.motions):
            x, v, force = motion.position, motion.velocity, f"g_{motion.position}"
            total = f"{force}[{{at}}]"
            lines, arrays = [], {force: self.forces[x]}
            if self.friction:
                total = f"({total} + g_{v}[{{at}}])"
                arrays |= {f"g_{v}": self.friction[v], f"f_{v}": self.fields[v]}
                lines.append(f"flows[1, at] = flows[1, at] + f_{v}[{{at}}] * g_{v}[{{at}}]")
            lines = [f"a[{{i}}] = -{total} / mass[{{i}}]", *lines]
            pieces.append(self._of_motion(k, force, self.forces[x], lines, arrays))
        return Code.joined(pieces)


def _quoted(number: float) -> str:
    return f"({float(number)!r})"


def _sum(weights: Sequence[float] | np.ndarray, term: str) -> str:
    """w_0 term(0) + w_1 term(1) + ..., without zeros."""
    parts = [f"{_quoted(w)} * {term.format(k)}" for k, w in enumerate(weights) if w]
    return "(" + " + ".join(parts) + ")"
