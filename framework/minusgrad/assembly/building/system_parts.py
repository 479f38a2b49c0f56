"""The system of a scene: U with Lagrangian, dissipation, supports, magnetic field and constraints.

Each block is bound once; two terms of one name are refused at the second.
"""

from ...energies.magnetic_field import MagneticField
from ...errors import EnergyError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ...steppers.magnetic.force import MagneticForce
from ...steppers.systems.system import System
from ...steppers.timed.friction import refuse_idle
from ..blocks.term_block import magnetic_term
from .error_places import ErrorPlaces
from .start import Start
from .supports import Supports
from .terms import SceneTerms


class SystemParts:
    """The `system` of a scene.

    Raises `SceneError` with the place of a mistake.
    """

    def __init__(self, start: Start, supports: Supports, terms: SceneTerms, places: ErrorPlaces):
        self._start, self._terms, self._places = start, terms, places
        lagrangian, dissipation = self._lagrangian(), self._dissipation()
        self.system = System(
            terms.potential,
            start.state.motions,
            supports.holds,
            dissipation,
            self._magnetic(),
            self._constraints(),
            lagrangian,
        )

    def _lagrangian(self) -> Potential | None:
        """The sum of the Lagrangians; None without any."""
        bound = [term for block in self._start.scene.lagrangian for term in self._terms.named(block)]
        for term in bound:
            if term.name in self._terms.potential.parts:
                with self._places.placed(self._places.terms[term.name]):
                    raise EnergyError(f"an energy is called '{term.name}', too; give one of them a `name`")
        with self._places.placed(("lagrangian",)):
            return Potential(self._start.fields, bound) if bound else None

    def _dissipation(self) -> Potential | None:
        """The sum of the dissipation terms. Raises `SceneError` for a term that depends on no velocity."""
        bound = []
        for block in self._start.scene.dissipation:
            found = self._terms.bound_by(block)
            bound += found
            with self._places.placed(block.path):
                refuse_idle(found[-1], self._start.state.motions)
        bound += self._terms.lost_by_compounds
        with self._places.placed(("dissipation",)):
            return Potential(self._start.fields, bound) if bound else None

    def _magnetic(self) -> MagneticForce | None:
        """The magnetic force on charges, from the scene's fields."""
        terms = []
        for block in self._start.scene.magnetic:
            with self._places.placed(block.path):
                validated = self._places.validated
                field, model = validated.entries[block.path].energy, validated.models[block.path]
                assert isinstance(field, MagneticField)
                terms.append(magnetic_term(field, model, self._start.state, self._start.units))
            self._places.terms.setdefault(terms[-1].label, block.path)
        if not terms:
            return None
        with self._places.placed(("magnetic",)):
            force = MagneticForce(self._start.fields, self._start.state.motions, terms)
        for block, term in zip(self._start.scene.magnetic, terms, strict=True):
            self._terms.bound[block.path] = force.potential.terms[term.label]
        return force

    def _constraints(self) -> Constraints | None:
        """The constraints of the scene."""
        terms, projected = [], set()
        for block in self._start.scene.constraint:
            (term,) = (
                [self._terms.bound[block.path]]
                if block.path in self._terms.bound
                else self._terms.bound_by(block)
            )
            with self._places.placed(block.path):
                if term.name in self._places.terms:
                    raise EnergyError(f"two terms have one name: {term.name}; give them a `name` each")
            self._places.terms[term.name] = block.path
            if self._places.validated.models[block.path].project_start:
                projected.add(term.name)
            terms.append(term)
        terms += self._terms.kept_by_compounds
        with self._places.placed(("constraint",)):
            return Constraints(self._start.fields, terms, projected) if terms else None
