"""Quantised networks: operators on integers that stand for real numbers, as `relay.qnn`."""

from relay.op.qnn import op as op

__all__ = ["op"]
