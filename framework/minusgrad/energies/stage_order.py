"""The order of stages: forward, and in reverse, with the stages that the reverse pass recomputes.

Decisions 0314.
"""

from collections.abc import Sequence
from typing import Any

from ..errors import EnergyError

Version = tuple[str, int]
"""A version of an array: its name, and how often it was cleared and written before."""

Act = tuple[str, Any]
"""One action: "clear" an array or "forget" its adjoint, "run" or "reverse" a stage."""


class Schedule:
    """The actions of the forward and of the reverse pass, in order.

    An array that is written after it has been read is cleared first, and then holds its next version. The
    reverse of a stage needs the versions that the stage read. Where an array holds a later one by then, the
    stages that wrote the earlier one run again, if all of them allow that; else the order is refused.
    """

    def __init__(self, what: str, stages: tuple[Any, ...], inputs: tuple[str, ...], outputs: tuple[str, ...]):
        self.what, self.stages = what, stages
        self.forward: list[Act] = []
        self.backward: list[Act] = []
        self._makers: dict[Version, list[int]] = {}
        self._reads: list[set[Version]] = []
        self._makes: list[set[Version]] = []
        self._live = dict.fromkeys(inputs, 0)
        self._plan_forward(inputs, outputs)
        self._plan_backward()
        if missing := [o for o in outputs if o not in self._live]:
            raise EnergyError(f"{what}: no stage writes {', '.join(missing)}; name outputs that stages write")

    def writes_first(self, k: int, array: str) -> bool:
        """True if stage k is the first to write into an array since it was cleared."""
        return any(self._makers[v][0] == k for v in self._makes[k] if v[0] == array)

    def _plan_forward(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        readers: dict[str, int] = {}  # the last stage that reads the present version
        for k, stage in enumerate(self.stages):
            for array in stage.read:
                if array not in self._live:
                    raise EnergyError(
                        f"{self._stage_text(k)} reads '{array}', which no stage before it writes"
                    )
                readers[array] = k
            self._reads.append({(array, self._live[array]) for array in stage.read})
            for array in stage.written:
                if array in inputs:
                    raise EnergyError(f"{self._stage_text(k)} writes '{array}', which is an input")
                if array in outputs and array in readers:
                    by = self._stage_text(readers[array], False)
                    raise EnergyError(
                        f"{self._stage_text(k)} writes the output '{array}' after {by} has read it"
                    )
                if array not in self._live or array in readers:
                    self._live[array] = self._live.get(array, -1) + 1
                    readers.pop(array, None)
                    self.forward.append(("clear", array))
                self._makers.setdefault((array, self._live[array]), []).append(k)
            self._makes.append({(array, self._live[array]) for array in stage.written})
            self.forward.append(("run", k))

    def _plan_backward(self) -> None:
        for k in reversed(range(len(self.stages))):
            needed = sorted(self._reads[k] | self._makes[k])
            for version in needed:
                self._restore_version(version, k)
            self._all_live(needed, k)
            self.backward.append(("reverse", k))
            self.backward += [("forget", v[0]) for v in sorted(self._makes[k]) if self._makers[v][0] == k]

    def _restore_version(self, version: Version, k: int, waiting: tuple[Version, ...] = ()) -> None:
        """Restore a version of an array, by running all stages that wrote it.

        `waiting`: versions that are being restored, and for which this one is needed.
        """
        array, filled = version
        if self._live[array] == filled:
            return
        if version in waiting:
            raise self._two_at_once(array, k)
        group, makers = self._made_together(version)
        names = [name for name, _ in sorted(group)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise self._two_at_once(twice[0], k)
        for maker in makers:
            if not self.stages[maker].recompute:
                later = [v for v in sorted(self._makers) if v[0] == array and v[1] > filled]
                by = (
                    self._stage_text(self._makers[later[0]][0])
                    if later
                    else f"{self.what}: a recomputed stage"
                )
                raise EnergyError(
                    f"{by} overwrites '{array}', which the reverse of {self._stage_text(k, False)}"
                    f" needs as {self._stage_text(maker, False)} left it; give one of them an array of its "
                    "own"
                    " (`rename`), or let the latter be recomputed (`recompute=True`)"
                )
        needed = sorted({v for maker in makers for v in self._reads[maker]} - group)
        for other in needed:
            self._restore_version(other, k, (*waiting, version))
        self.backward += [("clear", made) for made, _ in sorted(group)]
        self._live.update(dict(sorted(group)))
        self._all_live(needed, k)
        self.backward += [("run", maker) for maker in makers]

    def _made_together(self, version: Version) -> tuple[set[Version], list[int]]:
        """All versions that are written by the stages that write this one, and these stages in order."""
        group, makers = {version}, set(self._makers[version])
        while not (more := {v for m in makers for v in self._makes[m]}) <= group:
            group |= more
            makers |= {m for v in group for m in self._makers[v]}
        return group, sorted(makers)

    def _all_live(self, needed: Sequence[Version], k: int) -> None:
        for array, filled in needed:
            if self._live[array] != filled:
                raise self._two_at_once(array, k)

    def _two_at_once(self, array: str, k: int) -> EnergyError:
        return EnergyError(
            f"{self.what}: to reverse {self._stage_text(k, False)}, array '{array}' would need two versions "
            "at"
            " the same time; give one of them an array of its own (`rename`)"
        )

    def _stage_text(self, k: int, full: bool = True) -> str:
        one = f"stage {k + 1} '{self.stages[k].name}'"
        return f"{self.what}: {one}" if full else one
