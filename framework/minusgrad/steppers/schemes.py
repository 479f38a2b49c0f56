"""Symplectic splitting schemes: rows of kick and drift coefficients.

    symplectic_euler, leapfrog       Verlet 1967, Phys. Rev. 159, 98 (kick, drift, kick)
    yoshida4, yoshida6, yoshida8     the triple jump, solutions A and D: Yoshida 1990, Phys. Lett. A 150, 262
    mclachlan8                       fifteen leapfrogs: McLachlan 1995, SIAM J. Sci. Comput. 16, 151
    kahan_li8                        seventeen, s17odr8a: Kahan & Li 1997, Math. Comp. 66, 1089
    blanes_moan4, blanes_moan6       S6 and S10: Blanes & Moan 2002, J. Comput. Appl. Math. 142, 313
    blanes_moan_rkn4, ..._rkn6       SRKN_6^b and SRKN_11^b there, for kinetic energies p^2 / 2m

Blanes and Moan's rows are no compositions of leapfrogs: their orders need exact flows of both parts, so that
constraints and magnetic fields, which have symmetric ones, are refused with them. Friction acts before and
after all of a step, by the explicit midpoint rule: with it every scheme is of order 2 at most. Within the
leapfrogs it would have to act backwards in time, too, where it feeds energy in, and by a symmetric rule.

Decisions 0042, 0353, 0383.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from .step_sequence import (
    KICK_DRIFT_KICK,
    BathDrift,
    Drift,
    FlowDrift,
    InteractionKick,
    Kick,
    MagneticDrift,
    Move,
    PressureDrift,
    PressureKick,
    StepSequence,
)


@dataclass(frozen=True)
class Scheme:
    """A symplectic splitting scheme: the kick and drift coefficients of one step, kicks first.

        Scheme(order=2, kicks=(0.5, 0.5), drifts=(1.0,))            leapfrog

    order: the order of the error in dt. kicks: fractions of the step, one more than drifts. drifts: fractions
    whose sum is 1. summary: a line for those who choose a scheme. sequence: the moves that use the
    coefficients, if not kick, drift, kick. Sources: Verlet 1967, Yoshida 1990 (see the module).
    """

    order: int
    kicks: tuple[float, ...]
    drifts: tuple[float, ...]
    summary: str = "Symplectic splitting."
    sequence: StepSequence = KICK_DRIFT_KICK

    @property
    def ends(self) -> tuple[float, ...]:
        """The part of a step that is over after each drift; exactly 1 after the last."""
        return (*accumulate(self.drifts[:-1]), 1.0)

    @property
    def of_leapfrogs(self) -> bool:
        """True if a step is leapfrogs one after another, so that symmetric parts need no exact flows."""
        halves = [0.5 * w for w in self.drifts]
        joined = (halves[0], *(a + b for a, b in pairwise(halves)), halves[-1])
        return all(abs(kick - both) < 1e-12 for kick, both in zip(self.kicks, joined, strict=True))

    @property
    def rows(self) -> dict[str, tuple[float, ...]]:
        """The coefficients as kernels take them, by name."""
        return {"kicks": self.kicks, "drifts": self.drifts, "ends": self.ends}

    @property
    def ends_with_drift(self) -> bool:
        """True if the first and the last kick move nothing, so that no kick takes the last forces."""
        return not (self.kicks[0] or self.kicks[-1])

    @property
    def stages(self) -> int:
        """How often the middle of the sequence is repeated."""
        return len(self.rows[self.sequence.row])

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves of one step, in their order."""
        return self.sequence.unrolled(self.stages)

    def in_bath(self) -> "Scheme":
        """The same scheme, exchanging heat in the middle of every drift."""
        return replace(self, sequence=self.sequence.replacing(Drift, BathDrift))

    def along_a_flow(self) -> "Scheme":
        """The same scheme, with drifts along the flow of a part of U, and kicks by the rest."""
        kicks = self.sequence.replacing(Kick, InteractionKick)
        return replace(self, sequence=kicks.replacing(Drift, FlowDrift))

    def in_field(self) -> "Scheme":
        """The same scheme, with the rotation of a magnetic field in every drift.

        The flow of a drift is symmetric, so that symmetric compositions of leapfrog keep their order.
        """
        return replace(self, sequence=self.sequence.replacing(Drift, MagneticDrift))

    def constrained(self) -> "Scheme":
        """The same scheme with constraints: RATTLE, which keeps the order of symmetric compositions.

        Half kicks of neighbouring leapfrogs stay joined: a projection between them would change velocities
        along the gradients of constraints only, which the next drift does in any case.
        """
        return replace(self, sequence=self.sequence.constrained())

    def at_pressure(self) -> "Scheme":
        """The same scheme with a cell that moves, in a heat bath if there is one."""
        moving = self.sequence.replacing(Kick, PressureKick).replacing(Drift, PressureDrift)
        return replace(self, sequence=moving)


def composed(order: int, weights: Sequence[float], summary: str = Scheme.summary) -> Scheme:
    """Leapfrogs of these step fractions one after another, neighbouring half kicks joined."""
    halves = [w / 2.0 for w in weights]
    kicks = (halves[0], *(a + b for a, b in pairwise(halves)), halves[-1])
    return Scheme(order, kicks, tuple(weights), summary)


def mirrored(*outer: float) -> list[float]:
    """A symmetric row of weights whose sum is 1, given those before the middle."""
    return [*outer, 1.0 - 2.0 * sum(outer), *reversed(outer)]


def palindrome(*outer: float, middle: bool) -> tuple[float, ...]:
    """A symmetric row whose sum is 1: numbers that stand twice, then the one or the two between them."""
    rest = 1.0 - 2.0 * sum(outer)
    return (*outer, *((rest,) if middle else (0.5 * rest, 0.5 * rest)), *reversed(outer))


TRIPLE_JUMP = mirrored(1.0 / (2.0 - 2.0 ** (1.0 / 3.0)))
SOLUTION_A = mirrored(0.784513610477560, 0.235573213359357, -1.17767998417887)
SOLUTION_D = mirrored(
    *(0.914844246229740, 0.253693336566229, -1.44485223686048, -0.158240635368243),
    *(1.93813913762276, -1.96061023297549, 0.102799849391985),
)
FIFTEEN = mirrored(
    *(0.74167036435061295344822780, -0.40910082580003159399730010, 0.19075471029623837995387626),
    *(-0.57386247111608226665638773, 0.29906418130365592384446354, 0.33462491824529818378495798),
    0.31529309239676659663205666,
)
SEVENTEEN = mirrored(
    *(0.13020248308889008087881763, 0.56116298177510838456196441, -0.38947496264484728640807860),
    *(0.15884190655515560089621075, -0.39590389413323757733623154, 0.18453964097831570709183254),
    *(0.25837438768632204729397911, 0.29501172360931029887096624),
)
S6 = Scheme(
    4,
    palindrome(0.0792036964311957, 0.353172906049774, -0.0420650803577195, middle=True),
    palindrome(0.209515106613362, -0.143851773179818, middle=False),
    "Six forces, for any two parts: order 4, with friction 2; smaller errors than yoshida4.",
)
S10 = Scheme(
    6,
    palindrome(
        *(0.0502627644003922, 0.413514300428344, 0.0450798897943977, -0.188054853819569, 0.541960678450780),
        middle=True,
    ),
    palindrome(0.148816447901042, -0.132385865767784, 0.067307604692185, 0.432666402578175, middle=False),
    "Ten forces, for any two parts: order 6, with friction 2; smaller errors than yoshida6.",
)
SRKN6 = Scheme(
    4,
    palindrome(0.0829844064174052, 0.396309801498368, -0.0390563049223486, middle=True),
    palindrome(0.245298957184271, 0.604872665711080, middle=False),
    "Six forces, for kinetic energies p^2 / 2m: order 4, with friction 2.",
)
SRKN11 = Scheme(
    6,
    palindrome(
        *(0.0414649985182624, 0.198128671918067, -0.0400061921041533),
        *(0.0752539843015807, -0.0115113874206879),
        middle=False,
    ),
    palindrome(
        *(0.123229775946271, 0.290553797799558, -0.127049212625417, -0.246331761062075, 0.357208872795928),
        middle=True,
    ),
    "Eleven forces, for kinetic energies p^2 / 2m: order 6, with friction 2.",
)

SCHEMES = {
    "symplectic_euler": Scheme(1, (1.0, 0.0), (1.0,), "Kick, drift: order 1."),
    "leapfrog": composed(2, [1.0], "Half kick, drift, forces, half kick: order 2."),
    "yoshida4": composed(
        4, TRIPLE_JUMP, "Three leapfrogs, the middle one backwards: order 4, with friction 2."
    ),
    "yoshida6": composed(6, SOLUTION_A, "Seven leapfrogs: order 6, with friction 2."),
    "yoshida8": composed(8, SOLUTION_D, "Fifteen leapfrogs: order 8, with friction 2."),
    "mclachlan8": composed(8, FIFTEEN, "Fifteen leapfrogs of shorter steps: order 8, with friction 2."),
    "kahan_li8": composed(
        8, SEVENTEEN, "Seventeen leapfrogs of still shorter steps: order 8, with friction 2."
    ),
    "blanes_moan4": S6,
    "blanes_moan6": S10,
    "blanes_moan_rkn4": SRKN6,
    "blanes_moan_rkn6": SRKN11,
}
"""By name, as scene files choose them: a row here is all that a new scheme needs."""
