"""Compensated sums of elements of arrays, as text of kernels: what rounding takes is added the next time.

    change <- change + rest,    new = fl(old + change),    rest <- change - (new - old)

(Kahan 1965, Comm. ACM 8, 40.) Compilers with `fast_math` would find that rest is 0: products with a number
that they do not know, 1, keep them from it.

Decisions 0345.
"""

ONE = "kepler_one[0]"


def added(array: str, rest: str, at: str, place: str, change: str, kind: str) -> str:
    """array[at] <- array[at] + change, stored as `kind`, with the rounding error in rest[place]."""
    return (
        f"kchange = {change} + {rest}[{place}]\n"
        f"kold = ti.f64({array}[{at}])\n"
        f"knew = {kind}(kold + kchange)\n"
        f"{array}[{at}] = knew\n"
        f"{rest}[{place}] = kchange - {ONE} * ({ONE} * ti.f64(knew) - kold)\n"
    )
