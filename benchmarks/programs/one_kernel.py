"""What a program on our engine costs at least: import it, start it, run one kernel.

python one_kernel.py taichi|quadrants
"""

import sys

import numpy as np

if sys.argv[1] == "quadrants":
    import quadrants as ti
else:
    import taichi as ti

ti.init(arch=ti.cpu, default_fp=ti.f64, log_level=ti.ERROR, offline_cache=True)


@ti.kernel
def doubled(x: ti.types.ndarray(dtype=ti.f64, ndim=1)):
    for i in x:
        x[i] *= 2.0


x = np.ones(8)
doubled(x)
ti.sync()
assert x[0] == 2.0
