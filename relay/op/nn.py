"""The operators of neural networks, as `relay.nn`."""

from relay.op.activation import leaky_relu, log_softmax, relu, softmax
from relay.op.conv import conv2d
from relay.op.extend import pad
from relay.op.matmul import batch_matmul, dense, matmul
from relay.op.norm import batch_norm, bias_add, dropout, dropout_raw
from relay.op.pool import avg_pool2d, global_avg_pool2d, max_pool2d
from relay.op.shape import batch_flatten

__all__ = [
    "avg_pool2d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "bias_add",
    "conv2d",
    "dense",
    "dropout",
    "dropout_raw",
    "global_avg_pool2d",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "max_pool2d",
    "pad",
    "relu",
    "softmax",
]
