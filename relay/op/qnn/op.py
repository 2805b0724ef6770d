"""The operators of quantized networks, as `relay.qnn.op`."""

from relay.op.building.helper import exported
from relay.op.qnn.arithmetic import add, concatenate, mul, subtract
from relay.op.qnn.conv import conv2d, conv2d_transpose
from relay.op.qnn.convert import dequantize, quantize, requantize
from relay.op.qnn.elementwise import abs_ as abs
from relay.op.qnn.elementwise import (
    erf,
    exp,
    hardswish,
    leaky_relu,
    log,
    rsqrt,
    sigmoid,
    softmax,
    sqrt,
    tanh,
)
from relay.op.qnn.matmul import batch_matmul, contrib_dense_pack, dense
from relay.op.qnn.pool import avg_pool2d
from relay.op.qnn.simulated import simulated_dequantize, simulated_quantize

__all__ = exported(globals())
