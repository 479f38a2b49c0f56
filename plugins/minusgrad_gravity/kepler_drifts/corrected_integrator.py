"""Leapfrog about a dominant mass, in the coordinates of a symplectic corrector (`correctors`).

Fields hold physical coordinates between calls of `advance`: observers, losses and checkpoints read those.
Steps are taken in the corrector's coordinates, which are kept with their forces and saved; physical ones are
computed from them after each call and are never their source, unless a field was written. So bits depend on
neither outputs nor cuts of a run, and a step costs as much as without a corrector.

Decisions 0342.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minusgrad.plugin import EnergyError, Integrator, NonFiniteError, Potential, Scheme, System, storage

from .correctors import ORDERS, corrector
from .kepler_splitting import KeplerSplitting


class CorrectedIntegrator(Integrator):
    """Advances as `Integrator` does, with a corrector of some order around its steps.

    scheme: leapfrog, kepler: exact drifts. more: arguments of `Integrator`. Raises `EnergyError` for another
    order, another scheme, and for friction and energies that depend on time.
    """

    fixed = Integrator.fixed | {"order"}

    def __init__(
        self,
        system: System,
        scheme: Scheme,
        dt: float,
        order: int,
        kepler: KeplerSplitting,
        t0: float = 0.0,
    ):
        _refuse(order, scheme, system.potential, system.dissipation)
        if kepler.inexact:
            raise EnergyError(
                "wisdom_holman: a corrector needs exact drifts, got democratic heliocentric coordinates;"
                ' leave `corrector` out, or use coordinates = "jacobi"'
            )
        self.order = order
        self._mapped: dict[str, np.ndarray] | None = None
        self._mapped_by = dt
        super().__init__(system, scheme, dt, t0, part_flow=kepler)
        self._there, self._back = (Integrator(system, row, dt, part_flow=kepler) for row in corrector(order))

    def differentiable(self) -> Integrator:
        raise EnergyError(
            f"stepper '{self.name}': a run with a corrector has no derivative, got order {self.order}; leave"
            ' `corrector` out, or use scheme = "aba_10_6_4"'
        )

    def evaluate(self, t: float | None = None) -> None:
        """Recompute the forces at the present fields; the next step begins with them."""
        super().evaluate(t)
        self._mapped = None

    def _state(self, copied: Callable[[Any], Any] = storage.host_copy) -> dict[str, np.ndarray]:
        values = self._mapped or {name: np.zeros_like(v) for name, v in self._present().items()}
        kept = {f"corrected/{name}": v.copy() for name, v in values.items()}
        return super()._state(copied) | kept | {"is corrected": np.array(float(self._mapped is not None))}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        super().restore(state)
        kept = {name: np.array(state[f"corrected/{name}"]) for name in self._present()}
        self._mapped = kept if state["is corrected"] else None
        self._mapped_by = self.dt

    def advance(self, n: int) -> None:
        """Move the fields n steps. Raises like `Integrator.advance`."""
        self.update()
        self._to_corrected()
        try:
            super().advance(n)
        except NonFiniteError:
            self._to_physical()
            raise
        self._to_physical()

    def _to_corrected(self) -> None:
        """The corrector's coordinates and their forces, in the fields."""
        if self._mapped is None or self._mapped_by != self.dt:
            assert self.part_flow
            self.part_flow.begin()
            self._apply(self._there)
            return
        for name, field in self._moved().items():
            field.set(self._mapped[name])
        for name, array in self._kept_arrays().items():
            storage.store(array, self._mapped[name])
        self.mark()

    def _to_physical(self) -> None:
        """Physical coordinates and their forces, in the fields; the corrector's are kept."""
        kept = self._present()
        self._apply(self._back)
        self._mapped, self._mapped_by = kept, self.dt

    def _apply(self, rows: Integrator) -> None:
        """Take the moves of a corrector once, and the forces at their end."""
        rows.dt = self.dt
        rows.count_from_here()
        rows.mark()  # they begin with a drift: no forces are read
        rows.advance(1)
        for name, array in self._forces.items():
            storage.store(array, storage.host(rows._forces[name]))
        self.mark()

    def _moved(self) -> dict[str, Any]:
        return {field.name: field for field in self.moving}

    def _present(self) -> dict[str, np.ndarray]:
        """The arrays that a step reads: fields, forces, errors of sums."""
        fields = {name: field.values.copy() for name, field in self._moved().items()}
        return fields | {name: storage.host(array).copy() for name, array in self._kept_arrays().items()}

    def _kept_arrays(self) -> dict[str, Any]:
        """Forces, and the errors of compensated sums."""
        assert self.part_flow
        return {f"gradient/{n}": g for n, g in self._forces.items()} | dict(self.part_flow.state)


def _refuse(order: int, scheme: Scheme, potential: Potential, dissipation: Potential | None) -> None:
    """Raise `EnergyError` where a corrector has no meaning."""
    if order not in ORDERS:
        known = ", ".join(map(str, ORDERS))
        raise EnergyError(f"wisdom_holman: `corrector` is an order, got {order}; use one of {known}")
    if scheme.kicks != (0.5, 0.5):
        raise EnergyError(
            "wisdom_holman: a corrector is that of leapfrog, got another scheme; leave `corrector` or"
            " `scheme` out"
        )
    for what, given in (("friction", dissipation), ("energies that depend on time", potential.uses_time)):
        if given:
            raise EnergyError(
                f"wisdom_holman: a corrector has no rule for {what}, got some; leave `corrector` out"
            )
