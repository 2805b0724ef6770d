"""The operators of neural networks, as `relay.nn`."""

from relay.op.activation import fast_softmax, leaky_relu, log_softmax, prelu, relu, softmax
from relay.op.conv import conv2d
from relay.op.fifo import fifo_buffer
from relay.op.loss import cross_entropy, cross_entropy_with_logits, nll_loss
from relay.op.matmul import batch_matmul, dense, matmul
from relay.op.norm import batch_norm, bias_add, dropout, dropout_raw
from relay.op.normalize import group_norm, instance_norm, l2_normalize, layer_norm, lrn
from relay.op.pad import dilate, mirror_pad, pad
from relay.op.pool import avg_pool2d, global_avg_pool2d, max_pool2d
from relay.op.reshape import batch_flatten

__all__ = [
    "avg_pool2d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "bias_add",
    "conv2d",
    "cross_entropy",
    "cross_entropy_with_logits",
    "dense",
    "dilate",
    "dropout",
    "dropout_raw",
    "fast_softmax",
    "fifo_buffer",
    "global_avg_pool2d",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "max_pool2d",
    "mirror_pad",
    "nll_loss",
    "pad",
    "prelu",
    "relu",
    "softmax",
]
