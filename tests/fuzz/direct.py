"""Files of libraries read in the judge itself: what the child of bounded reading would do, without the child.

A process for each file takes 15 ms, most readers 0.5 ms. Here the function that the child would call is
called in place, and its answer travels in the same form. What it does not answer by a result or a refusal of
its own (another exception, too much memory, more than `SECONDS`) goes through the child after all, and so
does every mutant of a number that `EVERY` divides. A library that ends the process ends the judge, which
then judges that mutant through the child.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minusgrad.files.bounded import door, limits, plain_data, process

SECONDS = 1.0
EVERY = 20


class Late(BaseException):
    """No reader catches it."""


def _late(*_: object) -> None:
    raise Late


@contextmanager
def reading(number: int) -> Iterator[None]:
    """Inside, `bounded_read` reads in this process, but for some numbers."""
    if number % EVERY == 0:
        yield
        return
    asked, keep = door._ask_child, limits.keep

    def here(request: bytes, wall: float) -> dict[str, Any]:
        found = answered(request)
        return found if found.keys() & {"result", "refused"} else asked(request, wall)

    door._ask_child, limits.keep = here, lambda limits: None
    try:
        yield
    finally:
        door._ask_child, limits.keep = asked, keep


def answered(request: bytes) -> dict[str, Any]:
    """The answer of the reader, or none within `SECONDS` of computing."""
    before = signal.signal(signal.SIGVTALRM, _late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return plain_data.decode(process._answer_request(plain_data.decode(request)))
    except Late:
        return {}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
