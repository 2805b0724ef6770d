"""Transpose the weights of `nn.dense` before the program runs, instead of in every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relay import nd
from relay.analysis.fc_transpose import search_fc_transpose
from relay.data_dep_optimization.run import run_pass
from relay.ir.expr import Function
from relay.transform.simplify.simplify_fc_transpose import SimplifyFCTranspose


def convert(func: Function, params: Mapping[str, Any]) -> tuple[Function, dict[str, Any]]:
    """`func` without the transposes of weights, and its parameters: `w.T` in place of `w`."""
    weights = dict(params)
    found = [name for name in search_fc_transpose(func) if name in weights]
    for name in found:
        transposed = nd.as_numpy(weights.pop(name)).T
        weights[f"{name}.T"] = nd.NDArray(np.ascontiguousarray(transposed))
    return run_pass(func, SimplifyFCTranspose(found)), weights
