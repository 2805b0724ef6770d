"""The operators of neural networks, as `relay.nn`."""

from relay.op.activation import fast_softmax, leaky_relu, log_softmax, prelu, relu, softmax
from relay.op.blocks import batch_to_space_nd, depth_to_space, space_to_batch_nd, space_to_depth
from relay.op.conv import conv1d, conv2d, conv3d
from relay.op.conv_blocked import contrib_conv2d_nchwc, contrib_depthwise_conv2d_nchwc
from relay.op.conv_transpose import conv1d_transpose, conv2d_transpose, conv3d_transpose
from relay.op.correlation import correlation
from relay.op.fifo import fifo_buffer
from relay.op.loss import cross_entropy, cross_entropy_with_logits, nll_loss
from relay.op.matmul import batch_matmul, dense, matmul
from relay.op.norm import batch_norm, bias_add, dropout, dropout_raw
from relay.op.normalize import group_norm, instance_norm, l2_normalize, layer_norm, lrn
from relay.op.pad import dilate, mirror_pad, pad
from relay.op.pool import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d
from relay.op.pool_adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    global_avg_pool1d,
    global_avg_pool2d,
    global_avg_pool3d,
    global_max_pool1d,
    global_max_pool2d,
    global_max_pool3d,
)
from relay.op.pool_gradient import avg_pool2d_grad, max_pool2d_grad
from relay.op.reshape import batch_flatten
from relay.op.upsampling import upsampling, upsampling3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_grad",
    "avg_pool3d",
    "batch_flatten",
    "batch_matmul",
    "batch_norm",
    "batch_to_space_nd",
    "bias_add",
    "contrib_conv2d_nchwc",
    "contrib_depthwise_conv2d_nchwc",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "correlation",
    "cross_entropy",
    "cross_entropy_with_logits",
    "dense",
    "depth_to_space",
    "dilate",
    "dropout",
    "dropout_raw",
    "fast_softmax",
    "fifo_buffer",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_grad",
    "max_pool3d",
    "mirror_pad",
    "nll_loss",
    "pad",
    "prelu",
    "relu",
    "softmax",
    "space_to_batch_nd",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]
