"""The scene `cantilever` by scikit-fem, linear elasticity on the same mesh: a whole process.

python cantilever_in_skfem.py scenes/data/cantilever.msh
"""

import sys

from skfem import Basis, ElementTetP1, ElementVector, FacetBasis, LinearForm, MeshTet, condense, solve
from skfem.models.elasticity import lame_parameters, linear_elasticity

mesh = MeshTet.load(sys.argv[1])
element = ElementVector(ElementTetP1())
basis = Basis(mesh, element)
stiffness = linear_elasticity(*lame_parameters(1e6, 0.2)).assemble(basis)
load = LinearForm(lambda v, w: -200.0 * v[2]).assemble(FacetBasis(mesh, element, facets="tip"))
u = solve(*condense(stiffness, load, D=basis.get_dofs("wall")))
print(f"tip {u[basis.get_dofs('tip').nodal['u^3']].mean():.4e} m")
