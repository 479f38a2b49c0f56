"""The block of a scene for Lennard-Jones energies by species.

Decisions 0151.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from minusgrad.plugin import (
    Body,
    ByForm,
    Compound,
    CompoundContext,
    Cutoff,
    Quantity,
    Record,
    UserError,
    at_key,
    choices,
    one_or_each,
    quantities,
)

from .species_terms import lennard_jones_by_species

Energy = Annotated[float | str, Quantity("J", "nonnegative")]
Length = Annotated[float | str, Quantity("m", "positive")]
Size = Annotated[float | str, Quantity("m", "nonnegative")]
Rows = tuple[tuple[int, ...], ...]


def _none_or_distance(value: Any) -> str:
    return "none" if value == "none" else "distance"


class PairOfSpecies(Record):
    """The parameters of a pair of species, in place of those of the mixing rule."""

    epsilon: Energy
    """Depth of the well."""
    sigma: Size
    """Distance at which the energy is zero."""


class LennardJonesBySpecies(Record):
    """Lennard-Jones energies of a mixture: parameters by species, a mixing rule, pairs with their own values.

    Species are bodies of the state, which together have every atom once.
    """

    name: str = "lennard_jones"
    """Name of the energy; the map is called NAME_species, and has the parameters epsilon and sigma."""
    mixing: Literal["lorentz_berthelot", "geometric", "waldman_hagler", "none"] = "lorentz_berthelot"
    """Rule for pairs that `pairs` does not list; "none": all are listed."""
    epsilon: dict[str, Energy] = {}  # noqa: RUF012  (pydantic copies it)
    """Depth of the well by species, { Ar = "0.0104 eV" }."""
    sigma: dict[str, Size] = {}  # noqa: RUF012
    """Distance at which the energy is zero, by species."""
    pairs: dict[str, PairOfSpecies] = {}  # noqa: RUF012
    """Both of pairs of species, "Ar-Kr" = { epsilon = ..., sigma = ... }, in place of the rule."""
    cutoff: Length | None = None
    """Distance from which on a pair does not interact (default: none)."""
    switch: Annotated[Literal["none"] | Size, ByForm(_none_or_distance, ("none", "distance"))] | None = None
    """Where the energy begins to be switched off; "none": a sharp cutoff (default: 0.9 of the cutoff)."""
    skin: Size | None = None
    """How much further than the cutoff pairs are listed (default: 0.1 of the cutoff)."""
    images: bool = False
    """Let several images of an atom interact, where the cutoff exceeds half the box."""
    exclude: Annotated[str | Rows, ByForm(one_or_each, ("one", "each"))] | None = None
    """Pairs that do not interact: "bonded 1-3", a list of the state, or rows (default: none)."""

    def make(self, context: CompoundContext) -> Compound:
        given, pairs = quantities(self, context.units), self._pairs(context)
        names = [*given["epsilon"]] if self.mixing != "none" else [*dict.fromkeys(sum(pairs, ()))]
        bodies = self._bodies(names, context.state.bodies, len(context.fields["x"]))
        self._refuse_gaps(names, pairs)
        sharp = self.switch == "none"
        cut = given["cutoff"]
        if cut is None and (lost := [key for key in ("switch", "skin", "images") if given[key]]):
            raise UserError(f"{lost[0]}: needs a cutoff, got none; give `cutoff`, or leave it out")
        return lennard_jones_by_species(
            context.fields,
            bodies=bodies,
            epsilon=given["epsilon"],
            sigma=given["sigma"],
            mixing=self.mixing,
            pairs=pairs,
            cutoff=cut and Cutoff(cut, None if sharp else given["switch"], given["skin"], sharp, self.images),
            exclude=context.excluded(self.exclude),
            name=self.name,
            units=context.units,
        )

    def _pairs(self, context: CompoundContext) -> dict[tuple[str, str], tuple[float, float]]:
        """Parameters by pair of species. Raises `UserError` for names that are no pair, and for one twice."""
        known = [*self.epsilon] or [body.name for body in context.state.bodies]
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for key, one in self.pairs.items():
            with at_key("pairs", key):
                ends = [(key[:k], key[k + 1 :]) for k, letter in enumerate(key) if letter == "-"]
                both = next((two for two in ends if two[0] in known and two[1] in known), None)
                if both is None:
                    raise UserError(
                        f"pairs: '{key}' is no pair of species, such as '{known[0]}-{known[-1]}'"
                        f"{choices('', known)}; correct the names"
                    )
                if both in found or both[::-1] in found:
                    raise UserError(f"pairs: '{key}' is given twice, got the other order, too; leave one out")
                values = quantities(one, context.units)
                found[both] = values["epsilon"], values["sigma"]
        return found

    def _bodies(self, names: Iterable[str], known: Iterable[Body], count: int) -> list[Body]:
        """The bodies of the species. Raises `UserError` unless they have every atom once."""
        by_name = {body.name: body for body in known}
        key = "epsilon" if self.mixing != "none" else "pairs"
        for name in names:
            if name not in by_name:
                raise UserError(f"{key}: no body named '{name}'{choices(name, by_name)}")
        bodies = [by_name[name] for name in names]
        owners = np.zeros(count, int)
        for body in bodies:
            owners[body.nodes] += 1
        if (bare := np.flatnonzero(owners == 0)).size:
            own = [name for name, body in by_name.items() if bare[0] in body.nodes]
            raise UserError(
                f"{key}: {len(bare)} atoms have no value, the first is {bare[0]}"
                f" ({', '.join(own) or 'in no body'}); add their species, with epsilon = 0 where they do not"
                " interact"
            )
        if (twice := np.flatnonzero(owners > 1)).size:
            both = " and ".join(body.name for body in bodies if twice[0] in body.nodes)
            raise UserError(f"{key}: atom {twice[0]} has several values, of {both}; leave one of them out")
        return bodies

    def _refuse_gaps(self, names: list[str], pairs: Mapping[tuple[str, str], Any]) -> None:
        """Refuse species without sigma, and without a rule pairs that are not listed."""
        if self.mixing != "none":
            if [*self.epsilon] and self.epsilon.keys() == self.sigma.keys():
                return
            lost = sorted(self.epsilon.keys() ^ self.sigma.keys())
            raise UserError(
                f"sigma: needs the species of epsilon, got {', '.join(lost) or 'none'} in one of them"
                " alone; give both for each species"
            )
        if extra := [key for key in ("epsilon", "sigma") if getattr(self, key)]:
            raise UserError(
                f"{extra[0]}: is of a mixing rule, got mixing = 'none'; list pairs, or leave it out"
            )
        every = [(a, b) for k, a in enumerate(names) for b in names[k:]]
        if missing := [f"{a}-{b}" for a, b in every if (a, b) not in pairs and (b, a) not in pairs]:
            raise UserError(
                f"pairs: without a mixing rule every pair must be listed, got none for"
                f" {', '.join(missing)}; add them"
            )


COMPOUNDS = {"lennard_jones_by_species": LennardJonesBySpecies}
