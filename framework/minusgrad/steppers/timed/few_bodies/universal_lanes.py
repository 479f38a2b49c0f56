"""Kepler's problem of eight bodies at once, as text of kernels: each number of `universal_anomaly` a SIMD vector.

Few planets take the time of one. All lanes share their trials of the universal anomaly, and the short series
of Stumpff's functions; a block with a lane that these do not serve (a trial without end, a step of a third of
a period or more) is solved body by body, with brackets. Halley's method in place of Laguerre's needs no root:

    X <- X - f r / (r^2 - f f'' / 2)         f = r0 G1 + eta G2 + mu G3 - h,   f' = r,   f'' = dr/dX

from the first four powers of h in the series of X. Columns without a body have mu = 0, q = (1, 0, ...) and
u = 0, which stays as it is.
"""

from textwrap import indent

from .jacobi_coordinates import dot, vector
from .universal_anomaly import FAR, FEW, LAST, NEAR, TERMS, series

WIDE = 8
"""Bodies in a block."""
TRIALS = 6
"""The most values of X that are tried in lanes."""
SMALL = (1 << 30) - 1
"""Bound of indices; `& SMALL` gives it to the compiler, which then merges loads of neighbours."""


def columns(n: int) -> int:
    """The length of work arrays for n bodies: the first, and whole blocks of others."""
    return 1 + WIDE * -(-(n - 1) // WIDE)


def drifted(strength: str, d: int, one_by_one: str) -> str:
    """Changes of `kepler_q` and `kepler_u` in a time `h`, in `kepler_dq` and `kepler_du`.

    strength: the text of G. one_by_one: text that does so for body `kj`.
    """
    q, u = (_loaded(f"kepler_{n}[{{{{c}}}}, {{lane}}]") for n in "qu")
    text = f"kvG = {_all(strength)}\nkvmu = kvG * {_loaded('kepler_M[{lane}]')}\nkvh = {_all('h')}\n"
    text += vector(f"kvq{{c}} = {q}\nkvu{{c}} = {u}", d)
    for name, pair in (("qq", "qq"), ("qu", "qu"), ("uu", "uu")):
        text += f"kv{name} = {dot(f'kv{pair[0]}{{c}}', f'kv{pair[1]}{{c}}', d)}\n"
    text += SOLUTION + "if kvdone == 1:\n" + indent(_moved(d), "    ")
    text += "else:\n    for kj in range(kbegin, ti.min(kbegin + 8, kepler_order.shape[0])):\n"
    body = f"kbegin = {WIDE} * kblock + 1\n" + text + indent(one_by_one, " " * 8)
    return f"for kblock in range(kepler_M.shape[0] // {WIDE}):\n" + indent(body, "    ")


def _all(text: str) -> str:
    """One number in every lane."""
    return f"ti.Vector([{text}] * {WIDE})"


def _number(value: float) -> str:
    return _all(f"ti.f64({value!r})")


def _index(lane: int) -> str:
    return f"(kbegin + {lane}) & {SMALL}"


def _loaded(text: str) -> str:
    """A vector of an array's elements; {lane} stands for the body's place."""
    return f"ti.Vector([{', '.join(text.format(lane=_index(lane)) for lane in range(WIDE))}])"


def _moved(d: int) -> str:
    """The changes of places and velocities."""
    minus = _number(-1.0)
    text = f"kvF = {minus} * kvmu * G2v * kvinverse\nkvg = kvr0 * G1v + kvqu * G2v\n"
    text += f"kvGd = {minus} * kvmu / kvr\nkvFd = kvGd * G1v * kvinverse\nkvGd = kvGd * G2v\n"
    text += vector("kvs{c} = kvF * kvq{c} + kvg * kvu{c}\nkvt{c} = kvFd * kvq{c} + kvGd * kvu{c}", d)
    for name, result in (("dq", "s"), ("du", "t")):
        for c in range(d):
            text += "".join(f"kepler_{name}[{c}, {_index(k)}] = kv{result}{c}[{k}]\n" for k in range(WIDE))
    return text


HALF, ONE, TWO, FIVE, SIXTH = map(_number, (0.5, 1.0, 2.0, 5.0, 1.0 / 6.0))

FUNCTIONS = f"""\
kvz = kvb * kvX * kvX
kvc5 = {series(5, FEW, "kvz", _number)}
kvc4 = {series(4, FEW, "kvz", _number)}
kvfar = ti.select(kvz * kvz < {_number(NEAR * NEAR)}, {_number(0.0)}, {ONE})
if kvfar.sum() > 0.0:
    kvc5 = {series(5, TERMS, "kvz", _number)}
    kvc4 = {series(4, TERMS, "kvz", _number)}
kvc3 = {SIXTH} - kvz * kvc5
kvc2 = {HALF} - kvz * kvc4
kvX2 = kvX * kvX
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
kvr = kvr0
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
        kvmove = {_number(-1.0)} * kvoff * kvr / (kvr * kvr - {HALF} * kvoff * kvbend)
        kvmove2 = kvmove * kvmove
        kvbound = {_number(LAST * LAST)} * ti.select(kvz * kvz < {_number(FAR * FAR)}, {ONE}, {_number(-1.0)})
        kvlast = ti.select(kvmove2 <= kvbound * kvX2, {ONE}, {_number(0.0)})
        kvlast = ti.select(kvmove2 * kvbend * kvbend <= kvbound * kvr * kvr, kvlast, {_number(0.0)})
        if kvlast.sum() > {WIDE - 0.5}:
            kvdone = 1
            kvsine = G1v
            kvhalf = {HALF} * kvmove
            G2v = G2v + kvmove * (G1v + kvhalf * G0v)
            G1v = G1v + kvmove * (G0v - kvhalf * kvb * G1v)
            G0v = G0v - kvmove * kvb * (kvsine + kvhalf * G0v)
            kvr = kvr0 * G0v + kvqu * G1v + kvmu * G2v
        else:
            kvX = kvX + kvmove
"""
