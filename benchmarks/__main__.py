"""`python -m benchmarks ...`, from the root of a checkout: `minusgrad bench ...`."""

import sys

from minusgrad.app.cli import main

sys.exit(main(["bench", *sys.argv[1:]]))
