"""A kernel that is compiled and run in a process of its own, because a broken engine may end its process.

The child prints one line of JSON: engine, architecture, threads, folder of the cache, the error of a value
and that of its gradient.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

SECONDS = 120.0
"""Seconds after which a kernel counts as hanging."""
MOST_ERROR = 1e-12


def run_trial(seconds: float = SECONDS) -> dict[str, Any]:
    """What the child said, with `seconds`; or `error`, its last line, where it did not end well."""
    began = time.monotonic()
    call = [sys.executable, "-P", "-m", "minusgrad.app.verbs.doctor.trial"]
    try:
        done = subprocess.run(
            call, capture_output=True, encoding="utf-8", timeout=seconds, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {seconds:.0f} s"}
    except OSError as error:
        return {"error": f"no process: {error.strerror}"}
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        last = lines[-1] if lines else "no output"
        return {"error": f"exit code {done.returncode}: {last}"}
    return {"seconds": time.monotonic() - began, **found}


def main() -> None:
    """Compute U = k |x|^2 / 2 and k x of two nodes, and print how far off they are."""
    import numpy as np

    from ....energies.fields import Fields
    from ....energies.local_energy import local_energy
    from ....energies.roles import Node, Parameter
    from ....energies.term import bind
    from ....engine import runtime
    from ....potential.potential import Potential

    @local_energy("trial", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
    def trial(x, k):
        """A spring to the origin."""
        return 0.5 * k * x[0].norm_sqr()

    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # an engine may print
        x = np.array([[1.0, 2.0], [0.5, -1.0]])
        fields = Fields({"x": x}, {"x": "m"})
        potential = Potential(fields, [bind(trial, fields, parameters={"k": 3.0})])
        value = abs(float(potential.value()) - 1.5 * float((x**2).sum()))
        gradient = float(np.abs(potential.gradient("x") - 3.0 * x).max())
        engine = runtime.engine()
        found: dict[str, Any] = {"engine": runtime.engine_name(), "arch": runtime.arch()}
        found |= {"threads": runtime.threads(), "cache": _cache(engine)}
        found["off"] = max(value, gradient)
        if not found["off"] <= MOST_ERROR:
            found["error"] = f"U and its gradient are off by {found['off']:.2g}"
        print(json.dumps(found), file=out)


def _cache(engine: Any) -> str:
    """The folder of compiled kernels; empty where the engine does not tell."""
    try:
        return str(engine.lang.impl.current_cfg().offline_cache_file_path)
    except AttributeError:
        return ""


if __name__ == "__main__":
    main()
