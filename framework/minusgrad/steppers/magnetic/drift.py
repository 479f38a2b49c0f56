"""Drifts in a magnetic field as code: forward, with tangents, and back with adjoints.

    (x, v) <- (-dW/dxi, -dW/deta)     at charged nodes        x <- x + h v     at the others

W of a time h (`flow`); in a kernel of many steps the scalar `t` is the length h while these loops run.

Decisions 0368.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...energies.fields import Motion
from ...engine import storage
from ...engine.kernels import Code, at_each, real
from ...potential.fused_code import FusedCode
from .flow import TO_PLACE, TO_SPEED
from .force import MagneticForce, covectors

PREFIX = "flow"


class MagneticDrifts:
    """The drifts of all motions, also of those without a field; `after`: -x' and -v' by covector."""

    def __init__(self, force: MagneticForce, motions: Sequence[Motion]):
        self.force, self.motions = force, motions
        self.potential = force.potential
        names = [name for m in force.motions.values() for name in covectors(m).values()]
        self.after = self.arrays(names)

    def arrays(self, names: Sequence[str]) -> dict[str, Any]:
        """New arrays shaped like some fields of the flow, by field."""
        fields = self.potential.fields
        return {n: storage.allocate(np.zeros_like(fields[n].values)) for n in names}

    @property
    def statements(self) -> float:
        """The approximate number of statements in one drift."""
        return FusedCode(self.potential, PREFIX).statements(self.after)

    @property
    def request(self) -> DerivativeRequest:
        """x' and v'."""
        return DerivativeRequest(gradient=dict(self.after))

    def moved(self, more: Mapping[str, Mapping[str, Any]] | None = None) -> Code:
        """Replace x and v by x' and v', for scalar `h`; and their tangents, with `more`.

        `more`: "w" the tangents, "h" the tangents of -x' and -v', by field.
        """
        return Code.joined(self._moved(motion, more or {}) for motion in self.motions)

    def _moved(self, motion: Motion, more: Mapping[str, Mapping[str, Any]]) -> Code:
        x, v = (self.potential.fields[n] for n in (motion.position, motion.velocity))
        pairs: list[Any] = [
            ("f", "g", {n: self.potential.fields[n].array for n in (x.name, v.name)}, self.after)
        ]
        pairs += [("w", "h", more["w"], more["h"])] if more else []
        lines: list[str] = []
        arrays: dict[str, Any] = {}
        turned = motion.position in self.force.motions
        charged = self.force.charged(motion.position) if turned else None
        for to, of, state, after in pairs:
            old_x, old_v = f"{to}_{x.name}[{{at}}]", f"{to}_{v.name}[{{at}}]"
            arrays |= {f"{to}_{n}": state[n] for n in (x.name, v.name)}
            plain = f"{old_x} + {real(x.dtype)}(h) * {old_v}"
            if not turned:
                lines.append(f"{old_x} = {plain}")
                continue
            new = covectors(motion)
            new_x, new_v = (f"-{of}_{new[a]}[{{at}}]" for a in (TO_PLACE, TO_SPEED))
            arrays |= {f"{of}_{n}": after[n] for n in new.values()}
            if charged is None:
                lines += [f"{old_x} = {new_x}", f"{old_v} = {new_v}"]
            else:
                arrays[f"charged_{x.name}"] = charged
                lines += [
                    f"{old_x} = ti.select(charged_{x.name}[n] > 0, {new_x}, {plain})",
                    f"{old_v} = ti.select(charged_{x.name}[n] > 0, {new_v}, {old_v})",
                ]
        return Code(at_each(f"f_{x.name}", x.array, *lines), arrays | {f"f_{x.name}": x.array})
