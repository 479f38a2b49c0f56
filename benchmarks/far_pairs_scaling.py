"""Far pairs against size, no race: `python -m benchmarks.far_pairs_scaling` prints

CPU seconds of a gradient (f32, error 1e-3, tree included) from 10,000 to 1,000,000 bodies of a Plummer
sphere, the exponent of N that fits them, and the peak memory of the process so far;
the same in f64 at error 1e-6 beside direct sums in lanes, and the N from which expansions are faster.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime

from .far_pairs import gradient, sphere
from .harness import session
from .harness.cases import Call
from .harness.session import Settings
from .harness.worker import peak_memory

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
AROUND = (10_000, 20_000, 30_000)
COARSE, EXACT = Far(opening_angle=0.65, order=5), Far(opening_angle=0.2, order=6)
CALLS = 3


def main() -> None:
    """Measure and print."""
    session.expect(Settings(threads=session.cores(), quick=False))
    runtime.start(runtime.Options(threads=session.threads()))
    print("      N  CPU s  rms error  peak memory")
    seconds = [_shown(n) for n in SIZES]
    print(f"fitted: CPU s ~ N^{slope(SIZES, seconds):.2f}\n")
    print("      N  at 1e-6: CPU s  direct sums: CPU s  rms error")
    ratios = []
    for n in AROUND:
        tree, direct = (cpu_seconds(gradient(sphere(n, 1e-6), "f64", far)) for far in (EXACT, None))
        ratios.append(tree[0] / direct[0])
        print(f"{n:>7} {tree[0]:>15.3f} {direct[0]:>19.3f} {1e-6 * tree[1]:>10.1e}", flush=True)
    print(f"expansions are faster from about N = {crossing(AROUND, ratios):,.0f}")


def _shown(n: int) -> float:
    seconds, error = cpu_seconds(gradient(sphere(n), "f32", COARSE))
    memory = peak_memory(False) / 1e6
    print(f"{n:>7} {seconds:>6.3f} {1e-3 * error:>10.1e} {memory:>9.0f} MB", flush=True)
    return seconds


def cpu_seconds(call: Call, clock: Callable[[], float] = time.process_time) -> tuple[float, float]:
    """The least CPU seconds of a few calls after the first, and the answer of the last."""
    seconds, answer = timed(call, clock)
    return seconds, float(answer.numpy()[0])


def timed(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """The same with the answer as it is."""
    answer, times = call(), []
    for _ in range(CALLS):
        began = clock()
        answer = call()
        times.append(clock() - began)
    return min(times), answer


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent of a power of N that fits."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def crossing(sizes: Sequence[int], ratios: Sequence[float]) -> float:
    """The size at which a power of N that fits the ratios is one."""
    power, of_one = np.polyfit(np.log(sizes), np.log(ratios), 1)
    return float(np.exp(-of_one / power))


if __name__ == "__main__":
    main()
