"""What was found, written into a profile's text: other keys and comments stay as they are."""

import re
import tomllib
from collections.abc import Mapping

from .spot_fit import Estimate

KEYS = ("spot", "threshold", "exponent", "reference", "latency", "kerf")


def fitted_keys(estimates: Mapping[str, Estimate], reference: float) -> dict[str, str]:
    """The keys that a fit gives, each a value of TOML with its standard error as a comment."""
    x, y, kerf_x, kerf_y = (estimates[name] for name in ("waist x", "waist y", "kerf x", "kerf y"))
    spots = [Estimate(2.0 * one.value, 2.0 * one.error, one.freedom) for one in (x, y)]
    threshold, exponent, latency = (estimates[one] for one in ("threshold", "exponent", "latency"))
    return {
        "spot": _both_lengths(*spots),
        "threshold": f'"{1e-4 * threshold.value:.5g} J/cm^2"  # +- {1e-4 * threshold.error:.2g}',
        "exponent": f"{exponent.value:.5f}  # +- {exponent.error:.2g}",
        "reference": f'"{reference:.9g} W/m^2"',
        "latency": f'"{1e6 * latency.value:.4g} us"  # +- {1e6 * latency.error:.2g}',
        "kerf": _both_lengths(kerf_x, kerf_y),
    }


def _both_lengths(x: Estimate, y: Estimate) -> str:
    return (
        f'["{1e6 * x.value:.5g} um", "{1e6 * y.value:.5g} um"]'
        f"  # +- {1e6 * x.error:.2g} and {1e6 * y.error:.2g}"
    )


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """The text of a profile with these keys in place of those that it has, or at its end."""
    lines = text.splitlines()
    left = dict(keys)
    kept: list[str] = []
    k = 0
    while k < len(lines):
        match = re.match(r"\s*(\w+)\s*=", lines[k])
        end = _statement_end(lines, k) if match else k + 1
        if match and match[1] in left:
            kept.append(f"{match[1]} = {left.pop(match[1])}")
        else:
            kept += lines[k:end]
        k = end
    return "\n".join([*kept, *(f"{key} = {value}" for key, value in left.items())]) + "\n"


def _statement_end(lines: list[str], begin: int) -> int:
    """The line behind a key's value, which may go over several."""
    for end in range(begin + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[begin:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return begin + 1
