"""The order of convergence that the values of three meshes show."""

import math


def observed_order(coarse: float, half: float, quarter: float) -> float:
    """log2 of the ratio of the differences of values by cells of sizes h, h/2 and h/4 (Roache 1994).

    NaN where the differences change sign, or where there are none: such values show no order.
    """
    ratio = (half - coarse) / (quarter - half) if quarter != half else 0.0
    return math.log2(ratio) if ratio > 0.0 else math.nan
