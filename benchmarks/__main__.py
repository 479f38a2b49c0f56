"""`python -m benchmarks ...`, from the root of a checkout: the same as `minusgrad bench ...`."""

import argparse
import sys

from minusgrad.errors import MinusgradError

from .scoreboard import arguments, run

parser = argparse.ArgumentParser("benchmarks")
arguments(parser)
try:
    sys.exit(run(parser.parse_args()))
except MinusgradError as error:
    print(f"benchmarks: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
