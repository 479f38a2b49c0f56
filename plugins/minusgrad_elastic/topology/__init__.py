"""Topology optimisation: a domain of square cells, each with a density that is to be found (SIMP).

`domain` is the state, `density_filter` the map from a design to densities, `penalised` the solid of these.
"""
