"""Sliders of a page for the numbers that a running run takes: `[view.inputs]` of its scene.

The journal of the run says which there are, and which changes it has made; a slider that is moved leaves its
number in the inbox of the run.

Decisions 0144.
"""

import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MinusgradError, UserError
from ..files.held import inbox, journals
from ..files.held.run_listing import JOURNAL

MARKS = 400
"""So many values a slider has."""
CALM = 2.0
"""Seconds after its last move from which on a slider follows the journal, where somebody else moved it."""


class DeclaredInput(NamedTuple):
    """A number that a run takes: its name, its range, the symbol of its unit, and its present value."""

    name: str
    lowest: float
    highest: float
    unit: str
    value: float


def declared_inputs(events: list[dict[str, Any]]) -> list[DeclaredInput]:
    """The numbers that a run takes, by its journal, with their present values. A damaged line gives none."""
    found: dict[str, DeclaredInput] = {}
    for event in events:
        try:
            if event.get("event") == inbox.INPUTS:
                found = {str(one["name"]): _declared(one) for one in event["inputs"]}
            elif event.get("event") == inbox.CHANGED and event["name"] in found:
                name = str(event["name"])
                found[name] = found[name]._replace(value=float(event["value"]))
        except (KeyError, TypeError, ValueError):
            continue
    return list(found.values())


def _declared(facts: Any) -> DeclaredInput:
    lowest, highest = map(float, facts["range"])
    one = DeclaredInput(str(facts["name"]), lowest, highest, str(facts["unit"]), float(facts["value"]))
    if not lowest <= one.value <= highest or not lowest < highest:
        raise ValueError("no range with its value")
    return one


class Sliders:
    """The sliders of a run on a page, and a line that says what the run has made of them."""

    def __init__(self, gui: Any, run: Path, goes_on: Callable[[], bool]):
        self._run, self._goes_on = run, goes_on
        self._declared = {one.name: one for one in declared_inputs(self._events())}
        self._sliders: dict[str, Any] = {}
        self._sent: dict[str, float] = {}
        self._moved = 0.0
        self._refusal = ""
        for one in self._declared.values():
            unit = "" if one.unit == "1" else f" [{one.unit}]"
            step = (one.highest - one.lowest) / MARKS
            self._sliders[one.name] = gui.add_slider(
                f"{one.name}{unit}", one.lowest, one.highest, step, one.value
            )
            self._sent[one.name] = one.value
        self._said = gui.add_html("") if self._sliders else None
        self.refresh()

    def __len__(self) -> int:
        return len(self._sliders)

    def send_moved(self) -> None:
        """Leave the numbers of sliders that were moved for the run."""
        numbers = {}
        for name, slider in self._sliders.items():
            if (value := slider.value) == self._sent[name]:
                continue
            try:
                numbers[name] = self._judged(name, value)
                self._sent[name], self._refusal = value, ""
            except UserError as error:
                self._refusal = str(error)
                slider.value = self._sent[name]
        if numbers:
            self._moved = time.monotonic()
            try:
                inbox.put(self._run, numbers)
            except MinusgradError as error:
                self._refusal = str(error)
        if self._refusal:
            self._say_state([])

    def refresh(self) -> None:
        """Follow the journal: what the run has taken, and whether it goes on."""
        if not self._sliders:
            return
        goes_on, events = self._goes_on(), self._events()
        for slider in self._sliders.values():
            slider.disabled = not goes_on
        if time.monotonic() - self._moved > CALM:
            for one in declared_inputs(events):
                if one.name in self._sliders and one.value != self._sent[one.name]:
                    self._sliders[one.name].value = self._sent[one.name] = one.value
        self._say_state(events, goes_on)

    def _judged(self, name: str, value: Any) -> float:
        """A number of a slider; one that is off an end of its range by rounding is that end."""
        one = self._declared[name]
        for end in (one.lowest, one.highest):
            if isinstance(value, float) and abs(value - end) < 1e-9 * (one.highest - one.lowest):
                return end
        return inbox.judged_number(name, value, one.lowest, one.highest)

    def _say_state(self, events: list[dict[str, Any]], goes_on: bool = True) -> None:
        assert self._said is not None
        lines = [self._refusal] if self._refusal else []
        taken = [e for e in events if e.get("event") in (inbox.CHANGED, inbox.REFUSED)]
        if taken and not lines:
            last = taken[-1]
            lines.append(
                f"{last.get('name')} = {last.get('value'):.6g} from step {last.get('step'):,} on"
                if last["event"] == inbox.CHANGED and isinstance(last.get("value"), (int, float))
                else str(last.get("error", ""))
            )
        lines += [] if goes_on else ["the run does not go on, and takes no numbers"]
        text = "<br>".join(map(escape, lines))
        self._said.content = f'<div style="padding:0.2em 0.6em;font-size:0.8em">{text}</div>'

    def _events(self) -> list[dict[str, Any]]:
        try:
            return list(journals.events(self._run / JOURNAL))
        except (MinusgradError, OSError):
            return []
