"""Kernels that add the weighted sum of an array to a loss. Imported once the engine is chosen."""

from minusgrad import ti


@ti.kernel
def of_field(y: ti.template(), w: ti.template(), loss: ti.template()):
    for place in ti.grouped(y):
        loss[None] += w[place] * y[place]


@ti.kernel
def of_elements(y: ti.template(), w: ti.template(), loss: ti.template()):
    for place in ti.grouped(y):
        loss[None] += (w[place] * y[place]).sum()


@ti.kernel
def of_number(y: ti.template(), w: ti.template(), loss: ti.template()):
    loss[None] += w[None] * y[None]


@ti.kernel
def of_ndarray(y: ti.types.ndarray(), w: ti.types.ndarray(), loss: ti.template()):
    for place in ti.grouped(y):
        loss[None] += w[place] * y[place]


@ti.kernel
def of_ndarray_of_elements(y: ti.types.ndarray(), w: ti.types.ndarray(), loss: ti.template()):
    for place in ti.grouped(y):
        loss[None] += (w[place] * y[place]).sum()


@ti.kernel
def of_ndarray_of_one(y: ti.types.ndarray(), w: ti.types.ndarray(), loss: ti.template()):
    loss[None] += w[None] * y[None]
