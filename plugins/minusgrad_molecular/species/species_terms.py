"""The map and the energy of Lennard-Jones parameters by species.

    epsilon_i, sigma_i, k_i = values of the species of atom i, and its number       a map, over nodes
    u(i, j)                 = u of a mixing rule, or of the pair of species where it is listed

Both parts are differentiated: U has a derivative by the value of each species, and of each listed pair. Pairs
of species are told by sum and product of their numbers. Without a rule u of pairs that are not listed is 0.

Decisions 0151.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from typing import Any

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Body,
    Compound,
    Cutoff,
    Datum,
    Fields,
    LinkedPairs,
    Node,
    Output,
    Parameter,
    UnitSystem,
    local_energy,
    local_map,
    ti,
)

from ..lennard_jones import lennard_jones_mixture, well
from .mixing_rules import (
    PAIRS,
    geometric,
    lennard_jones_geometric,
    lennard_jones_waldman_hagler,
    lorentz_berthelot,
    waldman_hagler,
)

RULES: dict[str, tuple[Any, Any]] = {
    "lorentz_berthelot": (lennard_jones_mixture, lorentz_berthelot),
    "geometric": (lennard_jones_geometric, geometric),
    "waldman_hagler": (lennard_jones_waldman_hagler, waldman_hagler),
}
"""By name: the energy, and u of a pair."""
X = Node("m", ("d",))
DEPTH = Parameter("J", bounds=(0.0, inf), about="Depth of the well of each species.")
SIZE = Parameter("m", bounds=(0.0, inf), about="Distance of two atoms of a species at which u is zero.")


@local_map(
    "species_values",
    over="nodes",
    gives={"epsilon": Output("J"), "sigma": Output("m"), "kind": Output()},
    x=X,
    number=Datum(),
    epsilon=DEPTH,
    sigma=SIZE,
)
def species_values(x, number, epsilon, sigma):
    """The parameters of each atom's species, and its number; of x only the number of atoms is used."""
    return epsilon, sigma, number


@local_map("species_number", over="nodes", gives="kind", x=X, number=Datum())
def species_number(x, number):
    """The number of each atom's species; of x only the number of atoms is used."""
    return number


@cache
def energy_of_pairs(rule: str, codes: tuple[tuple[float, float], ...]) -> Any:
    """The energy of a rule, "none" for 0, but for pairs of species.

    codes: of each pair, sum and product of the numbers of its species; its parameters are the components of
    `pair_epsilon` and `pair_sigma` in this order.
    """
    count = len(codes)
    roles: dict[str, Any] = PAIRS | {
        "kind": Node(),
        "pair_epsilon": Parameter("J", (count,), bounds=(0.0, inf), about="Depth of the well of each pair."),
        "pair_sigma": Parameter("m", (count,), bounds=(0.0, inf), about="Where u of each pair is zero."),
    }

    @ti.func
    def of_pairs(u, r, kind, pair_epsilon, pair_sigma):
        both, times = kind[0] + kind[1], kind[0] * kind[1]
        for k in ti.static(range(count)):
            off, away = both - codes[k][0], times - codes[k][1]
            u = ti.select(off * off + away * away < 0.25, well(r, pair_epsilon[k], pair_sigma[k]), u)
        return u

    if rule == "none":
        own = {name: role for name, role in roles.items() if name not in ("epsilon", "sigma")}

        @local_energy("lennard_jones_pairs", **own)
        def table(x, kind, pair_epsilon, pair_sigma):
            """Lennard-Jones energy by the parameters of each pair of species."""
            r = x[0] - x[1]
            return of_pairs(0.0, r, kind, pair_epsilon, pair_sigma)

        return table
    mixed = RULES[rule][1]

    @local_energy(f"lennard_jones_{rule}_pairs", **roles)
    def energy(x, epsilon, sigma, kind, pair_epsilon, pair_sigma):
        """Lennard-Jones energy by a mixing rule, or by the parameters of a pair of species."""
        r = x[0] - x[1]
        return of_pairs(mixed(r, epsilon, sigma), r, kind, pair_epsilon, pair_sigma)

    return energy


def lennard_jones_by_species(
    fields: Fields,
    *,
    bodies: Sequence[Body],
    epsilon: Mapping[str, float],
    sigma: Mapping[str, float],
    mixing: str = "lorentz_berthelot",
    pairs: Mapping[tuple[str, str], tuple[float, float]] | None = None,
    cutoff: Cutoff | None = None,
    exclude: LinkedPairs | None = None,
    name: str = "lennard_jones",
    units: UnitSystem | None = None,
) -> Compound:
    """The map and the energy of Lennard-Jones parameters by species, over the field x.

        mixed = lennard_jones_by_species(fields, bodies=[argon, krypton], epsilon={"Ar": 1.0, "Kr": 1.4},
                                         sigma={"Ar": 3.4, "Kr": 3.65}, pairs={("Ar", "Kr"): (1.1, 3.5)})
        potential = Potential(fields, mixed.terms, mixed.maps)

    bodies: one for each species; together they have every node once. epsilon, sigma: by the name of a body;
    empty where `mixing` is "none". mixing: a key of `RULES`, or "none". pairs: epsilon and sigma of pairs of
    species, in place of the rule. cutoff, exclude, units: as for `bind`. name: of the energy, whose
    parameters are pair_epsilon and pair_sigma, in the order of `pairs`; the map is called `name`_species, and
    its parameters are epsilon and sigma, in the order of `bodies`. Numbers are in the run's units.
    """
    numbers = {body.name: float(k) for k, body in enumerate(bodies)}
    number = np.repeat([*numbers.values()], [len(body.nodes) for body in bodies])  # elements follow bodies
    listed = dict(pairs or {})
    codes = tuple((numbers[a] + numbers[b], numbers[a] * numbers[b]) for a, b in listed)
    is_ruled = mixing != "none"
    energy = energy_of_pairs(mixing, codes) if codes or not is_ruled else RULES[mixing][0]
    values = {"epsilon": dict(epsilon), "sigma": dict(sigma)} if is_ruled else {}
    outputs = [one for one in ("epsilon", "sigma", "kind") if is_ruled or one == "kind"]
    gives = {one: f"{name}_{one}" for one in outputs}
    species = bind(
        species_values if is_ruled else species_number,
        fields,
        name=f"{name}_species",
        bodies=bodies,
        data={"number": number},
        parameters=values,
        gives=gives if is_ruled else gives["kind"],
        units=units,
    )
    own = {
        "pair_epsilon": np.array([one for one, _ in listed.values()]),
        "pair_sigma": np.array([one for _, one in listed.values()]),
    }
    term = bind(
        energy,
        fields,
        name=name,
        renamed={one: field for one, field in gives.items() if one in energy.roles},
        parameters=own if codes else {},
        cutoff=cutoff,
        exclude=exclude,
        units=units,
    )
    return Compound([term], [species])
