"""What a pass makes of a function, as text: before and after, and that both mean the same.

A body is written over these parameters, unless a test has its own:

    %x, %y: (2, 3) float32     %v: (2, 1) float32     %n: (4, 6) float32     %t: () float32
    %i, %j: (4) int8           %k: (4) int32          %u: (4) uint8          %c: bool
"""

from __future__ import annotations

from typing import Any

import numpy as np

import relay
from relay import dtypes, tree
from relay.check.infer import infer_module
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Constructor, Expr, GlobalVar, Op, Var
from relay.ir.types import TensorType, TupleType
from relay.testing import assert_same_value
from relay.transform import Pass

PARAMS = """
    %x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32], %v: Tensor[(2, 1), float32],
    %n: Tensor[(4, 6), float32], %t: float32, %i: Tensor[(4), int8], %j: Tensor[(4), int8],
    %k: Tensor[(4), int32], %u: Tensor[(4), uint8], %c: bool
"""


def parse(body: str, params: str = PARAMS, before: str = "") -> relay.IRModule:
    """The module of one function, after definitions that stand before it."""
    source = f'#[version = "0.0.5"]\n{before}\ndef @main({params}) {{ {body} }}'
    return infer_module(relay.parse(source))


def assert_rewrites(
    one_pass: Pass,
    body: str,
    wanted: str,
    params: str = PARAMS,
    before: str = "",
    rtol: float | None = 1e-5,
) -> None:
    """`body` becomes `wanted`, which means the same and which the pass leaves alone."""
    module = parse(body, params, before)
    result = one_pass(module)
    assert_structural_equal(result["main"], parse(wanted, params, before)["main"])
    assert one_pass(result)["main"] is result["main"], "a second time changes something"
    assert_types_hold(result)
    assert_means_the_same(result, module, rtol)


def assert_stays(one_pass: Pass, body: str, params: str = PARAMS, before: str = "") -> None:
    """The pass leaves `body` alone, and gives back the very function."""
    module = parse(body, params, before)
    assert one_pass(module)["main"] is module["main"]


def assert_types_hold(module: relay.IRModule) -> None:
    """Inference, from the beginning, finds the types that the pass has noted."""

    def forgotten(_: Any, after: Any) -> Any:
        keeps = not isinstance(after, Expr) or isinstance(after, Op | GlobalVar | Constructor | Var)
        return after if keeps else tree.replace(after)

    anew = module.copy()
    for name, function in module.functions.items():
        anew[name] = tree.transform(function, forgotten)
    anew = infer_module(anew)
    for name, function in module.functions.items():
        for mine, theirs in zip(tree.postorder(function), tree.postorder(anew[name]), strict=True):
            assert getattr(mine, "ty", None) == getattr(theirs, "ty", None), mine


def assert_means_the_same(
    after: relay.IRModule, before: relay.IRModule, rtol: float | None = 1e-5, seed: int = 0
) -> None:
    inputs = arguments(before["main"], seed)
    results = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (after, before)]
    assert_same_value(*results, rtol=rtol)


def arguments(function: Any, seed: int = 0) -> list[Any]:
    """Values for the parameters; unknown extents are 3."""
    rng = np.random.default_rng(seed)
    return [_argument(param.checked_type, rng) for param in function.params]


def _argument(ty: Any, rng: np.random.Generator) -> Any:
    if isinstance(ty, TupleType):
        return tuple(_argument(field, rng) for field in ty.fields)
    assert isinstance(ty, TensorType)
    shape = [extent if isinstance(extent, int) else 3 for extent in ty.shape]
    if ty.dtype == "bool":
        return rng.random(shape) < 0.5
    if dtypes.is_integer(ty.dtype):
        bits = dtypes.bits(ty.dtype)
        low = 0 if ty.dtype in dtypes.UNSIGNED else -(2 ** (bits - 1))
        return rng.integers(low, low + 2**bits, shape).astype(dtypes.to_numpy(ty.dtype))
    return rng.uniform(0.5, 3, shape).astype(dtypes.to_numpy(ty.dtype))
