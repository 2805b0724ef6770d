"""The operators of neural networks, as `relay.nn`."""

from relay.op.building import padding as utils
from relay.op.building.helper import exported
from relay.op.conv.bitpack import bitpack
from relay.op.conv.bitserial import bitserial_conv2d, bitserial_dense
from relay.op.conv.conv import conv1d, conv2d, conv3d
from relay.op.conv.conv_blocked import contrib_conv2d_nchwc, contrib_depthwise_conv2d_nchwc
from relay.op.conv.conv_gemm import (
    contrib_conv2d_gemm_weight_transform,
    contrib_conv2d_gemm_without_weight_transform,
)
from relay.op.conv.conv_gradient import conv2d_backward_weight
from relay.op.conv.conv_transpose import conv1d_transpose, conv2d_transpose, conv3d_transpose
from relay.op.conv.conv_winograd import (
    contrib_conv2d_winograd_without_weight_transform,
    contrib_conv3d_winograd_without_weight_transform,
)
from relay.op.conv.correlation import correlation
from relay.op.conv.deformable import deformable_conv2d, modulated_deformable_conv2d
from relay.op.conv.winograd import (
    contrib_conv2d_winograd_nnpack_weight_transform,
    contrib_conv2d_winograd_weight_transform,
    contrib_conv3d_winograd_weight_transform,
)
from relay.op.linalg.dense_nbits import dense_nbits
from relay.op.linalg.matmul import batch_matmul, contrib_dense_pack, dense, matmul
from relay.op.nn.activation import fast_softmax, leaky_relu, log_softmax, prelu, relu, softmax
from relay.op.nn.fifo import fifo_buffer
from relay.op.nn.loss import cross_entropy, cross_entropy_with_logits, nll_loss
from relay.op.nn.norm import batch_norm, bias_add, dropout, dropout_raw
from relay.op.nn.normalize import group_norm, instance_norm, l2_normalize, layer_norm, lrn
from relay.op.nn.pad import dilate, mirror_pad, pad
from relay.op.nn.training import batch_norm_training, dropout_training
from relay.op.nn.upsampling import upsampling, upsampling3d
from relay.op.pool.pool import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from relay.op.pool.pool_adaptive import (
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
from relay.op.pool.pool_gradient import avg_pool2d_grad, max_pool2d_grad
from relay.op.pool.pool_positions import (
    max_pool1d_positions,
    max_pool2d_positions,
    max_pool3d_positions,
)
from relay.op.sparse.sparse_conv import sparse_conv2d
from relay.op.sparse.sparse_matrix import (
    sparse_add,
    sparse_dense,
    sparse_dense_padded,
    sparse_transpose,
)
from relay.op.tensor.blocks import (
    batch_to_space_nd,
    depth_to_space,
    space_to_batch_nd,
    space_to_depth,
)
from relay.op.tensor.reshape import batch_flatten

__all__ = [*exported(globals()), "utils"]
