"""Kepler's problem of eight bodies at once, as text of kernels: the numbers of `universal_anomaly` in lanes.

Few planets take the time of one. All lanes share their trials of the universal anomaly and a short series of
Stumpff's functions. A block with a lane that these do not serve (no end within the trials, or a step of more
than a quarter of the period) is solved body by body. Chebyshev's method needs no root:

    X <- X - (f / r) (1 + f f'' / (2 r^2))         f = r0 G1 + eta G2 + mu G3 - h,   f' = r,   f'' = dr/dX

from the first four powers of h in the series of X. Columns without a body have M, q and u zero, which stay.
How the last move enters was chosen by its rounding: with the G_n by their addition theorems, or 1 / r
by its series, the energy of the outer planets drifts by 1e-13 to 1e-12 in 100,000 years, as here it does not.

Decisions 0344.
"""

from collections.abc import Sequence
from math import factorial
from textwrap import indent

from .jacobi_coordinates import dot, vector
from .universal_anomaly import LAST

WIDE = 8
"""Bodies in a block."""
TRIALS = 6
"""The most values of X that are tried in lanes."""
TERMS, FAR = 10, 3.0
"""Terms of the series of c_2 and c_3 for |beta X^2| < 3: the first left out is below 1e-18 of the sum."""
SMALL = (1 << 30) - 1
"""Bound of indices; `& SMALL` gives it to the compiler, which then merges loads of neighbours."""


def columns(n: int) -> int:
    """The length of work arrays for n bodies: the first, and whole blocks of others."""
    return 1 + WIDE * -(-(n - 1) // WIDE)


def drift_lanes(strength: str, d: int, one_by_one: str) -> str:
    """Put into `kepler_q` and `kepler_u` their changes in a time `h`.

    strength: the text of G. one_by_one: text that does so for body `kj`.
    """
    text = vector(f"kat{{c}} = (kbegin + {{c}} * kw) & {SMALL}", d)
    text += (
        f"kvG = {_all_lanes(strength)}\nkvM = {_load_lanes('kepler_M', 0)}\nkvmu = kvG * kvM\nkvh = "
        f"{_all_lanes('h')}\n"
    )
    for c in range(d):
        text += f"kvq{c} = {_load_lanes('kepler_q', c)}\nkvu{c} = {_load_lanes('kepler_u', c)}\n"
    for name, pair in (("qq", "qq"), ("qu", "qu"), ("uu", "uu")):
        text += f"kv{name} = {dot(f'kv{pair[0]}{{c}}', f'kv{pair[1]}{{c}}', d)}\n"
    text += f"kvqq = ti.select(kvM > {_number(0.0)}, kvqq, {ONE})\n"
    text += SOLUTION + "if kvdone == 1:\n" + indent(_moved_text(d), "    ")
    text += "else:\n    for kj in range(kbegin, ti.min(kbegin + 8, kepler_order.shape[0])):\n"
    body = f"kbegin = {WIDE} * kblock + 1\n" + text + indent(one_by_one, " " * 8)
    return f"for kblock in range(kepler_M.shape[0] // {WIDE}):\n" + indent(body, "    ")


def _all_lanes(text: str) -> str:
    """One number in every lane."""
    return f"ti.Vector([{text}] * {WIDE})"


def _number(value: float) -> str:
    return _all_lanes(f"ti.f64({value!r})")


def _load_lanes(array: str, c: int) -> str:
    """A vector of a component of an array."""
    return f"ti.Vector([{', '.join(f'{array}[kat{c} + {lane}]' for lane in range(WIDE))}])"


def _moved_text(d: int) -> str:
    """The changes of places and velocities."""
    minus = _number(-1.0)
    text = f"kvF = {minus} * kvmu * G2v * kvinverse\nkvg = kvr0 * G1v + kvqu * G2v\n"
    text += f"kvGd = {minus} * kvmu * kvper\nkvFd = kvGd * G1v * kvinverse\nkvGd = kvGd * G2v\n"
    text += vector("kvs{c} = kvF * kvq{c} + kvg * kvu{c}\nkvt{c} = kvFd * kvq{c} + kvGd * kvu{c}", d)
    for name, result in (("q", "s"), ("u", "t")):
        for c in range(d):
            text += "".join(f"kepler_{name}[kat{c} + {k}] = kv{result}{c}[{k}]\n" for k in range(WIDE))
    return text


HALF, ONE, TWO, FIVE, SIXTH = map(_number, (0.5, 1.0, 2.0, 5.0, 1.0 / 6.0))


def _series_text(n: int) -> str:
    """c_n(kvz): even and odd powers apart, each by Horner's rule in z^2, for the processor to overlap."""
    signed = [(-1) ** k / factorial(n + 2 * k) for k in range(TERMS)]
    even, odd = (_horner_text(signed[part::2]) for part in (0, 1))
    return f"{even} + kvz * {odd}"


def _horner_text(numbers: Sequence[float]) -> str:
    text = _number(numbers[-1])
    for number in reversed(numbers[:-1]):
        text = f"({_number(number)} + kvw * {text})"
    return text


FUNCTIONS = f"""\
kvX2 = kvX * kvX
kvz = kvb * kvX2
kvw = kvz * kvz
kvc3 = {_series_text(3)}
kvc2 = {_series_text(2)}
G3v = kvX2 * kvX * kvc3
G2v = kvX2 * kvc2
G1v = kvX * ({ONE} - kvz * kvc3)
G0v = {ONE} - kvz * kvc2
"""

SOLUTION = f"""\
kvr0 = ti.sqrt(kvqq)
kvinverse = {ONE} / kvr0
kvb = {TWO} * kvmu * kvinverse - kvuu
kvX = kvh * kvinverse
kva = {HALF} * kvqu * kvinverse * kvX
kvc = (kvmu * kvinverse - kvb) * {SIXTH} * kvX * kvX
kve = {_number(-1.0 / 12.0)} * kvb * kvX * kvX * kva
kvnear = kva * ({TWO} * kva - {ONE}) - kvc + ({FIVE} * kva * (kvc - kva * kva) - kve)
kvX = ti.select(kvnear * kvnear < {_number(0.1)}, kvX * ({ONE} + kvnear), kvX)
kvper = kvinverse
G0v = {ONE}
G1v = kvX
G2v = kvX
G3v = kvX
kvdone = 0
for ktrial in range({TRIALS}):
    if kvdone == 0:
{indent(FUNCTIONS, " " * 8)}\
        kvoff = kvr0 * G1v + kvqu * G2v + kvmu * G3v - kvh
        kvr = kvr0 * G0v + kvqu * G1v + kvmu * G2v
        kvbend = kvqu * G0v + (kvmu - kvb * kvr0) * G1v
        kvper = {ONE} / kvr
        kvbend = kvbend * kvper
        kvoff = kvoff * kvper
        kvmove = {_number(-1.0)} * kvoff * ({ONE} + {HALF} * kvoff * kvbend)
        kvmove2 = kvmove * kvmove
        kvbound = {_number(LAST * LAST)} * ti.select(kvw < {_number(FAR * FAR)}, {ONE}, {_number(-1.0)})
        kvlast = ti.select(kvmove2 <= kvbound * kvX2, {ONE}, {_number(0.0)})
        kvlast = ti.select(kvmove2 * kvbend * kvbend <= kvbound, kvlast, {_number(0.0)})
        if kvlast.sum() > {WIDE - 0.5}:
            kvdone = 1
            kvsine = G1v
            kvhalf = {HALF} * kvmove
            G2v = G2v + kvmove * (G1v + kvhalf * G0v)
            G1v = G1v + kvmove * (G0v - kvhalf * kvb * G1v)
            G0v = G0v - kvmove * kvb * (kvsine + kvhalf * G0v)
            kvper = {ONE} / (kvr0 * G0v + kvqu * G1v + kvmu * G2v)
        else:
            kvX = kvX + kvmove
"""
