"""The equilibrium of a beam, the first time in a process; prints the CPU seconds and the sag of the tip.

python -m benchmarks.programs.bend PARTS
"""

import json
import sys
import time

from minusgrad.engine import runtime

from ..beam import Beam
from ..statics import equilibrium


def main(parts: str) -> None:
    """Prepare, call, print."""
    runtime.start(runtime.Options(threads=1))
    beam = Beam.of(tuple(json.loads(parts)))
    began = time.process_time()
    sag = equilibrium(beam, "superlu")()
    print(json.dumps([time.process_time() - began, sag]))


if __name__ == "__main__":
    main(*sys.argv[1:])
