"""Schemes for H = A + e B with a small e: compositions whose error is e dt^n + e^2 dt^k + ..., Kepler first.

    leapfrog     e dt^2                             kick, drift, kick: Wisdom & Holman 1991, AJ 102, 1528
    aba_8_6_4    e dt^8 + e^2 dt^6 + e^3 dt^4       7 forces: Blanes et al. 2013, Appl. Numer. Math. 68, 58
    aba_10_6_4   e dt^10 + e^2 dt^6 + e^3 dt^4      8 forces, there

McLachlan 1995, BIT 35, 258, has the first of their kind. They begin and end with a drift. Symplectic
`correctors` reach e dt^n + e^2 dt^2 at leapfrog's cost.
"""

from minusgrad.plugin import SCHEMES, Scheme, palindrome


def _drift_first(order: int, drifts: tuple[float, ...], kicks: tuple[float, ...], summary: str) -> Scheme:
    return Scheme(order, (0.0, *kicks, 0.0), drifts, summary)


NEAR_INTEGRABLE = {
    "leapfrog": SCHEMES["leapfrog"],
    "aba_8_6_4": _drift_first(
        4,
        palindrome(
            *(0.0711334264982231177779387300061549964174, 0.241153427956640098736487795326289649618),
            0.521411761772814789212136078067994229991,
            middle=False,
        ),
        palindrome(
            *(0.183083687472197221961703757166430291072, 0.310782859898574869507522291054262796375),
            -0.0265646185119588006972121379164987592663,
            middle=True,
        ),
        "Seven forces: errors of order 8 in the part of the rest, 6 and 4 in its powers.",
    ),
    "aba_10_6_4": _drift_first(
        4,
        palindrome(
            *(0.03809449742241219545697532230863756534060, 0.1452987161169137492940200726606637497442),
            *(0.2076276957255412507162056113249882065158, 0.4359097036515261592231548624010651844006),
            middle=True,
        ),
        palindrome(
            *(0.09585888083707521061077150377145884776921, 0.2044461531429987806805077839164344779763),
            0.2170703479789911017143385924306336714532,
            middle=False,
        ),
        "Eight forces: errors of order 10 in the part of the rest, 6 and 4 in its powers.",
    ),
}
"""By the name that a scene gives."""
