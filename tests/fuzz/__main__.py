"""`python -m tests.fuzz READER --seconds N`: damaged files for a reader; faults are printed and kept.

python -m tests.fuzz svg --seconds 60           python -m tests.fuzz all --mutants 5000
python -m tests.fuzz svg --show 1234            one mutant again: its bytes and what happens
python -m tests.fuzz ply --mutants 5000 --direct    without a child for each file: 30 times as fast
python -m tests.fuzz svg --mutants 500 --keep   small files that fail go into tests/fuzz/corpus/svg
"""

import argparse
import sys

from .judge import contents, judged, outcomes
from .targets import CORPUS, TARGETS

SMALL = 20_000
"""Bytes of a file that is kept in the corpus, at most."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("reader", choices=[*TARGETS, "all"])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--show", type=int, help="number of one mutant")
    parser.add_argument("--keep", action="store_true", help="write what fails into the corpus")
    parser.add_argument("--direct", action="store_true", help="libraries read in the judge where they can")
    asked = parser.parse_args()
    if asked.show is not None:
        print(contents(asked.reader, asked.show))
        print(*outcomes(asked.reader, range(asked.show, asked.show + 1)))
        return 0
    faults = 0
    for reader in TARGETS if asked.reader == "all" else [asked.reader]:
        verdict = judged(reader, range(asked.first, asked.first + asked.mutants), asked.seconds, asked.direct)
        print(verdict, flush=True)
        faults += len(verdict.faults)
        for number, _ in verdict.faults if asked.keep else ():
            data = contents(reader, number)
            if number >= 0 and len(data) <= SMALL:
                (CORPUS / reader).mkdir(parents=True, exist_ok=True)
                (CORPUS / reader / f"mutant-{number}").write_bytes(data)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
