"""Optimizations of programs together with their weights.

    func, params = relay.data_dep_optimization.bsr_dense.convert(func, params, (16, 1), 0.8)

Each returns a new function and its new weights; the given ones are not changed.
"""

from relay.data_dep_optimization import bsr_conv2d, bsr_dense, simplify_fc_transpose

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]
