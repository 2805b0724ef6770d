"""Narrow floats as a way to quantize: `ToMixedPrecision`, with results in float32.

exe = relay.compile(model, quantize=relay.quantize.mixed("bfloat16"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.quantize.flow import prerequisite_optimize
from relay.transform.context import PassContext
from relay.transform.precision.to_mixed_precision import KEEP_RESULTS, ToMixedPrecision


@frozen
class Mixed:
    """What `relay.compile(…, quantize=…)` does with a model."""

    dtype: str = "bfloat16"

    def __post_init__(self) -> None:
        ToMixedPrecision(self.dtype)

    def __call__(self, module: IRModule, params: Mapping[str, Any]) -> IRModule:
        module = prerequisite_optimize(module, params)
        with PassContext(config={KEEP_RESULTS: True}):
            return ToMixedPrecision(self.dtype, missing_op_mode=2)(module)


def mixed(dtype: str = "bfloat16") -> Mixed:
    """Computing in "bfloat16" or "float16" where that is accurate enough."""
    return Mixed(dtype)
