"""Robots in files of their own: TOML files with the keys of a state of this plugin, and its kind.

    kind = "spring_robot"
    nodes = [[0.2, 0.1], [0.3, 0.13], [0.4, 0.1]]
    springs = [[0, 1], [1, 2], [0, 2]]
    swing = 0.1

A scene names the file, so that another robot is one key: `minusgrad fit scene.toml state.file=other.toml`.

Decisions 0143.
"""

from typing import Any

import numpy as np

from minusgrad.plugin import Record, State, StateContext, TomlTable, UserError

from .linked_boxes import LINKED_BOXES
from .robots import ROBOTS
from .spring_robots import SPRING_ROBOTS

KINDS: dict[str, type[Any]] = {**SPRING_ROBOTS, **ROBOTS, **LINKED_BOXES}
"""The robots that a file can hold."""


class RobotFile(Record):
    """A robot in a TOML file with the keys of `spring_robot`, `box_robot` or `boxes`, and with its `kind`."""

    file: str
    """TOML file beside the scene; numbers are in the run's units."""

    def make(self, context: StateContext) -> State:
        table = TomlTable(self.file, context.read(self.file), context.units)
        robot = table.record_of_kind(KINDS)
        with table.placed():
            state: State = robot.make(context)
            _refuse_limp(state)
        return state


def _refuse_limp(state: State) -> None:
    """Raises `UserError` for boxes without a strut that changes its length."""
    if "half" in state.fields and not np.any(
        state.data.get("struts", {}).get("gain", "struts" in state.data)
    ):
        raise UserError("a robot needs muscles, got no struts with a gain; give `struts`, and `gain` above 0")


ROBOT_FILES = {"robot_file": RobotFile}
