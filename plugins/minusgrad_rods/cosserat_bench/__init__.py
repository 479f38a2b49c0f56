"""An entry of CosseratBench, the public benchmark of rods: `cosseratbench run -s minusgrad`.

`scenario_arrays` makes arrays and energies of a scenario, `runs` looks for its equilibrium or follows its
motion, `solver` is what the benchmark loads, by the entry-point group `cosseratbench.solvers`.
"""
