"""The outer Solar System after 100 and 1,000 years, by Taylor series with 30 digits: a reference.

    python -m tests.plugins.gravity.kepler_drifts.taylor_reference

writes `outer_solar_system_taylor.csv` beside this file, in six minutes. No code is shared with the framework.
The start is that of the scene `outer_solar_system`, each number as the double that the scene reads.

    d2x_i/dt2 = sum_j G m_j d_ij s_ij        d_ij = x_j - x_i,    s = (d.d)^(-3/2)

The series of a product is the convolution of two series, that of s = p^a follows from p s' = a s p':

    k p_0 s_k = sum_(l=1..k) (a l - (k - l)) p_l s_(k-l)                      Knuth, TAOCP 2, 4.7

Series converge within 700 days at least, where the distance of Jupiter and Saturn is zero at a complex time:
in steps of half a year the term that is left out is below 1e-22. After 5 years, half the step and six orders
more change places by 1e-22 AU.
"""

import csv
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from mpmath import mp, mpf

FOLDER = Path(__file__).parent
START = FOLDER.parents[3] / "scenes" / "data" / "outer_solar_system.csv"
FILE = FOLDER / "outer_solar_system_taylor.csv"
G, YEAR = 0.00029591220828559115, 365.25
DIGITS, ORDER, STEPS = 30, 34, 2
"""Of the numbers, of the series, and steps in a year."""
YEARS = (100, 1000)

Vector = list[mpf]
Series = list[mpf]


def convolved(a: Series, b: Series, k: int) -> mpf:
    """The k-th coefficient of a product."""
    return mp.fdot(a[: k + 1], b[k::-1])


def coefficients(
    x: Sequence[Vector], v: Sequence[Vector], m: Sequence[mpf], order: int
) -> list[list[Series]]:
    """The series in t of all places, by body and component."""
    series = [[[place, speed] for place, speed in zip(*one, strict=True)] for one in zip(x, v, strict=True)]
    pairs = list(combinations(range(len(m)), 2))
    d: list[list[Series]] = [[[], [], []] for _ in pairs]
    p: list[Series] = [[] for _ in pairs]
    s: list[Series] = [[] for _ in pairs]
    for k in range(order - 1):
        pull = [[mpf(0)] * 3 for _ in m]
        for n, (i, j) in enumerate(pairs):
            for c in range(3):
                d[n][c].append(series[j][c][k] - series[i][c][k])
            p[n].append(sum(convolved(d[n][c], d[n][c], k) for c in range(3)))
            s[n].append(power(p[n], s[n], k))
            for c in range(3):
                force = convolved(s[n], d[n][c], k)
                pull[i][c] += m[j] * force
                pull[j][c] -= m[i] * force
        for body, forces in zip(series, pull, strict=True):
            for c in range(3):
                body[c].append(mpf(G) * forces[c] / ((k + 1) * (k + 2)))
    return series


def power(p: Series, s: Series, k: int) -> mpf:
    """The k-th coefficient of s = p^(-3/2), from those before it."""
    if k == 0:
        return 1 / (p[0] * mp.sqrt(p[0]))
    weights = [(mpf(-3) / 2 * n - (k - n)) * p[n] for n in range(1, k + 1)]
    return mp.fdot(weights, s[k - 1 :: -1]) / (k * p[0])


def step(x: list[Vector], v: list[Vector], m: Sequence[mpf], h: mpf, order: int) -> None:
    """Move x and v by a time h."""
    for body, series in enumerate(coefficients(x, v, m, order)):
        for c, one in enumerate(series):
            x[body][c] = mp.polyval(one[::-1], h)
            v[body][c] = mp.polyval([k * a for k, a in enumerate(one)][:0:-1], h)


def after(
    years: Sequence[int], order: int = ORDER, steps: int = STEPS
) -> dict[int, tuple[list[str], list[Vector]]]:
    """Names and places after some numbers of years."""
    with START.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    x, v = ([[mpf(float(row[a + c])) for c in "xyz"] for row in rows] for a in ("", "v"))
    m, found = [mpf(float(row["m"])) for row in rows], {}
    for year in range(1, max(years) + 1):
        for _ in range(steps):
            step(x, v, m, mpf(YEAR) / steps, order)
        if year in years:
            found[year] = [row["name"] for row in rows], [list(place) for place in x]
    return found


def main() -> None:
    with mp.workdps(DIGITS):
        lines = [
            f"{year},{name}," + ",".join(mp.nstr(c, 20) for c in place)
            for year, (names, places) in after(YEARS).items()
            for name, place in zip(names, places, strict=True)
        ]
    FILE.write_text("\n".join(["year,name,x,y,z", *lines]) + "\n")


if __name__ == "__main__":
    main()
