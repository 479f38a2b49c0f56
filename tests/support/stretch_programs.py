"""Random energies of principal stretches, at states where stretches coincide, nearly coincide, or do not.

    F = Q diag(s) + 0.3 N,          N the first entries of the arguments

so that s and Q are those of the text where N is set to zero, and every entry of F moves.
"""

from dataclasses import replace

import numpy as np

from tests.support.random_programs import Program, program

IMPORTS = "from minusgrad import biot_squares, log_stretch_squares, polar, stretch_powers, stretch_trace"
PARTS = (
    *("stretch_trace(F)", "biot_squares(F)", "stretch_powers(F, {e})", "log_stretch_squares(F)"),
    *("stretch_powers(F, 1.5 + 0.4 * t)", "polar(F)[0, 1]", "(polar(F).transpose() @ F)[1, 0]"),
    *("polar(F)[1, 1] * stretch_trace(F)", "(polar(F) @ F).trace()", "biot_squares(0.5 * F + polar(F))"),
)
WRAPPED = ("{c} * {p}", "{c} * ti.sin({p})", "ti.exp(0.2 * {p}) * {c}", "{c} * {p} ** 2", "{p} / (2.0 + {q})")
EXPONENTS = ("2.6", "-1.3", "3.0", "1.0", "-2.0", "0.5")
STRETCHES = {
    3: ((1.2, 1.2, 1.2), (1.3, 0.8, 0.8), (1.1, 1.1, 0.7), (1.4, 1.0, 0.6)),
    2: ((1.2, 1.2), (1.3, 0.7)),
}
NEAR = (0.0, 1e-9, 1e-4, 0.5)
"""Sizes of N."""


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return turn * np.append(np.ones(d - 1), np.sign(np.linalg.det(turn)))


def stretch_program(seed: int) -> Program:
    """The energy of this number; its dimension, stretches and distance from them follow from the number."""
    rng = np.random.default_rng([seed, 23])
    d = 3 if seed % 3 else 2
    chosen = STRETCHES[d][seed // 3 % len(STRETCHES[d])]
    base = rotation(d, rng) @ np.diag(chosen) @ rotation(d, rng)
    moving = [f"x[{n}][{i}]" for n in range(2) for i in range(3)] + ["y[0]", "y[1]", "k[0]"]
    rows = [
        [f"{base[i, j]!r} + 0.3 * {moving[d * i + j]}".replace("np.float64(", "(") for j in range(d)]
        for i in range(d)
    ]
    terms = [_term(rng) for _ in range(3)]
    matrix = ", ".join(f"[{', '.join(row)}]" for row in rows)
    text = (
        f"{IMPORTS}\n\n\ndef NAME(x, y, k, A, order, t):\n    F = ti.Matrix([{matrix}])\n"
        f"    return {' + '.join(terms)} + 0.1 * A[0, 0] * k[1]\n"
    )
    made = program(text)
    numbers = made.numbers.copy()
    numbers[:9] *= NEAR[seed % len(NEAR)]
    return replace(made, numbers=numbers)


def _term(rng: np.random.Generator) -> str:
    def part() -> str:
        return f"({rng.choice(PARTS).format(e=rng.choice(EXPONENTS))})"

    return f"({rng.choice(WRAPPED).format(c=f'{rng.uniform(0.3, 1.0):.3f}', p=part(), q=f'{part()} ** 2')})"
