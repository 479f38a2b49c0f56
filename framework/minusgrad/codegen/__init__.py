"""From a bound term to Taichi source: its graph, loops over elements, vector lanes, a check of the result.

Enters: a `Term` and a derivative request. Leaves: `Code` that `engine` compiles. May import: `errors`,
`engine`, `symbolic`, `elements`, `energies`.
"""
