"""Loops in blocks as plain ones, for a kernel of one thread.

Loops over elements run in blocks, which threads share, with an inner loop that the compiler vectorises. In a
kernel of one thread the blocks serve nothing: a plain loop has the same statements for the same elements, is
compiled in 0.8 of the time, and tells a reader of its text which rows it visits. Loops with sums over a block
stay as they are.

Decisions 0118.
"""

import re
from dataclasses import replace

from ..kernels import Code

IN_BLOCKS = re.compile(
    r"^(?P<margin> *)for b in range\(\((?P<count>\w+\.shape\[0\]) \+ \d+\) // (?P<size>\d+)\):\n"
    r"(?P=margin)    for e in range\(b \* (?P=size), ti\.min\(\(b \+ 1\) \* (?P=size), (?P=count)\)\):\n"
    r"(?P<body>(?:(?P=margin)        .*\n)+)",
    re.M,
)


def flattened(code: Code) -> Code:
    """The same loops without blocks."""
    return replace(code, text=IN_BLOCKS.sub(_plain, code.text), slices=None)


def _plain(loop: re.Match[str]) -> str:
    body = re.sub(r"^    ", "", loop["body"], flags=re.M)
    return f"{loop['margin']}for e in range({loop['count']}):\n{body}"
