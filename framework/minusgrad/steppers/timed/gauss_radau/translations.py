"""Whether an energy is invariant under translations, proved from its graph: sum_i dU/dx_i is 0, term by term.

The tangent of x_i - x_j along the same shift of all nodes is 1 - 1, which graphs compute at once: an energy
of differences of places has the tangent 0, whatever it makes of them. Values at some states would prove
nothing: the energy of a floor is invariant where no node touches it.

Decisions 0348.
"""

from ....codegen.tracing import of_term
from ....energies.roles import Node
from ....energies.term import Term
from ....errors import TraceError
from ....potential.potential import Potential
from ....symbolic.differentiation import tangent


def is_invariant(potential: Potential, field: str) -> bool:
    """True if U provably does not change when all nodes of a field are moved alike."""
    return not potential.maps and all(_of_term(term, field) for term in potential.terms.values())


def _of_term(term: object, field: str) -> bool:
    """Of a term that is a function of elements, whose lists do not depend on places."""
    if not isinstance(term, Term) or not term.elements.fixed:
        return False
    arguments = [a for a, of in term.fields.items() if of.name == field]
    if not all(type(term.energy.roles[a]) is Node for a in arguments):
        return False
    try:
        traced = of_term(term)
    except TraceError:
        return False
    one = traced.graph.constant(1.0)
    slots = [components for a in arguments for components in traced.inputs[a] if components]
    return all(
        tangent([traced.value], {components[c].serial: one for components in slots})[0].number == 0.0
        for c in range(len(slots[0]) if slots else 0)
    )
