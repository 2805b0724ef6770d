"""Quantized networks: operators on integers that stand for real numbers, and passes for them."""

from relay.op.qnn import op as op
from relay.op.qnn.op import *  # noqa: F403
from relay.qnn import transform as transform

__all__ = ["op", "transform", *op.__all__]
