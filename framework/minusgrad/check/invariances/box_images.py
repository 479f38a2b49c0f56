"""The question of a periodic box: nodes that are shifted by vectors of the box leave U.

    U(x_i + n_i . box) = U(x_i),      n_i whole numbers for each node

Frames of other programs are wrapped, and so are those of runs. A term of several nodes that changes reads
images that do not follow them; of single nodes it is a warning, because a uniform field has no period.

Decisions 0021, 0283.
"""

from collections.abc import Iterator

import numpy as np

from ...elements.trees.near_pairs import NearPairs
from ...energies.fields import BOX, POSITIONS
from ...energies.term import Term
from ...potential.potential import Potential
from ..questions import Finding

QUESTION = "images"
NOISE = 1e-3
"""How far nodes are moved from the given state, in parts of the box, so that no energy is zero."""
SAME = 1e-7
"""The largest change of a term, relative to the sum of the absolute values of its elements."""


def images(potential: Potential, t: float, rng: np.random.Generator) -> Iterator[Finding]:
    """The answer of each term that reads positions in a periodic box. The fields are left as they are."""
    fields = potential.fields
    grids = any(getattr(part, "grid", None) is not None for part in potential.parts.values())
    if not any(fields.periodic) or POSITIONS not in potential.reads or grids:
        return
    twin = potential.twin(images_stay=False)
    x, box = twin.fields[POSITIONS], twin.fields[BOX].values[0].astype(np.float64)
    here = x.values + NOISE * rng.normal(size=x.shape) @ box
    x.set(here)
    before, sizes = twin.by_term(t), {n: twin.kernels[n].magnitude(t) for n in twin.terms}
    x.set(here + np.where(twin.fields.periodic, rng.integers(-1, 2, size=x.shape), 0) @ box)
    after = twin.by_term(t)
    for name, term in potential.terms.items():
        if not isinstance(term, Term) or isinstance(term.elements, NearPairs) or term.elements.empty:
            continue
        error = abs(after[name] - before[name]) / (sizes[name] or 1.0)
        text = "U changes where nodes are shifted by vectors of the box"
        changed, single = not error <= SAME, term.elements.arity == 1
        yield Finding(name, "", QUESTION, not changed or single, error, text, warning=changed and single)
