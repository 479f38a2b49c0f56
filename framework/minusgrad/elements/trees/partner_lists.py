"""The partners of each target, from pairs that each stand once: lists for loops over targets.

A pair is listed for both. The partners of a target are in the order of the pairs, counted and put by one
thread, so that lists are the same for any number of threads.

Decisions 0306.
"""

import numpy as np

from ...engine import storage
from ...engine.kernels import BoundKernel, Code

SPARE = 1.25
"""Room that is allocated for what is needed, so that lists can grow."""


class PartnerLists:
    """Lists for so many targets, each filled to a multiple of `wide` with the number `filler`.

    pairs       int32 (room, 2): the pairs, to be written before `build`
    begin       int32 (targets + 1,): where the list of each target begins, in units of `wide`
    partners    int32: the lists, one after another

    With a `stride`, numbers in pairs are those of targets plus a multiple of it, which partners keep.
    """

    def __init__(self, targets: int, wide: int, filler: int, stride: int | None = None):
        self.wide, self.filler = wide, filler
        self.begin = np.zeros(targets + 1, np.int32)
        self.pairs = storage.ArraySlot(np.zeros((1, 2), np.int32))
        self.partners = storage.ArraySlot(np.zeros(wide, np.int32))
        self._at, self._count = np.zeros(targets, np.int32), np.zeros(1, np.int32)
        arrays = {"begin": self.begin, "pairs": self.pairs, "count": self._count, "at": self._at}
        self._counted = BoundKernel(Code("\n".join(_count_partners(stride)) + "\n", arrays))
        self._put = BoundKernel(
            Code("\n".join(_write_lists(wide, filler, stride)) + "\n", arrays | {"partners": self.partners})
        )

    def room(self, pairs: int) -> None:
        """Make room for so many pairs."""
        if len(self.pairs) < max(pairs, 1):
            self.pairs.replace(np.zeros((int(SPARE * pairs) + 1, 2), np.int32))

    def build(self, pairs: int) -> None:
        """Overwrite the lists with those of the first so many pairs."""
        self._count[0] = pairs
        self._counted()
        self.begin[1:] = np.cumsum(-(-self._at // self.wide))
        need = int(self.begin[-1]) * self.wide
        if len(self.partners) < need:
            self.partners.replace(np.zeros(int(SPARE * need) // self.wide * self.wide + self.wide, np.int32))
        self._put()

    @property
    def count(self) -> int:
        """How many pairs the lists are of."""
        return int(self._count[0])

    @property
    def present_lists(self) -> np.ndarray:
        """The lists without spare room."""
        return self.partners.own[: self.begin[-1] * self.wide]


def _target_text(stride: int | None) -> str:
    """The target that one side of a pair is."""
    return "pairs[pair, side]" if stride is None else f"pairs[pair, side] % {stride}"


def _count_partners(stride: int | None) -> list[str]:
    """A loop of one thread that counts the partners of each target."""
    return [
        "for _ in range(1):",
        "    for c in range(at.shape[0]):",
        "        at[c] = 0",
        "    for pair in range(count[0]):",
        "        for side in ti.static(range(2)):",
        f"            at[{_target_text(stride)}] += 1",
    ]


def _write_lists(wide: int, filler: int, stride: int | None) -> list[str]:
    """A loop of one thread that writes the lists."""
    return [
        "for _ in range(1):",
        "    for c in range(at.shape[0]):",
        f"        at[c] = begin[c] * {wide}",
        "    for pair in range(count[0]):",
        "        for side in ti.static(range(2)):",
        f"            target = {_target_text(stride)}",
        "            place = at[target]",
        "            partners[place] = pairs[pair, 1 - side]",
        "            at[target] = place + 1",
        "    for c in range(at.shape[0]):",
        f"        for place in range(at[c], begin[c + 1] * {wide}):",
        f"            partners[place] = {filler}",
    ]
