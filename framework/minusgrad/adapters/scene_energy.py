"""The energy of a scene as a function of the positions and the box of another program, in its units.

    x = x_given l,  U_given = U / e,  g_given = g l / e         l, e: the given units of length and energy,
                                                                in the run's units

A scene without units, and a potential, are taken to be in the units of the other program. The function has a
copy of the scene: fields other than the positions and the box, parameters and the time stay those of its
start. In a periodic box every atom is taken as that image which is nearest to its place before, since bonds
across a face join certain images.

Decisions 0340.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..app.run_options import Overrides, Plugins
from ..app.runs import built_or_given
from ..assembly.built_scene import BuiltScene
from ..codegen.derivative_request import DerivativeRequest
from ..elements.periodic_box import PeriodicBox
from ..energies.fields import BOX, POSITIONS, Motion
from ..engine import storage
from ..errors import AtomsError, EnergyError, NonFiniteError
from ..potential.potential import Potential
from ..scene.document import SceneSource
from ..scene.units import UnitSystem
from ..steppers.pressure.cutoff_jumps import CutoffJumps, strain_derivative
from ..steppers.pressure.stress import Stress
from ..steppers.stability.exact_hessian import exact_hessian
from ..steppers.systems.parts import BAROSTAT, BATH, FAR, MOVING, PERIODIC, SUPPORTS, TIME, Consumer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Given = SceneSource | BuiltScene | Potential


@dataclass(frozen=True)
class GivenUnits:
    """The units of another program, in SI: of its lengths and of its energies."""

    length: float
    energy: float


class SceneEnergy:
    """U, its gradient and Hessian with respect to positions, in `units`.

    `scene`: the path of a scene file, its text or tables, a simulation or a potential. Raises `SceneError`
    with all mistakes of the scene, `AtomsError` where its field "x" does not hold positions in space.
    """

    def __init__(self, scene: Given, units: GivenUnits, overrides: Overrides = (), plugins: Plugins = ()):
        built = built_or_given(scene, overrides, plugins, BuiltScene, Potential)
        system = built.units if isinstance(built, BuiltScene) else UnitSystem.dimensionless()
        if isinstance(built, BuiltScene):
            _accept(built)
        self.potential = (built.potential if isinstance(built, BuiltScene) else built).twin(images_stay=False)
        self.time = self.potential.now
        has_units = system.symbol("m") != "1"
        self._length = units.length / system.in_si("m") if has_units else 1.0
        self._energy = units.energy / system.in_si("J") if has_units else 1.0
        fields = self.potential.fields
        if POSITIONS not in fields or fields[POSITIONS].shape[1:] != (3,):
            shape = list(fields[POSITIONS].shape) if POSITIONS in fields else "none"
            raise AtomsError(
                f"scene: needs a field '{POSITIONS}' of positions in space, shape [n, 3], got {shape};"
                " use a scene in three dimensions"
            )
        read = [POSITIONS, BOX] if fields.box is not None else [POSITIONS]
        self._into = {n: storage.allocate(np.zeros(fields[n].shape, fields.dtype)) for n in read}
        self._stress: Stress | None = None

    @property
    def count(self) -> int:
        """The number of atoms."""
        return len(self.potential.fields[POSITIONS])

    @property
    def periodic(self) -> tuple[bool, ...]:
        """The axes along which the scene repeats."""
        return self.potential.fields.periodic or (False,) * 3

    def place(self, positions: np.ndarray, edges: np.ndarray | None = None) -> None:
        """Set the positions (n, 3), and of a periodic scene the edges of the box, rows of (3, 3).

        Raises `AtomsError` for another number of positions and for NaN, `EnergyError` for a flat box.
        """
        given = np.asarray(positions, np.float64)
        if given.shape != (self.count, 3):
            raise AtomsError(
                f"atoms: the scene has {self.count}, got {len(given)}; give the same atoms in the same order"
            )
        if not np.isfinite(given).all():
            bad = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
            raise AtomsError(
                f"atoms: need finite positions, got {given[bad].tolist()} for atom {bad}; correct them"
            )
        given = given * self._length
        fields = self.potential.fields
        if edges is not None and fields.geometry is not None:
            before, box = fields.geometry, PeriodicBox.of(np.asarray(edges) * self._length, fields.periodic)
            expected = before.fractions(fields[POSITIONS].values) @ box.vectors
            given = given + box.nearest(given - expected) @ box.vectors
            if not np.array_equal(fields[BOX].values[0], box.vectors.astype(fields.dtype)):
                fields[BOX].set(box.vectors[None])
        fields[POSITIONS].set(given)

    def energy_and_gradient(self) -> tuple[float, np.ndarray]:
        """U and dU/dx (n, 3) at the present positions. Raises `NonFiniteError` for NaN and infinity."""
        asked = DerivativeRequest(value=True, gradient={POSITIONS: self._into[POSITIONS]})
        value = self.potential.sweep(asked, self.time).value
        gradient = storage.host(self._into[POSITIONS]).astype(np.float64)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            bad = np.flatnonzero(~np.isfinite(gradient).all(axis=1))
            where = f" at atom {bad[0]}" if len(bad) else ""
            raise NonFiniteError(
                f"U = {value:g}, and its gradient{where} is not finite; are atoms on top of each other?"
            )
        return float(value) / self._energy, gradient * (self._length / self._energy)

    def stress(self) -> np.ndarray:
        """(dU/de) / V at the present positions and box, symmetric (3, 3), positive in tension.

        Without the kinetic part: other programs know the velocities. Sharp cutoffs have their part in it
        where an energy stands for the pairs beyond (`cutoff_jumps`). Raises `EnergyError` without a box.
        """
        if self._stress is None:  # the velocities are read for the kinetic part alone
            self._stress = Stress(self.potential, [Motion(POSITIONS, POSITIONS)], {})
            self._jumps = CutoffJumps(self.potential)
        self.potential.sweep(DerivativeRequest(gradient=self._into), self.time)
        found = self._stress.strain_derivative(self._into)
        box = self.potential.fields.geometry
        assert box is not None
        found = found + strain_derivative(self._jumps.total(self.time), box.volume, 3)
        return 0.5 * (found + found.T) / box.volume * (self._length**3 / self._energy)

    def hessian(self) -> "csr_matrix":
        """d2U/dx2 (3 n, 3 n), sparse. Raises `EnergyError` for energies without second derivatives."""
        found = exact_hessian(self.potential, [POSITIONS], self.time).copy()
        found.data *= self._length**2 / self._energy
        return found


ATOMS = Consumer(
    "atoms of another program",
    {SUPPORTS, MOVING, PERIODIC, FAR, TIME},
    idle=dict.fromkeys((BATH, BAROSTAT), "the other program has its own"),
    cure="leave it out, and give the other program its own",
)
"""The parts of a system that another program can take: energies. It moves the atoms, and holds them."""


def _accept(built: BuiltScene) -> None:
    """Raise `AtomsError` for a part of the system that is no energy."""
    try:
        ATOMS.accept(built.system)
    except EnergyError as error:
        raise AtomsError(f"scene: {error}") from None
