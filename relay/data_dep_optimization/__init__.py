"""Rewriting programs together with their weights, by what these hold.

    func, params = relay.data_dep_optimization.bsr_dense.convert(func, params, (16, 1), 0.8)

Each gives back a function and the weights that go with it; those it is given stay as they are.
"""

from relay.data_dep_optimization import bsr_conv2d, bsr_dense, simplify_fc_transpose

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]
