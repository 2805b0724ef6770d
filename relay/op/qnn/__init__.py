"""Quantized networks: operators on quantized integers, as `relay.qnn`."""

from relay.op.qnn import op as op

__all__ = ["op"]
