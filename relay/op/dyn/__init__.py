"""Operators with dynamic shapes, axes or counts, as `relay.op.dyn`.

The ordinary functions (`relay.reshape`) build one of these where such an argument is an expression.
"""

from relay.op.dyn import image as image
from relay.op.dyn import nn as nn
from relay.op.dyn import random as random
from relay.op.dyn.creation import full, one_hot, ones, sparse_to_dense, zeros
from relay.op.dyn.form import static_form as static_form
from relay.op.dyn.select import strided_slice, topk
from relay.op.dyn.shape import broadcast_to, expand_dims, reshape, squeeze, tile

__all__ = [
    "broadcast_to",
    "expand_dims",
    "full",
    "one_hot",
    "ones",
    "reshape",
    "sparse_to_dense",
    "squeeze",
    "strided_slice",
    "tile",
    "topk",
    "zeros",
]
